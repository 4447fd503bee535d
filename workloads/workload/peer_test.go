package workload

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPeerCommandIsTheChildsOwn(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	command := ownCommand([]string{"piton", "__workload", "ctxswitch", "--n", "2"}, "ctxswitch")
	assert.Equal(t, []string{self, "__workload", "peer", "ctxswitch"}, command)
	assert.Nil(t, ownCommand([]string{"ctxswitch", "headless"}, "ctxswitch"), "not a benchmark's child")
}
