package demo

import (
	"net/netip"
	"path"
	"strings"
	"syscall"
	"time"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/kernel/kernelfake"
	"piton/internal/procfs"
	"piton/internal/sample"
	"piton/internal/why"
)

// Tick lets time pass and samples the machine.
func (m *Machine) Tick(dt time.Duration, needs sample.Needs) *sample.Sample {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.step(dt)
	for i := range m.cpus {
		c := &m.cpus[i]
		for kind, into := range []*uint64{&c.UserTicks, &c.NiceTicks, &c.SystemTicks, &c.IdleTicks, &c.IOWaitTicks, &c.IRQTicks, &c.SoftIRQTicks, &c.StealTicks} {
			*into = uint64(c.spent[kind] / 1e7)
		}
	}
	s := m.count.Sample(m.all())
	m.describe(&s.Host)
	s.Collectors = []sample.Collector{{Name: "tasks", Rung: "made up"}, {Name: "migrations", Rung: "made up"}}
	s.Tasks = make([]*sample.Task, 0, len(m.tasks))
	for _, t := range m.tasks {
		if needs.Threads || t.IsProcess() {
			s.Tasks = append(s.Tasks, t.publish())
		}
	}
	if needs.Trace != m.count.Trace {
		s.Traced, s.Steps = 0, nil
	}
	m.count.Trace = needs.Trace
	if needs.Wakes != 0 && needs.Wakes == m.woken {
		s.Wakes = m.wakes(dt)
	}
	m.woken = needs.Wakes
	if needs.Flows != 0 && needs.Flows == m.received {
		s.Flows = m.flows(dt)
	}
	m.received = needs.Flows
	if needs.Waits {
		s.Waits = m.briefs()
	}
	if needs.CPUGroups {
		s.CPUGroups = m.cpuGroups()
	}
	if needs.Ledger {
		s.RunIntervals = m.stays(dt)
	}
	return s
}

// describe says how the machine is.
func (m *Machine) describe(h *sample.Host) {
	seconds := m.count.Now.Seconds()
	n := float64(len(m.cpus))
	load := 0.0
	for i := range m.cpus {
		load += m.cpus[i].demand
	}
	total := uint64(memoryBytes(len(m.cpus)))
	const swap = 8 << 30
	h.Name, h.Load1, h.Load5, h.Load15 = Host, load, load*0.94, load*0.81
	h.MemTotalBytes, h.MemUsedBytes = total, uint64(float64(total)*(0.42+0.03*wave(seconds, 90, 0)))
	h.SwapTotalBytes, h.SwapUsedBytes = swap, uint64(swap*(0.11+0.01*wave(seconds, 300, 0)))
	h.PSI = sample.PSI{CPU: 4.1 + 2*wave(seconds, 60, 0), IO: 0.6 + 0.4*wave(seconds, 80, 1), Have: true}
	h.Forks, h.Switches = m.forks, uint64(seconds*n*2200)
}

// wakes are those of a process with a neighbour and with interrupts: as many as it runs.
func (m *Machine) wakes(dt time.Duration) sample.Wakes {
	w := sample.Wakes{Of: m.woken, Over: dt}
	end := func(t *task) sample.WakeTask {
		return sample.WakeTask{TID: t.TID, TGID: t.TGID, Comm: t.ID.Comm, CPU: cpuset.CPU(t.LastCPU)}
	}
	for i, t := range m.tasks {
		if t.TID != m.woken || t.got == 0 {
			continue
		}
		self, other := end(t), end(m.tasks[(i+1)%len(m.tasks)])
		n := uint64(2000 * t.got * dt.Seconds())
		w.List = append(w.List, sample.Wake{Waker: self, Wakee: other, Count: n + 1}, sample.Wake{Waker: other, Wakee: self, Count: n},
			sample.Wake{Wakee: self, Count: n/20 + 1})
	}
	return w
}

