package bpf

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/cilium/ebpf"

	"piton/internal/bpf/object"
	"piton/internal/kernel"
)

// Program is one of this package's programs that is in the kernel, for whichever
// process.
type Program struct {
	ID   uint32
	Name string
	Runs uint64        // while statistics were on
	Took time.Duration // all runs together
}

// Programs are names of programs.
type Programs = map[ebpf.ProgramType][]string

// Known are those of this package and, when it is there, of the laboratory.
var Known = []Programs{ours}

// ours are the names of the programs. The short ones could be others' too, but
// not with the same type.
var ours = Programs{
	ebpf.Tracing: {"count_move", "report_move", "follow_fork", "forget_task", "on_switch", "on_irq", "on_irq_done", "on_softirq",
		"on_softirq_done", "seed", "dump", "count_wake", "wakes_irq", "wakes_irq_done", "wakes_timer", "wakes_tmr_done", "wakes_raise",
		"wakes_softirq", "wakes_soft_done", "event_fork", "event_exec", "event_comm", "event_exit", "flows_read", "flows_adjust",
		"flows_connected", "work_call", "work_bytes", "work_wait", "changes_enter", "changes_exit",
		"waits_switch", "waits_move", "waits_wakeup", "waits_irq", "waits_irq_done", "waits_softirq", "waits_soft_done", "waits_fork", "waits_settle"},
	ebpf.RawTracepoint: {"waits_seed"},
	ebpf.Syscall:       {"walk", "settle"},
}

// capSysAdminName is what a look at all programs takes (bpf(2)).
const capSysAdminName = "CAP_SYS_ADMIN"

// Loaded lists this package's programs that are in the kernel now. It takes
// CAP_SYS_ADMIN; without, the error Is feature.ErrNotSupported.
func Loaded() ([]Program, error) {
	const what = "list of programs"
	if held, err := kernel.UsableCapabilities(); err == nil && !held.Has(kernel.CapSysAdmin) {
		return nil, &object.Refusal{What: what, Why: "it takes " + capSysAdminName + ", which this process does not have", Need: capSysAdminName}
	}
	return object.Privileged(listPrograms)
}

func listPrograms() (all []Program, err error) {
	const what = "list of programs"
	for id := ebpf.ProgramID(0); ; {
		next, err := ebpf.ProgramGetNextID(id)
		if errors.Is(err, os.ErrNotExist) {
			return all, nil
		}
		if err != nil {
			return all, object.Explain(what, err)
		}
		id = next
		p, ok, err := program(id)
		if err != nil {
			return all, object.Explain(what, err)
		}
		if ok {
			all = append(all, p)
		}
	}
}

// program looks at one program; ok is false if it is not ours, or gone.
func program(id ebpf.ProgramID) (p Program, ok bool, err error) {
	prog, err := ebpf.NewProgramFromID(id)
	if errors.Is(err, os.ErrNotExist) {
		return p, false, nil
	}
	if err != nil {
		return p, false, err
	}
	defer prog.Close()
	info, err := prog.Info()
	if err != nil || !slices.ContainsFunc(Known, func(some Programs) bool { return slices.Contains(some[prog.Type()], info.Name) }) {
		return p, false, err
	}
	p = Program{ID: uint32(id), Name: info.Name}
	if stats, err := prog.Stats(); err == nil { // else a kernel without them
		p.Runs, p.Took = stats.RunCount, stats.Runtime
	}
	return p, true, nil
}

// CountRuns makes the kernel count runs of programs and their time, of all
// programs of the machine, until the Closer is closed (bpf_stats, Linux 5.8). It
// takes CAP_SYS_ADMIN and costs some 50 ns a run.
func CountRuns() (io.Closer, error) {
	const runTime = 0 // BPF_STATS_RUN_TIME
	c, err := object.Privileged(func() (io.Closer, error) { return ebpf.EnableStats(runTime) })
	if err != nil {
		return nil, object.Explain("statistics of programs", fmt.Errorf("enable: %w", err))
	}
	return c, nil
}
