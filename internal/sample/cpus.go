package sample

import (
	"cmp"
	"slices"

	"piton/internal/procfs"
)

// cpuTimes reads /proc/stat.
type cpuTimes struct {
	r        *procfs.Reader
	counters procfs.Counters // reused
}

// read sets s.CPUs and the counters of the machine that stand in the same file.
func (c *cpuTimes) read(s *Sample) error {
	b, err := c.r.Host("stat")
	if err != nil {
		return err
	}
	if err := procfs.ParseCounters(b, &c.counters); err != nil {
		return err
	}
	s.Host.Forks, s.Host.Switches = c.counters.Forks, c.counters.Switches
	s.CPUs = make([]CPU, len(c.counters.CPUs))
	for i, t := range c.counters.CPUs {
		s.CPUs[i] = CPU{
			ID: t.CPU, UserTicks: t.User, NiceTicks: t.Nice, SystemTicks: t.System, IdleTicks: t.Idle,
			IOWaitTicks: t.IOWait, IRQTicks: t.IRQ, SoftIRQTicks: t.SoftIRQ, StealTicks: t.Steal,
			GuestTicks: t.Guest, GuestNiceTicks: t.GuestNice,
		}
	}
	slices.SortFunc(s.CPUs, func(a, b CPU) int { return cmp.Compare(a.ID, b.ID) })
	return nil
}
