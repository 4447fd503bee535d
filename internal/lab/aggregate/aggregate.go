// Package aggregate is a scheduler of the sched_ext class for tasks that ask for it: threads
// that share an address space run one after another. Start at Open.
package aggregate

import (
	_ "embed" // the object
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"structs"
	"syscall"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"

	"piton/internal/bpf/object"
	"piton/internal/feature"
)

//go:embed aggregate_bpfel.o
var aggregateObject []byte

const aggregateName = "temporal aggregation"

// Programs are the names of this package's programs.
var Programs = map[ebpf.ProgramType][]string{
	ebpf.StructOps: {"agg_select_cpu", "agg_enqueue", "agg_dispatch", "agg_running", "agg_exit"},
}

// Feature loads the scheduler without putting it in force.
var Feature = feature.New("sched-ext", func() error {
	if err := schedExtFree(); err != nil {
		return err
	}
	s, err := object.Privileged(func() (*Scheduler, error) { return load(DefaultBound) })
	if err != nil {
		return err
	}
	return s.Close()
})

// Scheduler is in force (sched_ext, Linux 6.12): of the tasks of
// policy kernel.Ext, and of no others, threads that share an address space run
// one after another. Such tasks run when no ordinary task wants their CPU.
//
// The kernel takes it away when it is closed, when this process ends however it
// ends, and when a task has waited for 5 s; its tasks are ordinary ones then.
type Scheduler struct {
	objects *ebpf.Collection
	queues  []*ebpf.Map
	link    link.Link
}

// Stats are sums since the scheduler was opened.
type Stats struct {
	Turns  uint64 // tasks that began to run
	Spaces uint64 // of them, those that followed a task of another address space
	Late   uint64 // of them, those that went first because they had waited for half the bound
	// Longest is the longest that a task waited for its turn. It is within the
	// bound unless what waits ahead of a task takes more than half the bound.
	Longest time.Duration
	Ended   string // why the kernel took the scheduler away, "" while it is in force
}

// DefaultBound is the usual longest wait.
const DefaultBound = 50 * time.Millisecond

// schedExt is where the kernel tells of its sched_ext scheduler
// (Documentation/scheduler/sched-ext.rst).
const schedExt = "/sys/kernel/sched_ext"

// insertKfunc is what ../c/aggregate.c queues tasks with.
const insertKfunc = "scx_bpf_dsq_insert"

// Open puts the scheduler in force. A task that has waited for half the
// bound goes before those that would be aggregated. There can be one sched_ext
// scheduler at a time. An error that Is feature.ErrNotSupported says what is
// missing.
func Open(bound time.Duration) (*Scheduler, error) {
	return object.Privileged(func() (*Scheduler, error) { return enforce(bound) })
}

func enforce(bound time.Duration) (*Scheduler, error) {
	if err := schedExtFree(); err != nil {
		return nil, err
	}
	s, err := load(bound)
	if err != nil {
		return nil, err
	}
	// The link is not pinned: the kernel ends it with the last descriptor.
	s.link, err = link.AttachStructOps(link.StructOpsOptions{Map: s.objects.Maps["piton_aggregate"]})
	if err != nil {
		s.Close()
		if errors.Is(err, syscall.EBUSY) {
			if busy := schedExtFree(); busy != nil {
				err = busy
			}
		}
		return nil, object.Explain(aggregateName, err)
	}
	return s, nil
}

// load puts the programs into the kernel, but not in force.
func load(bound time.Duration) (*Scheduler, error) {
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
	if err := bindKfunc(spec, layout, insertKfunc); err != nil {
		return nil, object.Explain(aggregateName, err)
	}
	s := &Scheduler{}
	inner := spec.Maps["queues"].InnerMap
	if s.objects, err = object.Load(aggregateName, spec); err != nil {
		return nil, err
	}
	if err := s.addQueues(inner); err != nil {
		s.Close()
		return nil, object.Explain(aggregateName, err)
	}
	return s, nil
}

func (s *Scheduler) addQueues(inner *ebpf.MapSpec) error {
	outer := s.objects.Maps["queues"]
	for i := range outer.MaxEntries() {
		q, err := ebpf.NewMap(inner)
		if err != nil {
			return err
		}
		s.queues = append(s.queues, q)
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

// cpuState is struct cpu_state of ../c/aggregate.c.
type cpuState struct {
	_             structs.HostLayout
	MM, Queue     uint64
	Turns, Spaces uint64
	Late          uint64
	LongestNs     uint64
}

// Read returns the sums so far, those of a scheduler that the kernel has taken
// away too.
func (s *Scheduler) Read() (Stats, error) {
	return object.Privileged(s.read)
}

func (s *Scheduler) read() (Stats, error) {
	if s.objects == nil {
		return Stats{}, object.ErrClosed
	}
	var cpus []cpuState
	var kind uint32
	var reason [64]byte
	err := errors.Join(s.objects.Maps["states"].Lookup(uint32(0), &cpus),
		s.objects.Variables["exit_kind"].Get(&kind), s.objects.Variables["exit_reason"].Get(&reason))
	if err != nil {
		return Stats{}, object.Explain(aggregateName, err)
	}
	var sums Stats
	for _, c := range cpus {
		sums.Turns, sums.Spaces, sums.Late = sums.Turns+c.Turns, sums.Spaces+c.Spaces, sums.Late+c.Late
		sums.Longest = max(sums.Longest, time.Duration(c.LongestNs))
	}
	if kind != 0 {
		text, _, _ := strings.Cut(string(reason[:]), "\x00")
		sums.Ended = "the kernel took the scheduler away: " + text
	}
	return sums, nil
}

// End takes the scheduler away and returns its sums. It is an error if the kernel had taken it
// away before.
func (s *Scheduler) End() (Stats, error) {
	sums, err := s.Read()
	if err == nil && sums.Ended != "" {
		err = errors.New(sums.Ended)
	}
	return sums, errors.Join(err, s.Close())
}

// Close takes the scheduler away; its tasks go on as ordinary ones.
func (s *Scheduler) Close() error {
	if s.objects == nil {
		return nil
	}
	var err error
	if s.link != nil {
		err = s.link.Close()
	}
	for _, q := range s.queues {
		q.Close()
	}
	s.objects.Close()
	s.objects = nil
	return err
}
