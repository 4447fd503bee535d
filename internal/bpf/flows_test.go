package bpf

import (
	"encoding/json"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/bpf/bpftest"
	"piton/internal/bpf/object"
	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// startFlow starts a child that sends chunks to itself over the loopback interface,
// with sender and reader on each of two CPUs in turn.
func startFlow(tb testing.TB, kind string, chunks int) *bpftest.Child {
	tb.Helper()
	cpus := onlineCPUs(tb)
	some := cpuset.Of(cpus[:min(2, len(cpus))]...).String()
	c := start(tb, kind, strconv.Itoa(chunks), some, some)
	return c
}

// flow has a child send its chunks and returns what it has seen.
func flow(tb testing.TB, c *bpftest.Child) (seen bpftest.FlowSeen) {
	tb.Helper()
	require.NoError(tb, syscall.Kill(int(c.PID), syscall.SIGUSR1))
	line, err := c.Out.ReadBytes('\n')
	require.NoError(tb, err)
	require.NoError(tb, json.Unmarshal(line, &seen), "%s", line)
	return seen
}

func openTestFlows(tb testing.TB, pids ...kernel.TID) *Flows {
	tb.Helper()
	f := bpftest.Must(tb, 5, 12, func() (*Flows, error) { return OpenFlows(FlowsOfProcess, pids...) })
	tb.Cleanup(f.Close)
	return f
}

func drainFlows(tb testing.TB, f *Flows) []FlowCount {
	tb.Helper()
	counts, stats, err := f.Drain(nil)
	require.NoError(tb, err)
	require.Zero(tb, stats.Lost)
	assert.Positive(tb, stats.Window)
	return counts
}

// cells are counts as their reader would have them.
func cells(counts []FlowCount) (out []bpftest.FlowCell) {
	for _, c := range counts {
		out = append(out, bpftest.FlowCell{Handled: c.Handled, Consumed: c.Consumed, Bytes: c.Bytes, Reads: c.Reads})
	}
	return out
}

func TestFlowsEqualWhatTheReaderSees(t *testing.T) {
	for _, kind := range []string{"tcp", "splice", "udp-flow"} {
		t.Run(kind, func(t *testing.T) {
			one, other := startFlow(t, kind, trips/5), startFlow(t, kind, trips/50)
			f := openTestFlows(t, one.PID)
			switch atReads := f.programs[0] == "flows_read"; {
			case kind == "udp-flow" && !f.UDP(), kind == "splice" && atReads && !slices.Contains(f.programs, "flows_spliced"):
				t.Skip("programs cannot be hooked to functions here")
			}
			flow(t, one) // so that the socket is known
			drainFlows(t, f)
			seen := flow(t, one)
			flow(t, other)
			counts := drainFlows(t, f)
			if f.programs[0] != "flows_read" && kind != "udp-flow" { // there it counts the packets that reads copy
				for i := range counts {
					counts[i].Reads = 0
				}
				for i := range seen.Cells {
					seen.Cells[i].Reads = 0
				}
			}
			assert.ElementsMatch(t, seen.Cells, cells(counts))
			packets := uint64(0)
			for _, c := range counts {
				assert.Equal(t, one.PID, c.PID)
				assert.Equal(t, seen.Local, c.Local)
				assert.Equal(t, seen.Remote, c.Remote)
				assert.NotZero(t, c.NetNS)
				assert.Equal(t, counts[0].Flow, c.Flow)
				if kind != "udp-flow" {
					assert.Equal(t, 1, c.Interface, "lo is always the first")
				}
				packets += c.Packets
			}
			assert.GreaterOrEqual(t, packets, uint64(trips/5))
			assert.LessOrEqual(t, packets, uint64(trips/5+trips/50), "one to each chunk")

			require.NoError(t, f.SetTargets(one.PID, other.PID))
			drainFlows(t, f)
			both := append(flow(t, one).Cells, flow(t, other).Cells...)
			var bytes, read uint64
			for _, c := range both {
				bytes += c.Bytes
			}
			for _, c := range drainFlows(t, f) {
				read += c.Bytes
			}
			assert.InDelta(t, bytes, read, 0.01*float64(bytes))
		})
	}
}

// A connection that nothing has read from before counts from its first byte.
func TestFlowsCountFromTheFirstRead(t *testing.T) {
	c := startFlow(t, "tcp", 1)
	f := openTestFlows(t, c.PID)
	seen := flow(t, c)
	counts := drainFlows(t, f)
	require.Len(t, counts, 1)
	assert.Equal(t, seen.Bytes(), counts[0].Bytes)
	assert.GreaterOrEqual(t, counts[0].Packets, uint64(1))
}

func TestFlowsSayWhatHadNoRoom(t *testing.T) {
	if len(onlineCPUs(t)) < 2 {
		t.Skip("one CPU has one pair of CPUs")
	}
	c := startFlow(t, "tcp", 400)
	f := bpftest.Must(t, 5, 12, func() (*Flows, error) { return OpenFlows(1, c.PID) })
	defer f.Close()
	flow(t, c)
	counts, stats, err := f.Drain(nil)
	require.NoError(t, err)
	require.Len(t, counts, 1)
	assert.Equal(t, uint64(400), counts[0].Reads+stats.Lost)
}

func TestFlowsLeaveNothing(t *testing.T) {
	f := openTestFlows(t, 1)
	f.Close()
	_, _, err := f.Drain(nil)
	require.ErrorIs(t, err, object.ErrClosed)
	assert.ErrorIs(t, f.SetTargets(1), object.ErrClosed)
}

// startEmpty hooks a program that does nothing: what the kernel's clock shows for it is no
// cost of a read.
func startEmpty(b *testing.B) *ebpf.Collection {
	b.Helper()
	c, err := ebpf.NewCollection(&ebpf.CollectionSpec{Programs: map[string]*ebpf.ProgramSpec{"empty": {
		Type: ebpf.Tracing, AttachType: ebpf.AttachTraceRawTp, AttachTo: readHook, License: "GPL",
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()},
	}}})
	require.NoError(b, err)
	b.Cleanup(c.Close)
	hook, err := link.AttachTracing(link.TracingOptions{Program: c.Programs["empty"]})
	require.NoError(b, err)
	b.Cleanup(func() { _ = hook.Close() })
	return c
}

// BenchmarkRead is the kernel's share of counting one read, of a target and of others.
func BenchmarkRead(b *testing.B) {
	for _, kind := range []string{"tcp", "udp-flow"} {
		for name, ids := range map[string]func(*bpftest.Child) []kernel.TID{
			"target":  func(c *bpftest.Child) []kernel.TID { return []kernel.TID{c.PID} },
			"of-two":  func(c *bpftest.Child) []kernel.TID { return []kernel.TID{c.PID, 1<<22 - 1} },
			"another": func(*bpftest.Child) []kernel.TID { return []kernel.TID{1<<22 - 1} },
		} {
			b.Run(kind+"/"+name, func(b *testing.B) {
				c := startFlow(b, kind, max(b.N, 1000))
				f := openTestFlows(b, ids(c)...)
				empty := startEmpty(b)
				countRuns(b)
				b.ResetTimer()
				flow(b, c)
				b.StopTimer()
				reportRuns(b, f.Objects, f.programs[0])
				reportRuns(b, empty, "empty")
			})
		}
	}
}
