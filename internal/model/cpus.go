package model

import (
	"cmp"
	"math"
	"slices"

	"piton/internal/cpuset"
	"piton/internal/sample"
)

// nextCPUs walks the CPUs of both samples side by side; a CPU may have gone
// offline or come back in between.
func (m *Model) nextCPUs(prev *Model) {
	now := m.Sample.CPUs
	m.CPUs = make([]CPU, len(now))
	m.MigrationsPerS = Unknown
	j := 0
	for i := range now {
		c := &m.CPUs[i]
		*c = unknownCPU(now[i].ID)
		if prev == nil {
			continue
		}
		before := prev.Sample.CPUs
		for j < len(before) && before[j].ID < now[i].ID {
			j++
		}
		if j == len(before) || before[j].ID != now[i].ID {
			continue
		}
		c.In, c.Ticks = prev.CPUs[j].In, prev.CPUs[j].Ticks
		c.shares(&before[j], &now[i])
		m.moves(prev, c, &before[j], &now[i])
	}
}

func unknownCPU(id cpuset.CPU) CPU {
	return CPU{ID: id, Busy: Unknown, User: Unknown, Nice: Unknown, System: Unknown, IRQ: Unknown, SoftIRQ: Unknown,
		Steal: Unknown, Guest: Unknown, IOWait: Unknown, InPerS: Unknown, OutPerS: Unknown, RT: -1}
}

// shares divides the interval, measured by the CPU's own ticks.
func (c *CPU) shares(before, now *sample.CPU) {
	if before.NoTimes || now.NoTimes {
		return
	}
	ok := true
	delta := func(before, now uint64) float32 {
		if now < before {
			ok = false
		}
		return float32(now - before)
	}
	// The kernel may take iowait and idle back a little (proc_stat(5)).
	waited := func(before, now uint64) float32 { return float32(now - min(before, now)) }
	user, nice := delta(before.UserTicks, now.UserTicks), delta(before.NiceTicks, now.NiceTicks)
	system, steal := delta(before.SystemTicks, now.SystemTicks), delta(before.StealTicks, now.StealTicks)
	irq, softirq := delta(before.IRQTicks, now.IRQTicks), delta(before.SoftIRQTicks, now.SoftIRQTicks)
	guest := delta(before.GuestTicks, now.GuestTicks)
	idle, iowait := waited(before.IdleTicks, now.IdleTicks), waited(before.IOWaitTicks, now.IOWaitTicks)
	busy := user + nice + system + steal + irq + softirq
	total := busy + idle + iowait
	if !ok || total == 0 {
		return
	}
	c.Busy, c.User, c.Nice, c.System = busy/total, user/total, nice/total, system/total
	c.IRQ, c.SoftIRQ, c.Steal = irq/total, softirq/total, steal/total
	c.Guest, c.IOWait = guest/total, iowait/total
}

// Parts divides Busy as a meter shows it: user, nice, system, irq with softirq, steal.
func (c *CPU) Parts() [5]float32 {
	return [5]float32{c.User, c.Nice, c.System, c.IRQ + c.SoftIRQ, c.Steal}
}

// Mean is the mean load of CPUs and of its parts, over those whose load is known; the load
// is Unknown where none is.
func (m *Model) Mean(cpus cpuset.Set) (busy float32, parts [5]float32) {
	known := float32(0)
	for id := range cpus.All() {
		c := m.CPU(id)
		if c == nil || !Known(c.Busy) {
			continue
		}
		known++
		busy += c.Busy
		for i, part := range c.Parts() {
			parts[i] += part
		}
	}
	if known == 0 {
		return Unknown, parts
	}
	for i := range parts {
		parts[i] /= known
	}
	return busy / known, parts
}

// moves computes the CPU's migrations; m.MigrationsPerS adds up those into CPUs.
// Another source counts from another moment on.
func (m *Model) moves(prev *Model, c *CPU, before, now *sample.CPU) {
	if prev.Sample.Migrations != m.Sample.Migrations {
		return
	}
	if before.HaveOut && now.HaveOut {
		c.OutPerS = m.perS(before.MigrationsOut, now.MigrationsOut)
	}
	if !before.HaveIn || !now.HaveIn {
		return
	}
	c.InPerS = m.perS(before.MigrationsIn, now.MigrationsIn)
	if !Known(c.InPerS) {
		return
	}
	copy(c.In[:], c.In[1:])
	c.In[HistoryLen-1] = uint16(min(now.MigrationsIn-before.MigrationsIn, math.MaxUint16))
	c.Ticks = min(c.Ticks+1, HistoryLen)
	if !Known(m.MigrationsPerS) {
		m.MigrationsPerS = 0
	}
	m.MigrationsPerS += c.InPerS
}

// busyRT is the CPU percentage from which a real-time task counts as busy.
const busyRT = 1

// tasksOnCPUs finds what belongs to each CPU: the tasks pinned there and its busiest
// real-time task.
func (m *Model) tasksOnCPUs() {
	for i := range m.Tasks {
		t := m.Sample.Tasks[i]
		if t.Policy.RealTime() && m.Tasks[i].CPUPercent >= busyRT {
			if c := m.CPU(cpuset.CPU(t.LastCPU)); c != nil && (c.RT < 0 || m.Tasks[i].CPUPercent > m.Tasks[c.RT].CPUPercent) {
				c.RT = i
			}
		}
		if t.Have&sample.HaveAffinity == 0 || t.IsKernel() {
			continue
		}
		if only := t.Affinity.First(); only == t.Affinity.Last() {
			if c := m.CPU(only); c != nil {
				c.Pinned++
			}
		}
	}
}

// CPU finds a CPU's rates; nil when the sample lacks it, as after it went offline.
func (m *Model) CPU(id cpuset.CPU) *CPU {
	if i := m.indexOf(id); i >= 0 {
		return &m.CPUs[i]
	}
	return nil
}

// indexOf is a CPU's index in CPUs, -1 for none.
func (m *Model) indexOf(id cpuset.CPU) int {
	if i := int(id); i >= 0 && i < len(m.CPUs) && m.CPUs[i].ID == id {
		return i // all below it are online
	}
	if i, ok := slices.BinarySearchFunc(m.CPUs, id, func(c CPU, id cpuset.CPU) int { return cmp.Compare(c.ID, id) }); ok {
		return i
	}
	return -1
}
