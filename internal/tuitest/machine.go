// Package tuitest makes a machine whose tasks run, move and sleep the same way
// every time, so that frames can be compared with files, and an event loop for its
// screen. Only tests import it.
//
// Start at New and Machine.Tick.
package tuitest

import (
	"fmt"
	"slices"
	"time"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/kernel/kernelfake"
	"piton/internal/model"
	"piton/internal/procfs"
	"piton/internal/sample"
	"piton/internal/topology"
	"piton/internal/why"
)

// Machine produces samples, one second apart.
type Machine struct {
	*kernelfake.Counters
	Topology *topology.Topology
	Procs    []*Proc
	rnd      uint32
}

// Proc is one process or thread of the machine.
type Proc struct {
	Task sample.Task
	// Busy is the share of a CPU it uses, 0..1.
	Busy float64
	// Moves is how often it moves a second, among Roam.
	Moves int
	Roam  []cpuset.CPU
}

// New returns a machine with the usual tasks of a small server.
func New(t *topology.Topology) *Machine {
	m := &Machine{Topology: t, rnd: 1, Counters: &kernelfake.Counters{Source: sample.SourcePerf,
		Began: time.Date(2026, 11, 20, 9, 14, 2, 0, time.UTC), CPUs: make([]sample.CPU, t.Present.Last()+1)}}
	all := t.Online.CPUs()
	first, last := all[:1], all[len(all)-1:]
	m.Add(1, 0, "systemd", "/sbin/init", "root", 0, 0, all)
	m.Add(2, 0, "kthreadd", "", "root", 0, 0, all).Task.Flags = sample.FlagKernelThread
	m.Add(17, 2, "migration/0", "", "root", 0, 0, first).fifo(99).Task.Flags = sample.FlagKernelThread | sample.FlagNoSetAffinity
	m.Add(612, 1, "sshd", "sshd: /usr/sbin/sshd -D [listener]", "root", 0, 0, all)
	m.Add(980, 1, "postgres", "/usr/lib/postgresql/16/bin/postgres -D /srv/pg", "postgres", 0.07, 2, all).Task.Threads = 3
	m.Add(1204, 612, "bash", "-bash", "balu", 0, 0, all)
	m.Add(3641, 1204, "nqueens", "./nqueens 16", "balu", 0.998, 41, all).Task.ID.CPUGroup = limitedGroup
	m.Add(3642, 1204, "matrix", "./matrix --threads 4", "balu", 0.55, 12, all).Task.Threads = 4
	m.Add(4000, 1, "jackd", "/usr/bin/jackd -R -d alsa", "mika", 0.21, 0, last).fifo(50)
	m.Add(4711, 1204, "evil\x1b[31m) (x", "evil \x1b]0;owned\a) (\nname", "balu", 0, 0, all).Task.Nice = 10
	return m
}

// limitedGroup has nqueens.
const limitedGroup = "/batch"

// groups are the control groups after n seconds: one is throttled in 4 of 10 periods.
func groups(n uint64) map[string]sample.CPUGroup {
	const period = 100 * time.Millisecond
	return map[string]sample.CPUGroup{"/": {HaveLimit: true},
		limitedGroup: {Limit: procfs.CPULimit{Quota: 3 * period / 2, Period: period}, Stat: procfs.CPUStat{Periods: 10 * n, Throttled: 4 * n},
			Stalled: time.Duration(n) * 5 * period, HaveLimit: true, HaveStalled: true}}
}

func (p *Proc) fifo(prio uint8) *Proc {
	p.Task.Policy, p.Task.RTPrio, p.Task.Priority = kernel.FIFO, prio, -1-int16(prio)
	return p
}

// Add starts a process.
func (m *Machine) Add(pid, ppid kernel.TID, comm, cmdline, user string, busy float64, moves int, roam []cpuset.CPU) *Proc {
	p := &Proc{Busy: busy, Moves: moves, Roam: roam, Task: sample.Task{
		TID: pid, TGID: pid, PPID: ppid, StartTicks: uint64(pid) * 10, State: 'S', Priority: 20, Threads: 1,
		ID:      &sample.Identity{Comm: comm, Cmdline: cmdline, User: user, Cgroup: "/", Full: true},
		LastCPU: int32(roam[int(pid)%len(roam)]), RSSPages: int64(pid) * 3, Affinity: cpuset.Of(roam...),
		Have:            sample.HaveRun | sample.HaveAffinity | sample.HaveSwitches | sample.HaveMigrations | sample.HaveIOPrio,
		MigrationSource: sample.SourceSched,
	}}
	at, _ := slices.BinarySearchFunc(m.Procs, pid+1, func(p *Proc, pid kernel.TID) int { return int(p.Task.TID - pid) })
	m.Procs = slices.Insert(m.Procs, at, p)
	return p
}

