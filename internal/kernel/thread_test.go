package kernel

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestOnThreadIsNeverTheMainThread(t *testing.T) {
	for range 200 {
		require.NoError(t, OnThread(func() error {
			require.NotEqual(t, os.Getpid(), unix.Gettid())
			return nil
		}))
	}
}
