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
	command, err := ownCommand([]string{"piton", "__workload", "ctxswitch", "--n", "2"}, "ctxswitch")
	require.NoError(t, err)
	assert.Equal(t, []string{self, "__workload", "peer", "ctxswitch"}, command)
	_, err = ownCommand([]string{"ctxswitch", "headless"}, "ctxswitch")
	assert.ErrorContains(t, err, "from a benchmark's child only")
}
