package bpf

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"structs"
	"sync"
	"syscall"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"

	"piton/internal/bpf/object"
)

const aggregateName = "temporal aggregation"

// Aggregate is a scheduler in force (sched_ext, Linux 6.12): of the tasks of
// policy kernel.Ext, and of no others, threads that share an address space run
// one after another. Such tasks run when no ordinary task wants their CPU. Safe
// for concurrent use.
//
// The kernel takes it away when it is closed, when this process ends however it
// ends, and when a task has waited for 5 s; its tasks are ordinary ones then.
type Aggregate struct {
	mu      sync.Mutex
	objects *ebpf.Collection
	queues  []*ebpf.Map
	link    link.Link
}

// AggregateStats are sums since the scheduler was opened.
type AggregateStats struct {
	Turns  uint64 // tasks that began to run
	Spaces uint64 // of them, those that followed a task of another address space
	Late   uint64 // of them, those that went first because they had waited for half the bound
	// Longest is the longest that a task waited for its turn. It is within the
	// bound unless what waits ahead of a task takes more than half the bound.
	Longest time.Duration
	Ended   string // why the kernel took the scheduler away, "" while it is in force
}

// Limits of OpenAggregate's bound, and a usual one.
const (
	MinAggregateBound     = time.Millisecond
	MaxAggregateBound     = time.Second
	DefaultAggregateBound = 50 * time.Millisecond
)

// schedExt is where the kernel tells of its sched_ext scheduler
// (Documentation/scheduler/sched-ext.rst).
const schedExt = "/sys/kernel/sched_ext"

// insertKfunc is what c/aggregate.c queues tasks with.
const insertKfunc = "scx_bpf_dsq_insert"

// OpenAggregate puts the scheduler in force. A task that has waited for half the
// bound goes before those that would be aggregated. There can be one sched_ext
// scheduler at a time. An error that Is feature.ErrNotSupported says what is
// missing.
func OpenAggregate(bound time.Duration) (*Aggregate, error) {
	return object.Privileged(func() (*Aggregate, error) { return enforceAggregate(bound) })
}

func enforceAggregate(bound time.Duration) (*Aggregate, error) {
	if bound < MinAggregateBound || bound > MaxAggregateBound {
		return nil, fmt.Errorf("the longest wait under %s must be %v to %v, not %v", aggregateName, MinAggregateBound, MaxAggregateBound, bound)
	}
	if err := schedExtFree(); err != nil {
		return nil, err
	}
	a, err := loadAggregator(bound)
	if err != nil {
		return nil, err
	}
	// The link is not pinned: the kernel ends it with the last descriptor.
	a.link, err = link.AttachStructOps(link.StructOpsOptions{Map: a.objects.Maps["piton_aggregate"]})
	if err != nil {
		a.Close()
		if errors.Is(err, syscall.EBUSY) {
			if busy := schedExtFree(); busy != nil {
				err = busy
			}
		}
		return nil, object.Explain(aggregateName, err)
	}
	return a, nil
}

// loadAggregator puts the programs into the kernel, but not in force.
func loadAggregator(bound time.Duration) (*Aggregate, error) {
	if err := object.Usable(aggregateName); err != nil {
		return nil, err
	}
	spec, err := object.Spec(aggregateObject)
	if err != nil {
		return nil, err
	}
	if err := spec.Variables["bound_ns"].Set(uint64(bound)); err != nil {
		return nil, object.Explain(aggregateName, err)
	}
	types := object.KernelTypes() // held, so that Load finds it too
	defer runtime.KeepAlive(types)
	layout, err := types.Kernel()
	if err != nil {
		return nil, object.Explain(aggregateName, err)
	}
	if err := object.BindKfunc(spec, layout, insertKfunc); err != nil {
		return nil, object.Explain(aggregateName, err)
	}
	a := &Aggregate{}
	inner := spec.Maps["queues"].InnerMap
	if a.objects, err = object.Load(aggregateName, spec); err != nil {
		return nil, err
	}
	if err := a.addQueues(inner); err != nil {
		a.Close()
		return nil, object.Explain(aggregateName, err)
	}
	return a, nil
}

func (a *Aggregate) addQueues(inner *ebpf.MapSpec) error {
	outer := a.objects.Maps["queues"]
	for i := range outer.MaxEntries() {
		q, err := ebpf.NewMap(inner)
		if err != nil {
			return err
		}
		a.queues = append(a.queues, q)
		if err := outer.Put(i, q); err != nil {
			return err
		}
	}
	return nil
}

// schedExtFree says what keeps a scheduler of piton from being loaded.
func schedExtFree() error {
	state, err := os.ReadFile(filepath.Join(schedExt, "state"))
	switch {
	case errors.Is(err, os.ErrNotExist) && object.ReleaseBefore(6, 12):
		return &object.Refusal{What: aggregateName, Why: "sched_ext came with Linux 6.12, this is " + object.Release(), Need: "Linux 6.12"}
	case errors.Is(err, os.ErrNotExist):
		return &object.Refusal{What: aggregateName, Why: "this kernel (" + object.Release() + ") is built without CONFIG_SCHED_CLASS_EXT", Need: "CONFIG_SCHED_CLASS_EXT"}
	case err != nil:
		return fmt.Errorf("%s by eBPF: %w", aggregateName, err)
	}
	if strings.TrimSpace(string(state)) == "disabled" {
		return nil
	}
	name, _ := os.ReadFile(filepath.Join(schedExt, "root/ops"))
	return &object.Refusal{What: aggregateName, Why: fmt.Sprintf("the sched_ext scheduler %q is in force, and there can be one only", strings.TrimSpace(string(name))), Need: "to end the other scheduler"}
}

// aggregateCPU is struct cpu_state of c/aggregate.c.
type aggregateCPU struct {
	_             structs.HostLayout
	MM, Queue     uint64
	Turns, Spaces uint64
	Late          uint64
	LongestNs     uint64
}

// Read returns the sums so far, those of a scheduler that the kernel has taken
// away too.
func (a *Aggregate) Read() (AggregateStats, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return object.Privileged(a.read)
}

func (a *Aggregate) read() (AggregateStats, error) {
	if a.objects == nil {
		return AggregateStats{}, object.ErrClosed
	}
	var cpus []aggregateCPU
	var kind uint32
	var reason [64]byte
	err := errors.Join(a.objects.Maps["states"].Lookup(uint32(0), &cpus),
		a.objects.Variables["exit_kind"].Get(&kind), a.objects.Variables["exit_reason"].Get(&reason))
	if err != nil {
		return AggregateStats{}, object.Explain(aggregateName, err)
	}
	var s AggregateStats
	for _, c := range cpus {
		s.Turns, s.Spaces, s.Late = s.Turns+c.Turns, s.Spaces+c.Spaces, s.Late+c.Late
		s.Longest = max(s.Longest, time.Duration(c.LongestNs))
	}
	if kind != 0 {
		text, _, _ := strings.Cut(string(reason[:]), "\x00")
		s.Ended = "the kernel took the scheduler away: " + text
	}
	return s, nil
}

// Close takes the scheduler away; its tasks go on as ordinary ones.
func (a *Aggregate) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.objects == nil {
		return nil
	}
	var err error
	if a.link != nil {
		err = a.link.Close()
	}
	for _, q := range a.queues {
		q.Close()
	}
	a.objects.Close()
	a.objects = nil
	return err
}
