package bench

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"piton/workloads/workload"
)

func TestPeerOfAWorkload(t *testing.T) {
	with := workload.Workload{Name: "twins", Peer: func(args []string, _ *os.File, out io.Writer) int {
		fmt.Fprint(out, args)
		return 5
	}}
	var out strings.Builder
	assert.Equal(t, 5, peerMain([]workload.Workload{with}, []string{"twins", "a", "b"}, nil, &out))
	assert.Equal(t, "[a b]", out.String())
	assert.Equal(t, 2, peerMain([]workload.Workload{{Name: "alone"}}, []string{"alone"}, nil, &out))
	assert.Equal(t, 2, peerMain(nil, []string{"alone"}, nil, &out))
}
