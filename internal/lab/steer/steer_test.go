package steer

import (
	"io"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/lab/netns"
)

const (
	chunk  = 64 << 10 // bytes of a reply
	chunks = 400      // in a turn
)

// exchange is a consumer that asks for chunks and a server that sends them, each on a
// thread of its own that is bound to one CPU for each turn.
type exchange struct {
	tb       testing.TB
	consumer kernel.TID
	turns    chan turn
	shares   chan float64
	serve    chan cpuset.CPU
}

type turn struct{ consumer, server cpuset.CPU }

// start connects the two, and ends them with the test.
func (w wire) start(tb testing.TB) *exchange {
	tb.Helper()
	client, server, err := netns.ConnectTCP(w.near, w.far, farAddress, patience)
	require.NoError(tb, err)
	e := &exchange{tb: tb, turns: make(chan turn), shares: make(chan float64), serve: make(chan cpuset.CPU)}
	tid := make(chan kernel.TID)
	ended := make(chan error, 2)
	go func() { ended <- kernel.OnThread(func() error { return e.answer(server) }) }()
	go func() { ended <- kernel.OnThread(func() error { return e.consume(client, tid) }) }()
	e.consumer = <-tid
	tb.Cleanup(func() {
		close(e.turns)
		close(e.serve)
		assert.NoError(tb, <-ended)
		assert.NoError(tb, <-ended)
		client.Close()
		server.Close()
	})
	return e
}

func (e *exchange) answer(conn *os.File) error {
	buf := make([]byte, chunk)
	for cpu := range e.serve {
		if err := kernel.System().SetAffinity(0, cpuset.Of(cpu)); err != nil {
			return err
		}
		for range chunks {
			if _, err := io.ReadFull(conn, buf[:8]); err != nil {
				return err
			}
			if _, err := conn.Write(buf); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *exchange) consume(conn *os.File, tid chan<- kernel.TID) error {
	tid <- kernel.CallingThread()
	buf := make([]byte, chunk)
	for turn := range e.turns {
		if err := kernel.System().SetAffinity(0, cpuset.Of(turn.consumer)); err != nil {
			return err
		}
		var same, all int
		for range chunks {
			if _, err := conn.Write(buf[:8]); err != nil {
				return err
			}
			for got := 0; got < chunk; {
				n, err := conn.Read(buf[:chunk-got])
				if err != nil {
					return err
				}
				packet, caller, errno := kernel.DeliveryCPUs(int(conn.Fd()))
				if errno != 0 {
					return errno
				}
				got, all = got+n, all+n
				if packet == caller {
					same += n
				}
			}
		}
		e.shares <- float64(same) / float64(all)
	}
	return nil
}

// share is the share of the bytes of a turn that were processed on the consumer's CPU.
func (e *exchange) share(consumer, server cpuset.CPU) float64 {
	e.tb.Helper()
	e.serve <- server
	e.turns <- turn{consumer, server}
	return <-e.shares
}

func TestPacketsFollowTheConsumer(t *testing.T) {
	a, b := twoCPUs(t)
	for name, policy := range map[string]Policy{"current": Current, "request": Request} {
		t.Run(name, func(t *testing.T) {
			w := newWire(t)
			e := w.start(t)
			s := w.open(t, Options{Policy: policy, CPUs: online(t), Targets: []kernel.TID{e.consumer}})
			require.Equal(t, []Interface{{w.index, nearName, Native, ""}}, s.Interfaces)
			shares := []float64{e.share(a, b), e.share(b, a)} // the second after it has moved
			assert.GreaterOrEqual(t, slices.Min(shares), 0.98, "%v", shares)
			stats, err := s.Stats()
			require.NoError(t, err)
			assert.Positive(t, stats.Redirected)
			assert.Zero(t, stats.Dropped)
			t.Logf("%v, %+v", shares, stats)
		})
	}
}
