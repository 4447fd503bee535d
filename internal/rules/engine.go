package rules

import (
	"cmp"
	"slices"
	"time"

	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/sample"
)

// Limits bound what an Engine does and keeps. Zero values stand for the defaults.
type Limits struct {
	PerSecond int // applications in any second; DefaultPerSecond
	// Processes that are remembered, because a rule matches them or was applied to them;
	// each takes less than 300 bytes. DefaultProcesses.
	Processes int
}

// The defaults of Limits: 20 MB at most.
const (
	DefaultPerSecond = 1000
	DefaultProcesses = 1 << 16
)

// maxDone is how many rules are applied to one process. More than a few can match only
// one that goes on changing its name by exec.
const maxDone = 8

// tickNs is a tick of USER_HZ in ns, the unit of sample.Task.StartTicks.
const tickNs = 10_000_000

// ID names a process for good: the number alone is used again.
type ID struct {
	PID     kernel.TID
	StartNs uint64 // since boot, suspend included; a multiple of 10 ms where only ticks are known
}

// Decision is a rule to be applied to a process now.
type Decision struct {
	ID
	StartTicks uint64        // USER_HZ since boot, for change.Target
	Rule       *Rule         // of the Set in force
	Asked      time.Duration // when the process came to match, or the trigger fired
	Rate       float32       // of the trigger then; 0 without one
	Searched   bool          // a rule with PlaceAuto was applied to it before
}

// Stats count what an Engine did.
type Stats struct {
	Tracked, Queued int    // processes, now
	Applied         uint64 // decisions given
	Conflicts       uint64 // events of processes that two rules match
	Overflow        uint64 // events that found no room; a scan makes good for them
	Capped          uint64 // rules not applied to a process that had maxDone already
}

// Engine decides when rules are applied to processes: each rule once to a process,
// triggers each time that they fire, at most so many in a second, the rest queued in
// order. What happens depends on the events and the times alone. Times are monotonic,
// since any fixed moment; one that runs backwards counts as none. Not safe for
// concurrent use.
type Engine struct {
	set    *Set
	limits Limits
	procs  map[kernel.TID]*process
	queue  queue
	recent limiter
	now    time.Duration
	scan   bool // a scan is needed
	stats  Stats
}

// process is what is known of one that a rule matches or was applied to.
type process struct {
	id         ID
	startTicks uint64
	rule       *Rule   // that matches it now; nil: none any more
	done       []*Rule // that were applied
	watch      watch

	asked      time.Duration
	rate       float32
	next, prev *process // in the queue
	queued     bool
}

// New returns an engine that has seen no process yet, and wants a scan.
func New(set *Set, limits Limits) *Engine {
	if limits.PerSecond <= 0 {
		limits.PerSecond = DefaultPerSecond
	}
	if limits.Processes <= 0 {
		limits.Processes = DefaultProcesses
	}
	return &Engine{set: set, limits: limits, procs: map[kernel.TID]*process{}, recent: newLimiter(limits.PerSecond), scan: true}
}

// NeedsScan reports whether the daemon should call Scan: at the start, after a Reload,
// and when events found no room.
func (e *Engine) NeedsScan() bool { return e.scan }

// Stats returns the counts so far.
func (e *Engine) Stats() Stats {
	s := e.stats
	s.Tracked, s.Queued = len(e.procs), e.queue.n
	return s
}

// Cares reports whether an event of a process that now has this comm can mean anything,
// so that the rest of it has to be read.
func (e *Engine) Cares(pid kernel.TID, comm string) bool {
	return e.procs[pid] != nil || e.set.MayMatch(comm)
}

func (e *Engine) advance(now time.Duration) { e.now = max(e.now, now) }

// Exec takes in a process that is new or has changed: a fork, an exec, a new comm, a new
// cgroup. t has its full Identity; startNs is 0 where only its StartTicks are known. An
// event that comes after those of a later process with the same number is ignored. The
// error is a *Conflict.
func (e *Engine) Exec(t *sample.Task, startNs uint64, now time.Duration) error {
	e.advance(now)
	if !t.IsProcess() {
		return nil
	}
	id := ID{t.TGID, cmp.Or(startNs, t.StartTicks*tickNs)}
	p := e.procs[id.PID]
	switch order := p.compare(id.StartNs); {
	case order < 0:
		return nil
	case p != nil && order > 0: // its exit was missed
		e.forget(p)
		p = nil
	}
	rule, err := e.set.Match(t)
	if err != nil {
		e.stats.Conflicts++
	}
	switch {
	case p == nil && rule == nil:
		return err
	case p == nil && len(e.procs) >= e.limits.Processes:
		e.stats.Overflow++
		e.scan = true
		return err
	case p == nil:
		p = &process{id: id, startTicks: t.StartTicks}
		e.procs[id.PID] = p
	}
	if p.rule != rule {
		e.assign(p, rule)
	}
	return err
}

