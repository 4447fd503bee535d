package demo

import (
	"slices"
	"time"

	"piton/internal/cpuset"
	"piton/internal/place"
)

// step lets time pass.
func (m *Machine) step(dt time.Duration) {
	m.count.Now += dt
	seconds := m.count.Now.Seconds()
	if n := m.fake.Changes(); n != m.changes {
		m.changes = n
		for _, t := range m.tasks {
			t.take(m.fake.Task(t.TID))
		}
	}
	m.work(seconds)
	for i := range m.cpus {
		c := &m.cpus[i]
		c.queue = c.queue[:0]
		c.irq, c.soft, c.steal = 0, 0, 0
	}
	m.interrupt(dt)
	m.steal(seconds)
	for i := range m.cpus {
		c := &m.cpus[i]
		c.cap = max(0.02, 1-c.irq-c.soft-c.steal)
	}
	for _, t := range m.active {
		t.needs, t.got, t.on = t.wants(seconds), 0, t.on[:0]
		m.move(t, dt)
		for _, id := range t.on {
			c := &m.cpus[id]
			c.queue = append(c.queue, queued{task: t, want: t.needs / float64(len(t.on))})
		}
	}
	for i := range m.cpus {
		m.cpus[i].share(m.kept)
		m.cpus[i].account(dt)
	}
	for _, t := range m.active {
		m.finish(t, dt)
	}
	for _, w := range m.waits {
		w.note(dt)
	}
	m.housekeep(dt)
	for i := range m.cpus {
		c := &m.cpus[i]
		c.demand = 0
		for _, q := range c.queue {
			c.demand += q.want
		}
	}
}

// times is how often something that happens rate times a second happens in dt.
func (m *Machine) times(rate float64, dt time.Duration) int {
	return int(rate*dt.Seconds() + m.rng.Float64())
}

// move lets a task move between CPUs, and notes where it is in this tick.
func (m *Machine) move(t *task, dt time.Duration) {
	if !t.may(cpuset.CPU(t.LastCPU)) {
		m.moveTo(t, m.idlest(t, t.allowed), 0, 1)
	}
	t.on = append(t.on, cpuset.CPU(t.LastCPU))
	if !t.free() || t.stopped {
		return
	}
	n := m.times(t.moves*(0.85+0.3*m.rng.Float64()), dt)
	if between := t.usable(); len(between) > 1 {
		m.bounce(t, between, n)
		return
	}
	if n > 0 || m.cpus[t.LastCPU].demand > 1.1 && t.needs < 0.9*m.cpus[t.LastCPU].demand && m.rng.IntN(3) == 0 {
		for range max(1, n) {
			to := m.choose(t)
			m.moveTo(t, to, 0, 1)
			if len(t.on) < 4 && !slices.Contains(t.on, to) {
				t.on = append(t.on, to)
			}
		}
	}
}

// bounce moves a task to and fro.
func (m *Machine) bounce(t *task, between []cpuset.CPU, n int) {
	t.on = t.on[:0]
	t.on = append(t.on, between...)
	for i := range n {
		m.moveTo(t, between[(slices.Index(between, cpuset.CPU(t.LastCPU))+1)%len(between)], i, n)
	}
	back := uint64(n * 9 / 10) // most of them are back within 100 ms
	t.PingPongs += back
	t.leader.sum.pingPongs += back
}

// moveTo counts a move, the nth of so many a second.
func (m *Machine) moveTo(t *task, to cpuset.CPU, nth, of int) {
	if cpuset.CPU(t.LastCPU) == to {
		return
	}
	m.count.Move(&t.Task, to, nth, of)
	t.leader.sum.migrations++
	t.changed, t.leader.changed = true, true
}

// choose is the better of two CPUs, mostly of the task's own cache.
func (m *Machine) choose(t *task) cpuset.CPU {
	among := t.allowed
	if c, _ := m.Topology.CPU(cpuset.CPU(t.LastCPU)); m.rng.IntN(10) > 0 {
		if near := c.LLC.And(t.Affinity); near.Len() > 1 {
			among = near.CPUs()
		}
	}
	a, b := among[m.rng.IntN(len(among))], among[m.rng.IntN(len(among))]
	if m.cpus[a].demand < m.cpus[b].demand {
		return a
	}
	return b
}

