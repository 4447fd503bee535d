package sample

import (
	"time"

	"piton/internal/bpf"
	"piton/internal/kernel"
)

// Wake is how often one thread woke another, and WakeTask one of the two.
// Waker.TID 0 stands for interrupts.
type (
	Wake     = bpf.WakeCount
	WakeTask = bpf.WakeTask
)

// Wakes are the wakeups by and of some tasks over some time.
type Wakes struct {
	Of   kernel.TID    // the process that Needs.Wakes names; 0 for others
	Over time.Duration // in which they were counted
	List []Wake        // in no order
	Lost uint64        // that were not counted: there were too many pairs
}

// wakesPairs is room for the pairs of one process.
const wakesPairs = 4096

// wakes counts the wakeups by and of one process while somebody asks for them.
// Nothing is attached otherwise.
type wakes struct {
	kernel *bpf.Wakes
	pid    kernel.TID
	refuse error // why they cannot be counted; it is not tried again
}

// read sets n.Wakes to what was counted since the last sample, or begins.
func (w *wakes) read(n *Sample, pid kernel.TID) error {
	if w.refuse != nil {
		return w.refuse
	}
	if w.kernel == nil {
		if w.kernel, w.refuse = bpf.OpenWakes(wakesPairs, pid); w.refuse != nil {
			return w.refuse
		}
		w.pid = pid
		return nil
	}
	if pid != w.pid { // what is drained after it is of the new one alone
		if err := w.kernel.SetTargets(pid); err != nil {
			return err
		}
	}
	list, stats, err := w.kernel.Drain(nil)
	if err != nil {
		return err
	}
	if pid == w.pid {
		n.Wakes = Wakes{pid, stats.Window, list, stats.Lost}
	}
	w.pid = pid
	return nil
}

// close detaches.
func (w *wakes) close() {
	if w.kernel != nil {
		w.kernel.Close()
		w.kernel = nil
	}
}

type wakeKey struct{ waker, wakee kernel.TID }

func wakeKeyOf(w Wake) wakeKey { return wakeKey{w.Waker.TID, w.Wakee.TID} }

func addWake(to *Wake, from Wake) { to.Count += from.Count }

// takeIn adds those of a sample before, if they are of the same process.
func (w *Wakes) takeIn(older *Wakes) {
	if w.Of == 0 || w.Of != older.Of {
		return
	}
	w.Over += older.Over
	w.Lost += older.Lost
	for _, one := range merge(&w.List, older.List, wakeKeyOf, addWake) {
		w.Lost += one.Count
	}
}
