package watch

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"piton/internal/bpf"
	"piton/internal/kernel"
	"piton/internal/procfs"
	"piton/internal/sample"
)

// Flows are what the targets have read of the network since those before.
type Flows struct {
	List []sample.Flow // in no order
	Over time.Duration // in which it was counted
	Lost uint64        // reads that were not counted: there were too many flows
}

// Follow counts on which CPUs the packets of processes are handled and read. It needs eBPF.
// Processes are told by when they began, too, so that one that gets the number of another
// that has ended is not followed. Children that a target of scope Tree has meanwhile are
// targets from the next Read on.
type Follow struct {
	kernel  *bpf.Flows
	fs      procfs.FS
	tree    bool
	started map[kernel.TID]uint64 // the targets that are left, by number: when they began, in ticks
}

// OpenFollow begins to count; the scope is not Thread. An error that Is
// feature.ErrNotSupported says what is missing.
func OpenFollow(fs procfs.FS, t Targets) (*Follow, error) {
	f := &Follow{fs: fs, tree: t.Scope == Tree, started: map[kernel.TID]uint64{}}
	for _, pid := range t.IDs {
		f.add(pid)
	}
	if len(f.started) == 0 {
		return nil, fmt.Errorf("the processes have ended: %w", procfs.ErrGone)
	}
	var err error
	if f.kernel, err = bpf.OpenFlows(bpf.FlowsOfMachine, f.PIDs()...); err != nil {
		return nil, err
	}
	return f, nil
}

func (f *Follow) add(pid kernel.TID) {
	if st, err := f.fs.Stat(pid); err == nil && st.State != 'Z' { // else it has ended
		f.started[pid] = st.StartTicks
	}
}

// PIDs are the processes that are left, in order.
func (f *Follow) PIDs() []kernel.TID { return slices.Sorted(maps.Keys(f.started)) }

// UDP reports whether UDP is counted too, and not TCP alone.
func (f *Follow) UDP() bool { return f.kernel.UDP() }

// Close ends counting and detaches.
func (f *Follow) Close() { f.kernel.Close() }

// Read returns what was counted since the last call, or since the opening. It sleeps for
// some milliseconds.
func (f *Follow) Read() (Flows, error) {
	gone := maps.Clone(f.started) // before the drain: it has all that they read
	maps.DeleteFunc(gone, func(pid kernel.TID, ticks uint64) bool { return !f.ended(pid, ticks) })
	list, stats, err := f.kernel.Drain(nil)
	if err != nil {
		return Flows{}, err
	}
	list = slices.DeleteFunc(list, func(one sample.Flow) bool { return !f.is(one.PID, one.StartNs/tickNs) })
	return Flows{list, stats.Window, stats.Lost}, f.update(gone)
}

// tickNs is USER_HZ, in which /proc tells when a process began.
const tickNs = 1e7

// is reports whether a number and a time stand for a target.
func (f *Follow) is(pid kernel.TID, ticks uint64) bool {
	began, there := f.started[pid]
	return there && (began == ticks || !kernel.InitialNamespace("time"))
}

// update forgets targets that are gone, and makes descendants targets.
func (f *Follow) update(gone map[kernel.TID]uint64) error {
	before := f.PIDs()
	for pid := range gone {
		delete(f.started, pid)
	}
	if f.tree {
		ids, err := Descendants(f.fs, f.PIDs())
		if err != nil {
			return err
		}
		for _, pid := range ids {
			if _, there := f.started[pid]; !there {
				f.add(pid)
			}
		}
	}
	if now := f.PIDs(); !slices.Equal(before, now) {
		return f.kernel.SetTargets(now...)
	}
	return nil
}

// ended reports whether a target is there no more: a zombie reads nothing.
func (f *Follow) ended(pid kernel.TID, ticks uint64) bool {
	st, err := f.fs.Stat(pid)
	return err != nil || st.StartTicks != ticks || st.State == 'Z'
}

// left reports whether there still is a target.
func (f *Follow) left() bool {
	for pid, ticks := range f.started {
		if !f.ended(pid, ticks) {
			return true
		}
	}
	return false
}

// Run calls on with what was counted in each interval, until the duration is over (0 = for
// ever), ctx ends, no target is left, or on fails. The last interval may be a shorter one.
func (f *Follow) Run(ctx context.Context, every, d time.Duration, on func(Flows) error) error {
	return runEvery(ctx, every, d, f.left, f.Read, on)
}