// idlest is the CPU with the least demand of a few.
func (m *Machine) idlest(t *task, among []cpuset.CPU) cpuset.CPU {
	best := among[m.rng.IntN(len(among))]
	for range min(8, len(among)) {
		if c := among[m.rng.IntN(len(among))]; m.cpus[c].demand < m.cpus[best].demand {
			best = c
		}
	}
	m.cpus[best].demand += t.want
	return best
}

// share divides a CPU among its tasks: real time first, up to the part that is kept for
// ordinary tasks that want it, the others by their weight.
func (c *cpu) share(kept float64) {
	left, ordinary := c.cap, 0.0
	for i := range c.queue {
		if q := &c.queue[i]; !q.Policy.RealTime() {
			ordinary += q.want
		}
	}
	kept = min(kept*c.cap, ordinary)
	for i := range c.queue {
		if q := &c.queue[i]; q.Policy.RealTime() {
			q.got = min(q.want, max(0, left-kept))
			left -= q.got
		}
	}
	for range 4 { // what light tasks leave goes to the others
		weights := 0.0
		for i := range c.queue {
			if q := &c.queue[i]; q.got < q.want && !q.Policy.RealTime() {
				weights += place.Weight(q.Policy, int(q.Nice))
			}
		}
		if weights == 0 || left < 1e-4 {
			break
		}
		all := left
		for i := range c.queue {
			if q := &c.queue[i]; q.got < q.want && !q.Policy.RealTime() {
				more := min(q.want-q.got, all*place.Weight(q.Policy, int(q.Nice))/weights)
				q.got += more
				left -= more
			}
		}
	}
	for i := range c.queue {
		c.queue[i].task.got += c.queue[i].got
	}
}

// account adds the tick to the CPU's times.
func (c *cpu) account(dt time.Duration) {
	ns := float64(dt)
	c.spent[hard] += c.irq * ns
	c.spent[soft] += c.soft * ns
	c.spent[stolen] += c.steal * ns
	used, wait := c.irq+c.soft+c.steal, 0.0
	for i := range c.queue {
		q := &c.queue[i]
		kind := user
		if q.Nice > 0 {
			kind = niced
		}
		c.spent[kind] += q.got * (1 - q.inside) * ns
		c.spent[system] += q.got * q.inside * ns
		used += q.got
		wait += q.disk
	}
	rest := max(0, 1-used)
	wait = min(wait, rest)
	c.spent[waiting] += wait * ns
	c.spent[idle] += (rest - wait) * ns
}

// finish gives a task what it got.
func (m *Machine) finish(t *task, dt time.Duration) {
	state := byte('S')
	switch {
	case t.stopped:
		state = 'T'
	case t.got > 0.5 || m.rng.Float64() < t.got:
		state = 'R'
	case t.disk > 0 && m.rng.Float64() < t.disk:
		state = 'D'
	}
	if state != t.State {
		t.State, t.changed = state, true
	}
	if t.got > 0 {
		ns := float64(dt)
		others, waking := t.waited(dt)
		t.ran(t.got*ns, float64(others+waking))
	}
}

// steal is what a hypervisor takes of the last CPUs.
func (m *Machine) steal(seconds float64) {
	for i := range max(1, len(m.cpus)/16) {
		m.cpus[len(m.cpus)-1-i].steal = 0.03 + 0.04*wave(seconds, 23, float64(i))
	}
}

// housekeep lets a few kernel threads run.
func (m *Machine) housekeep(dt time.Duration) {
	for range min(m.times(4, dt), len(m.idlers)) {
		t := m.idlers[m.rng.IntN(len(m.idlers))]
		ns := 2e4 + 4e5*m.rng.Float64()
		t.ran(ns, 1e4)
		m.cpus[t.LastCPU].spent[system] += ns
	}
}

// work ends jobs and begins others.
func (m *Machine) work(seconds float64) {
	for _, j := range m.jobs {
		if j.now != nil && m.byTID[j.now.TID] != j.now { // it was killed
			j.now = nil
		}
		if j.now != nil && seconds < j.until {
			continue
		}
		if j.now != nil {
			m.end(j.now)
		}
		j.until = seconds + 4 + 9*m.rng.Float64()
		j.now = m.build(j.slot)
	}
}