// flows are what a process reads of two connections: more of it the more it runs, and four
// fifths where the packets are handled.
func (m *Machine) flows(dt time.Duration) sample.Flows {
	f := sample.Flows{Of: m.received, Over: dt}
	for _, t := range m.tasks {
		if t.TID != m.received || t.got == 0 {
			continue
		}
		for i := range uint64(2) {
			bytes := uint64(40e6*t.got*dt.Seconds()) >> i
			one := sample.Flow{Flow: sample.Socket{Cookie: i + 1, PID: t.TID, Protocol: syscall.IPPROTO_TCP,
				Local:  netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, 10}), 443),
				Remote: netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 51, 100, byte(20 + i)}), uint16(51_000+i*977))},
				Consumed: cpuset.CPU(t.LastCPU), Interface: 2, Queue: int(i)}
			near, far := one, one
			near.Handled, near.Bytes, near.Reads, near.Packets = one.Consumed, bytes*4/5, bytes/20_000+1, bytes/1_800+1
			far.Handled, far.Bytes, far.Reads = (one.Consumed+1)%cpuset.CPU(len(m.cpus)), bytes/5, bytes/80_000+1
			f.List = append(f.List, near, far)
		}
	}
	return f
}

// briefs are the waits of the tasks that shared a CPU in the last tick, for another on it.
func (m *Machine) briefs() map[kernel.TID]why.Brief {
	out := map[kernel.TID]why.Brief{}
	for i := range m.cpus {
		queue := m.cpus[i].queue
		for at, q := range queue {
			waited := max(0, q.want-q.got)
			if waited == 0 || len(queue) < 2 {
				continue
			}
			other := queue[(at+1)%len(queue)]
			b := why.Brief{P99: time.Duration(min(waited, 1) * float64(20*time.Millisecond)), Blame: other.ID.Comm, Share: 1 / float64(len(queue)-1)}
			if other.TGID == q.TGID {
				b.Blame = why.Self.String()
			}
			if known := out[q.TGID]; known.P99 < b.P99 {
				out[q.TGID] = b
			}
		}
	}
	return out
}

// cpuGroups are the control groups and what they have counted: two have a limit.
func (m *Machine) cpuGroups() map[string]sample.CPUGroup {
	out := map[string]sample.CPUGroup{}
	seconds := m.count.Now.Seconds()
	for _, t := range m.tasks {
		for at := t.ID.CPUGroup; strings.Trim(at, "/") != ""; at = path.Dir(at) {
			if _, known := out[at]; known {
				break
			}
			g := sample.CPUGroup{HaveLimit: true, HaveStalled: true, Stalled: time.Duration(float64(len(at)) * 1e6 * (seconds + 3*wave(seconds, 60, 0)))}
			if share := limited[at]; share > 0 {
				const period = 100 * time.Millisecond
				g.Limit = procfs.CPULimit{Quota: 2 * period, Period: period}
				g.Stat.Periods = uint64(seconds * 10)
				g.Stat.Throttled = uint64(seconds * 10 * share)
			}
			out[at] = g
		}
	}
	return out
}

// limited are the groups with a limit, and the share of periods in which it throttles them.
var limited = map[string]float64{container: 0.2, path.Dir(pod): 0.05}

// stays are who ran where in the last tick.
func (m *Machine) stays(dt time.Duration) []sample.RunInterval {
	var out []sample.RunInterval
	for i := range m.cpus {
		c := &m.cpus[i]
		for _, q := range c.queue {
			run := uint64(q.got * float64(dt))
			times := 1 + run/2_000_000
			out = append(out, sample.RunInterval{CPU: cpuset.CPU(i), Kind: sample.RunOfTask, TID: q.TID, Name: q.ID.Comm, RunNs: run,
				WaitNs: uint64(max(0, q.want-q.got) * float64(dt)), LongestNs: min(run, 4_000_000), Times: times})
		}
		if c.soft > 0 {
			ns := uint64(c.soft * float64(dt))
			out = append(out, sample.RunInterval{CPU: cpuset.CPU(i), Kind: sample.RunOfSoftIRQ, Number: 3, Name: "NET_RX", RunNs: ns, LongestNs: min(ns, 90_000), Times: 1 + ns/6000})
		}
	}
	for _, l := range m.lines {
		if l.raised > 0 {
			out = append(out, sample.RunInterval{CPU: l.cpu, Kind: sample.RunOfIRQ, Number: l.number, Name: l.action, RunNs: l.raised * hardNs,
				LongestNs: 3 * hardNs, Times: l.raised})
		}
	}
	return out
}

// find returns a task of the machine; the lock is held.
func (m *Machine) find(tid kernel.TID) (*task, error) {
	if t := m.byTID[tid]; t != nil {
		return t, nil
	}
	return nil, kernelfake.Gone(tid)
}
