package bench

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPeerCommandIsTheChildsOwn(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	command, err := peerCommand([]string{"piton", "__workload", "ctxswitch", "--n", "2"}, "ctxswitch")
	require.NoError(t, err)
	assert.Equal(t, []string{self, "__workload", "peer", "ctxswitch"}, command)
	_, err = peerCommand([]string{"ctxswitch", "headless"}, "ctxswitch")
	assert.ErrorContains(t, err, "from a benchmark's child only")
}

func TestPeerOfAWorkload(t *testing.T) {
	with := Workload{Name: "twins", Peer: func(args []string, _ *os.File, out io.Writer) int {
		fmt.Fprint(out, args)
		return 5
	}}
	var out strings.Builder
	assert.Equal(t, 5, peerMain([]Workload{with}, []string{"twins", "a", "b"}, nil, &out))
	assert.Equal(t, "[a b]", out.String())
	assert.Equal(t, 2, peerMain([]Workload{{Name: "alone"}}, []string{"alone"}, nil, &out))
	assert.Equal(t, 2, peerMain(nil, []string{"alone"}, nil, &out))
}
