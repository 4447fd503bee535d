package bench

import "piton/internal/procfs"

// hostTicks are the times of all CPUs together, in USER_HZ ticks.
type hostTicks struct {
	steal, total uint64
	have         bool
}

func readHostTicks(proc procfs.FS) hostTicks {
	c, err := proc.Counters()
	if err != nil {
		return hostTicks{}
	}
	t := hostTicks{have: true}
	for _, cpu := range c.CPUs { // guest times are in User and Nice already
		t.steal += cpu.Steal
		t.total += cpu.User + cpu.Nice + cpu.System + cpu.Idle + cpu.IOWait + cpu.IRQ + cpu.SoftIRQ + cpu.Steal
	}
	return t
}

// stolen is the share of the CPUs' time that the hypervisor took since then;
// ok is false when no tick passed or a CPU went offline meanwhile.
func (t hostTicks) stolen(then hostTicks) (share float64, ok bool) {
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
