package bench

import "piton/internal/procfs"

// HostTicks are the times of all CPUs together, in USER_HZ ticks.
type HostTicks struct {
	steal, total uint64
	have         bool
}

// ReadHostTicks reads those of now; what cannot be read is not had.
func ReadHostTicks(proc procfs.FS) HostTicks {
	c, err := proc.Counters()
	if err != nil || len(c.Lost) > 0 { // sums of different CPUs say nothing
		return HostTicks{}
	}
	t := HostTicks{have: true}
	for _, cpu := range c.CPUs { // guest times are in User and Nice already
		t.steal += cpu.Steal
		t.total += cpu.User + cpu.Nice + cpu.System + cpu.Idle + cpu.IOWait + cpu.IRQ + cpu.SoftIRQ + cpu.Steal
	}
	return t
}

// Stolen is the share of the CPUs' time that the hypervisor took since then;
// ok is false when no tick passed or a CPU went offline meanwhile.
func (t HostTicks) Stolen(then HostTicks) (share float64, ok bool) {
	if !t.have || !then.have || t.total <= then.total || t.steal < then.steal {
		return 0, false
	}
	return float64(t.steal-then.steal) / float64(t.total-then.total), true
}

// noticeableSteal is the share from which a report speaks of it: as much as the
// effects that studies look for.
const noticeableSteal = 0.01

// meanSteal is the share stolen over all measured runs, long ones weighing more.
func meanSteal(runs []RunResult) float64 {
	var stolen, wall float64
	for _, r := range runs {
		if r.HaveSteal && r.Index >= 0 {
			stolen += r.StealShare * r.Wall.Seconds()
			wall += r.Wall.Seconds()
		}
	}
	if wall == 0 {
		return 0
	}
	return stolen / wall
}
