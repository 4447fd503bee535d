package sample

import (
	"piton/internal/bpf"
	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// Move is how often one task moved from one CPU to another since the sample
// before.
type Move struct {
	TID      kernel.TID
	From, To cpuset.CPU
	Count    uint32
}

// Step is one move of the task that Needs.Trace names, in the order in which
// they happened.
type Step struct {
	AtNs     uint64 // CLOCK_MONOTONIC
	From, To cpuset.CPU
}

// RunKind says what took time on a CPU.
type RunKind = bpf.Kind

// The kinds of RunInterval.
const (
	RunOfTask    = bpf.KindTask
	RunOfIRQ     = bpf.KindIRQ
	RunOfSoftIRQ = bpf.KindSoftIRQ
)

// RunInterval is what one task, interrupt line or softirq took of one CPU since the
// sample before.
type RunInterval struct {
	CPU       cpuset.CPU
	Kind      RunKind
	TID       kernel.TID // of a task
	Number    int        // of an interrupt line, or the vector of a softirq
	Name      string     // comm, action of the interrupt, name of the softirq
	RunNs     uint64
	WaitNs    uint64 // runnable before it ran; tasks only
	LongestNs uint64 // the longest
	Times     uint64 // times it was switched to, or raised
}

// trace follows the moves of one task while somebody asks for them. Nothing is
// attached otherwise.
type trace struct {
	kernel *bpf.Moves
	tid    kernel.TID
	refuse error // why it cannot be followed; it is not tried again
	moves  []bpf.Move
}

// read sets n.Steps to the moves of the task since the last sample.
func (t *trace) read(n *Sample, tid kernel.TID) error {
	if t.refuse != nil {
		return t.refuse
	}
	if t.kernel == nil {
		var err error
		if t.kernel, err = bpf.OpenMoves(bpf.MovesBytes); err != nil {
			t.refuse = err
			return err
		}
	}
	moves, lost, err := t.kernel.Read(t.moves[:0])
	if err != nil {
		return err
	}
	t.moves = moves
	if tid != t.tid {
		t.tid = tid
		return t.kernel.SetTargets(tid)
	}
	n.Traced = tid
	n.Steps, n.StepsLost = make([]Step, 0, len(moves)), lost
	for i := range moves {
		v := &moves[i]
		if v.TID == tid { // not the other threads of its process
			n.Steps = append(n.Steps, Step{AtNs: v.AtNs, From: cpuset.CPU(v.From), To: cpuset.CPU(v.To)})
		}
	}
	return nil
}

// close detaches.
func (t *trace) close() {
	if t.kernel != nil {
		t.kernel.Close()
		t.kernel, t.tid, t.moves = nil, 0, nil
	}
}
