package watchcmd

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cli/app"
	"piton/internal/sample"
	"piton/internal/topology"
	"piton/internal/watch"
)

// slowSource is a source of single moves that a test feeds.
type slowSource struct{ watch.Source }

func (slowSource) Kind() sample.Source { return sample.SourceBPF }

func (slowSource) Single() bool { return true }

// stuck is an output that takes nothing until it is let go.
type stuck struct {
	bytes.Buffer
	free chan struct{}
}

func (s *stuck) Write(b []byte) (int, error) {
	<-s.free
	return s.Buffer.Write(b)
}

func TestASlowReaderLosesLinesButNoCounts(t *testing.T) {
	topo, err := topology.Read("/")
	require.NoError(t, err)
	out := &stuck{free: make(chan struct{})}
	a := &app.App{IO: app.IO{Out: out, Err: io.Discard}, HostRoot: "/"}
	l := newWatchLog(a, slowSource{}, &watch.Totals{Topo: topo}, true)
	require.NoError(t, l.out.Close())
	l.out = watch.NewOutlet(out, 2000)
	var b watch.Batch
	for range 1000 {
		b.Moves = append(b.Moves, watch.Move{TID: 1, TGID: 1, From: 0, To: 1})
	}
	require.NoError(t, l.batch(&b))
	close(out.free)
	require.NoError(t, l.end(time.Second, nil))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	var summary struct {
		Moves, Lost uint64
		LostOutput  uint64 `json:"lost_output"`
	}
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &summary))
	assert.EqualValues(t, 1000, summary.Moves)
	assert.Greater(t, summary.LostOutput, uint64(900))
	assert.Equal(t, summary.Lost, summary.LostOutput)
	assert.EqualValues(t, 1000, uint64(strings.Count(out.String(), `{"type":"move"`))+summary.Lost)
}
