package watchcmd

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"piton/internal/change"
	"piton/internal/cli/app"
	"piton/internal/cli/exit"
	"piton/internal/cli/flags"
	"piton/internal/cli/output"
	"piton/internal/cpuset"
	"piton/internal/irq"
	"piton/internal/kernel"
	"piton/internal/kthread"
	"piton/internal/procfs"
	"piton/internal/target"
)

func newWhatIs(a *app.App) *cobra.Command {
	var o output.Format
	cmd := &cobra.Command{
		Use:   "what-is TARGET…",
		Short: "explain kernel threads, interrupts and processes",
		Long: `Describe a task or an interrupt: its purpose, its origin, whether it is bound to a CPU, and advice.

` + flags.TargetHelp + `
Also the name of a kernel thread that does not run here ('kworker/3:1H-kblockd'), irq:NUMBER, the name of an
interrupt's handler or device (nvme0, virtio2-input.0), and a name from /proc/interrupts or /proc/softirqs (RES,
NET_RX). A bare number is a PID or TID.

With -o json, one what line each (see piton schema what).`,
		Example: "  piton what-is 'kworker/*'\n  piton what-is 41 ksoftirqd/0 irq:24\n  piton what-is RES TLB -o json",
		GroupID: app.GroupLook,
		Args:    flags.NeedArgs(1, "a target"),
		RunE:    func(_ *cobra.Command, args []string) error { return runWhatIs(a, args, o) },
	}
	o.AddFlag(cmd.Flags(), output.AsTable, output.AsJSON)
	return cmd
}

func runWhatIs(a *app.App, words []string, o output.Format) error {
	e := explainer{a: a, proc: procfs.New(a.HostRoot), fs: irq.New(a.HostRoot)}
	var missing []error
	shown := 0
	for _, word := range words {
		found, err := e.explain(word)
		if exit.Code(err) == exit.Usage {
			return err
		}
		if err != nil {
			missing = append(missing, err)
			continue
		}
		for i := range found {
			found[i].print(a, o, shown)
			shown++
		}
	}
	err := errors.Join(missing...)
	if err != nil && shown > 0 {
		return exit.With(exit.Some, err)
	}
	return err
}

// explainer finds out what words mean.
type explainer struct {
	a    *app.App
	proc procfs.FS
	fs   irq.FS
	irqs *irq.Table // read when first asked for
}

// explain explains one word, which may mean several things.
func (e *explainer) explain(word string) ([]explanation, error) {
	if number, ok := strings.CutPrefix(word, "irq:"); ok {
		return e.numbered(word, number)
	}
	found, unmatched, err := e.a.Targets([]string{word}, change.ScopeProcess)
	var none target.NoMatchError
	if err == nil && unmatched == nil {
		return e.tasks(word, found.Targets)
	}
	if err = errors.Join(err, unmatched); !errors.As(err, &none) {
		return nil, err
	}
	if out := e.named(word); len(out) > 0 {
		return out, nil
	}
	if m, ok := kthread.Explain(word); ok {
		x := explanation{target: word, kind: kindKernelThread, name: word, tid: -1, irq: m.IRQ}
		x.fromMeaning(m)
		return []explanation{x}, nil
	}
	return nil, err
}

// tasks explains the tasks that a word means.
func (e *explainer) tasks(word string, found []change.Target) ([]explanation, error) {
	var out []explanation
	for _, f := range found {
		x, err := e.task(word, f.TID)
		switch {
		case errors.Is(err, procfs.ErrGone) && len(found) > 1:
			continue
		case errors.Is(err, procfs.ErrGone):
			return nil, e.a.Missing(fmt.Errorf("there is no process or thread %d (an interrupt is irq:%d)", f.TID, f.TID))
		case err != nil:
			return nil, err
		}
		out = append(out, x)
	}
	return out, nil
}

// task explains one task.
func (e *explainer) task(word string, tid kernel.TID) (explanation, error) {
	st, err := e.proc.Stat(tid)
	if err != nil {
		return explanation{}, err
	}
	x := explanation{target: word, name: string(st.Comm), tid: int(tid), irq: -1, movable: st.Flags&procfs.FlagNoSetAffinity == 0}
	x.policy = policyText(&st)
	status, err := e.proc.Status(tid)
	if err != nil {
		return explanation{}, err
	}
	x.cpus = status.CPUsAllowed.String()
	if st.Flags&procfs.FlagKernelThread != 0 {
		e.kernelThread(&x)
		return x, nil
	}
	e.process(&x, status)
	return x, nil
}

func (e *explainer) kernelThread(x *explanation) {
	x.kind = kindKernelThread
	m, ok := kthread.Explain(x.name)
	if !ok {
		x.what = "a kernel thread with a name that piton does not know; a driver or module made it"
		x.advice = "it may be pinned"
		if x.movable == false {
			x.advice = "the kernel refuses to move it; move what gives it work"
		}
		return
	}
	movable := x.movable
	x.irq = m.IRQ
	x.fromMeaning(m)
	x.movable = movable // the task's own flag, not what its name suggests
}

// process explains an ordinary process or one of its threads.
func (e *explainer) process(x *explanation, st procfs.Status) {
	x.kind = kindProcess
	manager := "systemd"
	x.what = fmt.Sprintf("a process with %d threads", st.Threads)
	if st.Threads == 1 {
		x.what = "a process with one thread"
	}
	if int(st.TGID) != x.tid {
		x.kind = kindThread
		x.what = fmt.Sprintf("a thread of process %d", st.TGID)
	}
	if argv, err := e.proc.Cmdline(st.TGID); err == nil && len(argv) > 0 {
		x.what += ": " + strings.Join(argv, " ")
	}
	var err error
	if x.exe, err = e.proc.Exe(st.TGID); errors.Is(err, syscall.EACCES) {
		x.exeNote = "not told: others' programs need CAP_SYS_PTRACE"
	}
	if groups, err := e.proc.Cgroup(st.TGID); err == nil {
		x.cgroup = groups.Main()
		unit, own := procfs.UnitOf(x.cgroup)
		if x.unit = cmp.Or(own, unit); own != "" {
			manager = "systemd --user, " + unit
		}
	}
	x.advice = fmt.Sprintf("piton pin %d --place least-loaded", x.tid)
	if x.kind == kindThread {
		x.advice += " --thread"
	}
	if strings.HasSuffix(x.unit, ".service") {
		x.maker = manager + ", for its unit " + x.unit
		x.advice += "; for good: CPUAffinity= in a drop-in of " + x.unit
	}
	if x.movable == false {
		x.advice = "the kernel refuses to set its CPUs"
	}
}

// policyText is "FIFO 50" or "OTHER, nice 0".
func policyText(st *procfs.Stat) string {
	switch {
	case st.Policy == kernel.Other || st.Policy == kernel.Batch:
		return fmt.Sprintf("%s, nice %d", st.Policy, st.Nice)
	case st.Policy == kernel.FIFO || st.Policy == kernel.RR:
		return fmt.Sprintf("%s %d", st.Policy, st.RTPrio)
	}
	return st.Policy.String()
}

// fromMeaning takes what the name of a kernel thread means.
func (x *explanation) fromMeaning(m kthread.Meaning) {
	x.what, x.maker, x.advice = m.What, m.Maker, m.Do
	switch m.Bound {
	case kthread.BoundCPU:
		x.movable = false
		if x.cpus == "" && m.CPU >= 0 {
			x.cpus = cpuset.Of(m.CPU).String()
		}
	case kthread.BoundNode, kthread.BoundNowhere:
		x.movable = true
	}
}