// compare orders another start time after that of the process, as exactly as both are
// known: whole ticks are what a source without ns has. A nil process is before all.
func (p *process) compare(startNs uint64) int {
	switch {
	case p == nil:
		return 1
	case startNs%tickNs == 0 || p.id.StartNs%tickNs == 0:
		return cmp.Compare(startNs/tickNs, p.id.StartNs/tickNs)
	}
	return cmp.Compare(startNs, p.id.StartNs)
}

// assign gives the process another rule, or none.
func (e *Engine) assign(p *process, rule *Rule) {
	e.queue.remove(p)
	p.rule, p.watch = rule, watch{}
	switch {
	case rule == nil && len(p.done) == 0:
		delete(e.procs, p.id.PID)
	case rule == nil || rule.Trigger != nil || slices.Contains(p.done, rule):
	default:
		e.ask(p, 0)
	}
}

// ask queues the process for its rule.
func (e *Engine) ask(p *process, rate float32) {
	switch {
	case p.queued:
		return
	case !slices.Contains(p.done, p.rule) && len(p.done) == maxDone:
		e.stats.Capped++
		return
	}
	p.asked, p.rate = e.now, rate
	e.queue.push(p)
}

// Exit takes in the end of a process; startNs is 0 where it is not known.
func (e *Engine) Exit(pid kernel.TID, startNs uint64, now time.Duration) {
	e.advance(now)
	if p := e.procs[pid]; p != nil && (startNs == 0 || p.compare(startNs) == 0) {
		e.forget(p)
	}
}

func (e *Engine) forget(p *process) {
	e.queue.remove(p)
	delete(e.procs, p.id.PID)
}

// Sample takes in the rates of processes, for triggers; those of processes with several
// threads have to be sums (model.WithSums).
func (e *Engine) Sample(m *model.Model, now time.Duration) {
	e.advance(now)
	for i, t := range m.Sample.Tasks {
		p := e.procs[t.TGID]
		if p == nil || !t.IsProcess() || p.rule == nil || p.rule.Trigger == nil || p.startTicks != t.StartTicks {
			continue
		}
		trigger := p.rule.Trigger
		if rate := metrics[trigger.Metric](&m.Tasks[i]); p.watch.see(trigger, rate, e.now) {
			e.ask(p, rate)
		}
	}
}

// Next returns what is to be applied now, in the order in which it was asked for; not ok
// when there is nothing, or no more in this second. What it returns counts as done: a
// process to which a rule could not be applied is not tried again.
func (e *Engine) Next(now time.Duration) (d Decision, ok bool) {
	e.advance(now)
	if e.queue.first == nil || e.recent.wait(e.now) > 0 {
		return Decision{}, false
	}
	p := e.queue.first
	e.queue.remove(p)
	e.recent.take(e.now)
	searched := slices.ContainsFunc(p.done, func(r *Rule) bool { return r.Place == PlaceAuto })
	if !slices.Contains(p.done, p.rule) {
		p.done = append(p.done, p.rule)
	}
	e.stats.Applied++
	return Decision{p.id, p.startTicks, p.rule, p.asked, p.rate, searched}, true
}

// Applied are the processes to which the rule that they have was applied, by number.
func (e *Engine) Applied() (out []Decision) {
	for _, p := range e.procs {
		if p.rule != nil && slices.Contains(p.done, p.rule) {
			out = append(out, Decision{ID: p.id, StartTicks: p.startTicks, Rule: p.rule})
		}
	}
	slices.SortFunc(out, func(a, b Decision) int { return cmp.Compare(a.PID, b.PID) })
	return out
}

// Holds reports whether the process of a decision still runs, as far as is known, and still
// has that rule.
func (e *Engine) Holds(d Decision) bool {
	p := e.procs[d.PID]
	return p != nil && p.id == d.ID && p.rule != nil && (p.rule == d.Rule || p.rule.Spec == d.Rule.Spec)
}

// Wait is how long Next has nothing to return for; not ok while the queue is empty.
func (e *Engine) Wait(now time.Duration) (d time.Duration, ok bool) {
	e.advance(now)
	return e.recent.wait(e.now), e.queue.first != nil
}
