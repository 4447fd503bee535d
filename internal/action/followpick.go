package action

import (
	"cmp"
	"errors"
	"slices"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/procfs"
)

const (
	// mostPicked bounds the CPUs between which a policy chooses: each is one more value in
	// the record of every queue.
	mostPicked = 64
	// clearlyIdler is the share of a CPU's time by which another must be idler to be
	// chosen instead: 1 s at USER_HZ 100 resolves 1 %.
	clearlyIdler = 0.10
)

// picker chooses one CPU, anew each time that it is asked.
type picker struct {
	*Steering
	cpus      []cpuset.CPU // candidates 1 and on
	now       int          // the candidate in force, 0 = none yet
	times     map[cpuset.CPU]procfs.CPUTimes
	idle      map[cpuset.CPU]float64 // share of the time since the look before
	ran       map[kernel.TID]uint64  // ticks of the processes' threads
	consumers cpuset.Set
}

func newPicker(s *Steering) *picker {
	p := &picker{Steering: s, times: map[cpuset.CPU]procfs.CPUTimes{}, idle: map[cpuset.CPU]float64{}, ran: map[kernel.TID]uint64{}}
	p.look()
	return p
}

// start notes the CPUs that there are to choose from.
func (p *picker) start(consumers cpuset.Set) error {
	p.consumers = consumers
	p.look()
	p.cpus = p.Topology.Ordinary().CPUs()
	if len(p.cpus) < 2 {
		return errors.New("there is one CPU only: nothing to choose from")
	}
	if len(p.cpus) > mostPicked {
		slices.SortStableFunc(p.cpus, p.idler)
		p.cpus = p.cpus[:mostPicked]
	}
	return nil
}

func (p *picker) idler(a, b cpuset.CPU) int { return cmp.Compare(p.idle[b], p.idle[a]) }

// pick returns the candidate of now.
func (p *picker) pick() (int, error) {
	p.look()
	online, err := p.tuner.Online()
	if err != nil {
		return 0, err
	}
	able := p.able(cpuset.Of(p.cpus...).And(online))
	if able.Empty() {
		return 0, errors.New("no CPU is left that could process the packets")
	}
	best := slices.MinFunc(able.CPUs(), p.idler)
	if p.now > 0 {
		is := p.cpus[p.now-1]
		if able.Has(is) && (p.Policy == PolicyApart || p.idle[best]-p.idle[is] < clearlyIdler) {
			return p.now, nil
		}
	}
	p.now = slices.Index(p.cpus, best) + 1
	return p.now, nil
}

// able are those of the CPUs that the policy allows: PolicyApart the others of the caches in
// which the consumers run, and any others where there are none.
func (p *picker) able(cpus cpuset.Set) cpuset.Set {
	if p.Policy != PolicyApart {
		return cpus
	}
	var near cpuset.Builder
	for cpu := range p.consumers.All() {
		if c, ok := p.Topology.CPU(cpu); ok {
			for other := range c.LLC.All() {
				near.Add(other)
			}
		}
	}
	others := cpus.AndNot(p.consumers)
	for _, set := range []cpuset.Set{others.And(near.Set()), others} {
		if !set.Empty() {
			return set
		}
	}
	return cpus
}

// look reads how idle the CPUs were and where the processes ran since it was called before.
// What cannot be read is as it was.
func (p *picker) look() {
	var now procfs.Counters
	if b, err := p.tuner.Proc.File("stat"); err == nil && procfs.ParseCounters(b, &now) == nil {
		for _, c := range now.CPUs {
			was := p.times[c.CPU]
			if all := ticks(c) - ticks(was); all > 0 {
				p.idle[c.CPU] = float64(c.Idle+c.IOWait-was.Idle-was.IOWait) / float64(all)
			}
			p.times[c.CPU] = c
		}
	}
	if p.Policy != PolicyApart {
		return
	}
	var on cpuset.Builder
	for _, t := range p.watched {
		tids, _ := p.tuner.Proc.Threads(t.TID)
		for _, tid := range tids {
			st, err := p.tuner.Proc.ThreadStat(t.TID, tid)
			if err != nil {
				continue
			}
			if ran := st.UserTicks + st.SystemTicks; ran > p.ran[tid] {
				p.ran[tid] = ran
				on.Add(cpuset.CPU(st.LastCPU))
			}
		}
	}
	if set := on.Set(); !set.Empty() {
		p.consumers = set
	}
}

// ticks is all of a CPU's time.
func ticks(c procfs.CPUTimes) uint64 {
	return c.User + c.Nice + c.System + c.Idle + c.IOWait + c.IRQ + c.SoftIRQ + c.Steal
}
