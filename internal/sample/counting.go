package sample

import (
	"time"

	"piton/internal/bpf"
	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// Counted is what an eBPF program has counted of one process over some time.
type Counted[T any] struct {
	Of   kernel.TID    // the process that Needs names; 0 for others
	Over time.Duration // in which it was counted
	List []T           // in no order
	Lost uint64        // events that were not counted: there were too many different ones
}

// takeIn adds what a sample before has, if it is of the same process. times is how many
// events an entry stands for.
func takeIn[T any, K comparable](c, older *Counted[T], key func(T) K, add func(to *T, from T), times func(T) uint64) {
	if c.Of == 0 || c.Of != older.Of {
		return
	}
	c.Over += older.Over
	c.Lost += older.Lost
	for _, one := range merge(&c.List, older.List, key, add) {
		c.Lost += times(one)
	}
}

// A counter counts something of the processes that it is told.
type counter interface {
	comparable
	SetTargets(...kernel.TID) error
	Close()
}

// counting has one process counted while somebody asks for it. Nothing is attached
// otherwise.
type counting[K counter] struct {
	kernel K // zero while nothing is attached
	pid    kernel.TID
	refuse error // why it cannot be counted; it is not tried again
}

// read attaches, or drains what was counted since the last call, which is of that process
// alone if keep is true.
func (c *counting[K]) read(pid kernel.TID, open func() (K, error), drain func(kernel K, keep bool) error) error {
	var none K
	if c.refuse != nil {
		return c.refuse
	}
	if c.kernel == none {
		var k K
		if k, c.refuse = open(); c.refuse != nil {
			return c.refuse
		}
		c.kernel, c.pid = k, pid
		return nil
	}
	same := pid == c.pid
	if !same { // what is drained after it is of the new one alone
		if err := c.kernel.SetTargets(pid); err != nil {
			return err
		}
	}
	if err := drain(c.kernel, same); err != nil {
		return err
	}
	c.pid = pid
	return nil
}

// close detaches.
func (c *counting[K]) close() {
	var none K
	if c.kernel != none {
		c.kernel.Close()
		c.kernel = none
	}
}

// Wake is how often one thread woke another, and WakeTask one of the two.
// Waker.TID 0 stands for interrupts.
type (
	Wake     = bpf.WakeCount
	WakeTask = bpf.WakeTask
)

// Wakes are the wakeups by and of some tasks over some time.
type Wakes = Counted[Wake]

// wakesPairs is room for the pairs of one process.
const wakesPairs = 4096

// wakes counts the wakeups by and of one process.
type wakes struct{ counting[*bpf.Wakes] }

// read sets n.Wakes to what was counted since the last sample, or begins.
func (w *wakes) read(n *Sample, pid kernel.TID) error {
	open := func() (*bpf.Wakes, error) { return bpf.OpenWakes(wakesPairs, pid) }
	return w.counting.read(pid, open, func(k *bpf.Wakes, keep bool) error {
		list, stats, err := k.Drain(nil)
		if err == nil && keep {
			n.Wakes = Wakes{pid, stats.Window, list, stats.Lost}
		}
		return err
	})
}

type wakeKey struct{ waker, wakee kernel.TID }

func wakeKeyOf(w Wake) wakeKey { return wakeKey{w.Waker.TID, w.Wakee.TID} }

func addWake(to *Wake, from Wake) { to.Count += from.Count }

func takeInWakes(w, older *Wakes) {
	takeIn(w, older, wakeKeyOf, addWake, func(one Wake) uint64 { return one.Count })
}

// Flow is what was read of a socket on one CPU while another, or the same, handled its
// packets, and Socket which one it is.
type (
	Flow   = bpf.FlowCount
	Socket = bpf.Flow
)

// Flows are what a process has read of its sockets over some time.
type Flows = Counted[Flow]

// flows counts what one process reads.
type flows struct{ counting[*bpf.Flows] }

// read sets n.Flows to what was counted since the last sample, or begins.
func (f *flows) read(n *Sample, pid kernel.TID) error {
	open := func() (*bpf.Flows, error) { return bpf.OpenFlows(bpf.FlowsOfProcess, pid) }
	return f.counting.read(pid, open, func(k *bpf.Flows, keep bool) error {
		list, stats, err := k.Drain(nil)
		if err == nil && keep {
			n.Flows = Flows{pid, stats.Window, list, stats.Lost}
		}
		return err
	})
}

type flowKey struct {
	Socket
	handled, consumed cpuset.CPU
}

func flowKeyOf(f Flow) flowKey { return flowKey{f.Flow, f.Handled, f.Consumed} }

// addFlow keeps the interface, which is the newer one.
func addFlow(to *Flow, from Flow) {
	to.Bytes += from.Bytes
	to.Reads += from.Reads
	to.Packets += from.Packets
}

func takeInFlows(f, older *Flows) {
	takeIn(f, older, flowKeyOf, addFlow, func(one Flow) uint64 { return one.Reads })
}
