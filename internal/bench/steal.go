package bench

import (
	"fmt"
	"time"

	"piton/internal/chart"
	"piton/internal/procfs"
)

// HostTicks are the times of all CPUs together, in USER_HZ ticks.
type HostTicks struct {
	steal, busy, total uint64
	have               bool
}

// ReadHostTicks reads those of now; what cannot be read is not had.
func ReadHostTicks(proc procfs.FS) HostTicks {
	c, err := proc.Counters()
	if err != nil || len(c.Lost) > 0 { // sums of different CPUs say nothing
		return HostTicks{}
	}
	t := HostTicks{have: true}
	for _, cpu := range c.CPUs { // guest times are in User and Nice already
		busy := cpu.User + cpu.Nice + cpu.System + cpu.IRQ + cpu.SoftIRQ
		t.steal += cpu.Steal
		t.busy += busy
		t.total += busy + cpu.Idle + cpu.IOWait + cpu.Steal
	}
	return t
}

// userTick is that of USER_HZ, which is 100 on every architecture of Linux that piton runs on.
const userTick = 10 * time.Millisecond

// Since is the share of the CPUs' time that the hypervisor took since then, and the time that
// tasks and interrupts used all CPUs; ok is false when no tick passed or a CPU went offline
// meanwhile.
func (t HostTicks) Since(then HostTicks) (stolen float64, busy time.Duration, ok bool) {
	if !t.have || !then.have || t.total <= then.total || t.steal < then.steal || t.busy < then.busy {
		return 0, 0, false
	}
	return float64(t.steal-then.steal) / float64(t.total-then.total), time.Duration(t.busy-then.busy) * userTick, true
}

// noticeableSteal is the share from which a report speaks of it: as much as the
// effects that studies look for.
const noticeableSteal = 0.01

// mean is that of a figure over all measured runs that have it, long ones weighing more.
func mean(runs []RunResult, of func(RunResult) (float64, bool)) (v float64, ok bool) {
	var sum, wall float64
	for _, r := range runs {
		if v, have := of(r); have && r.Index >= 0 {
			sum += v * r.Wall.Seconds()
			wall += r.Wall.Seconds()
		}
	}
	if wall == 0 {
		return 0, false
	}
	return sum / wall, true
}

// quietCPU is how much of a CPU others may use while it is quiet: less than effects that
// studies look for, spread over two CPUs.
const quietCPU = 0.05

// IsQuiet reports whether it is known that others used next to nothing during the runs.
func (rep Report) IsQuiet() bool { return rep.HaveOthers && rep.Noise == 0 && rep.Others < quietCPU }

// Quiet says how busy others were during the runs, "" where that was not measured.
func (rep Report) Quiet() string {
	used := chart.Percent(rep.Others) + " of a CPU"
	if rep.Others >= 0.995 {
		used = fmt.Sprintf("%.1f CPUs", rep.Others)
	}
	switch {
	case !rep.HaveOthers:
		return ""
	case rep.Noise > 0:
		return fmt.Sprintf("%s of background load; others than the runs used %s", chart.Plural(rep.Noise, "process"), used)
	case rep.IsQuiet():
		return fmt.Sprintf("quiet (others used %s)", used)
	}
	return "not quiet: others used " + used
}