// Thread gives a process another thread.
func (m *Machine) Thread(tid, pid kernel.TID, comm string) *Proc {
	p := m.Add(tid, pid, comm, "", "balu", 0.2, 3, m.Topology.Online.CPUs())
	p.Task.TGID = pid
	return p
}

// Crowd adds n idle processes, for sizes.
func (m *Machine) Crowd(n int) {
	all := m.Topology.Online.CPUs()
	for i := range n {
		pid := kernel.TID(10000 + i)
		m.Add(pid, 1, fmt.Sprintf("worker-%d", i%97), fmt.Sprintf("/usr/bin/worker-%d --shard %d", i%97, i), "www-data", 0, 0, all)
	}
}

// Kill ends a process.
func (m *Machine) Kill(pid kernel.TID) {
	m.Procs = slices.DeleteFunc(m.Procs, func(p *Proc) bool { return p.Task.TID == pid })
}

// Proc finds a process.
func (m *Machine) Proc(pid kernel.TID) *Proc {
	if i := slices.IndexFunc(m.Procs, func(p *Proc) bool { return p.Task.TID == pid }); i >= 0 {
		return m.Procs[i]
	}
	return nil
}

// random is a small generator of its own: its numbers must never change.
func (m *Machine) random(n int) int {
	m.rnd = m.rnd*1664525 + 1013904223
	return int(m.rnd>>16) % n
}

// Tick lets a second pass and samples the machine.
func (m *Machine) Tick() *sample.Sample {
	m.Now += time.Second
	busy := map[cpuset.CPU]float64{}
	var tasks []*sample.Task
	for _, p := range m.Procs {
		m.run(p, busy)
		now := p.Task
		tasks = append(tasks, &now)
	}
	for id := range m.Topology.Online.All() {
		used := uint64(min(busy[id], 1) * kernelfake.TicksPerS)
		m.CPUs[id].UserTicks += used
		m.CPUs[id].IdleTicks += kernelfake.TicksPerS - used
	}
	s := m.Sample(m.Topology.Online)
	s.Tasks, s.Host.Name, s.Host.Load1, s.Host.Load5, s.Host.Load15 = tasks, "web-07", 3.12, 2.8, 2.41
	s.Waits = map[kernel.TID]why.Brief{3641: {P99: 7900 * time.Microsecond, Blame: "matrix", Share: 0.62}, 3642: {P99: 41 * time.Microsecond, Blame: "mask", Share: 1}, 980: {}}
	s.CPUGroups = groups(uint64(m.Now / time.Second))
	s.Host.MemTotalBytes, s.Host.MemUsedBytes = 64<<30, 14<<30
	return s
}

// run lets a process use its CPUs for a second.
func (m *Machine) run(p *Proc, busy map[cpuset.CPU]float64) {
	t := &p.Task
	t.State = 'S'
	if p.Busy > 0.5 {
		t.State = 'R'
	}
	for i := range p.Moves {
		if to := p.Roam[m.random(len(p.Roam))]; int32(to) != t.LastCPU {
			m.Move(t, to, i, p.Moves)
		}
	}
	busy[cpuset.CPU(t.LastCPU)] += p.Busy
	t.UserTicks += uint64(p.Busy * kernelfake.TicksPerS)
	t.RunNs += uint64(p.Busy * 1e9)
	t.RunDelayNs += uint64(p.Busy * 2e7)
	if p.Busy > 0 {
		t.VoluntarySwitches += 12
		t.InvoluntarySwitches += 3
	}
	if t.Threads > 1 {
		t.Group = &sample.Threads{Have: sample.HaveRun | sample.HaveAffinity | sample.HaveAttr, CPUs: t.Affinity}
		for i := range kernel.TID(t.Threads) {
			t.Group.List = append(t.Group.List, sample.Thread{TID: t.TID + i, RunDelayNs: t.RunDelayNs, Slices: t.VoluntarySwitches})
		}
	}
}

// Model is the machine after n more seconds.
func (m *Machine) Model(n int) *model.Model {
	var now *model.Model
	for range n {
		now = model.NextCalm(now, m.Tick(), m.Topology)
	}
	return now
}
