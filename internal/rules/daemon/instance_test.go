package daemon

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestInstance(t *testing.T) {
	i := Instance{filepath.Join(t.TempDir(), "piton", "rules.lock")}
	_, err := i.Stop(context.Background())
	assert.ErrorIs(t, err, ErrNotRunning)
	release, err := i.Acquire("piton rules run x")
	require.NoError(t, err)
	_, err = i.Acquire("piton rules run y")
	assert.EqualError(t, err, fmt.Sprintf("piton rules run runs already: process %d, piton rules run x; piton rules stop ends it", os.Getpid()))
	release()
	assert.NoFileExists(t, i.path)
	require.NoError(t, os.WriteFile(i.path, []byte("1 1 killed\n"), 0o600))
	_, err = i.Stop(context.Background())
	assert.ErrorIs(t, err, ErrNotRunning, "the file of one that was killed, nobody has it")
	release, err = i.Acquire("piton rules run z")
	require.NoError(t, err)
	release()
	assert.NotEqual(t, NewInstance(1, "/a/journal"), NewInstance(1, "/b/journal"))
}

// TestStopNeverSignalsAnother is a holder whose number another process has by now.
func TestStopNeverSignalsAnother(t *testing.T) {
	i := Instance{filepath.Join(t.TempDir(), "piton", "rules.lock")}
	release, err := i.Acquire("x")
	require.NoError(t, err)
	defer release()
	require.NoError(t, os.WriteFile(i.path, fmt.Appendf(nil, "%d 1 x\n", os.Getpid()), 0o600))
	_, err = i.Stop(context.Background())
	require.Error(t, err) // and this process lives
	require.NoError(t, os.WriteFile(i.path, []byte("x"), 0o600))
	_, err = i.Stop(context.Background())
	assert.ErrorContains(t, err, "does not say which process")
}
