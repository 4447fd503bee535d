package daemon

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"piton/internal/action"
	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/irq"
	"piton/internal/kernel"
	"piton/internal/procfs"
	"piton/internal/rules"
	"piton/internal/topology"
	"piton/internal/watch"
)

// Follower has the packets of processes follow them; Steerer is the real one.
type Follower interface {
	// Follow looks at the flows of the processes that a rule has now, and steers their packets
	// until ctx ends or none of them is left. It tells what it sees once they are steered.
	// When it returns everything is as it was before.
	Follow(ctx context.Context, r *rules.Rule, now func() []change.Target, tell func(Steered)) Steered
}

// Steered is what became of the packets of a rule's processes.
type Steered struct {
	Rule  *rules.Rule
	Event SteerEvent
	PIDs  []kernel.TID // the processes then
	action.Steering
	After action.Seen // of Steers
	Err   error
}

// SteerEvent is what happened to packets.
type SteerEvent string

// The events.
const (
	Steers    SteerEvent = "steered"
	LeftAlone SteerEvent = "left-alone" // for now
	Over      SteerEvent = "over"       // everything is as it was before
)

// Steerer steers as piton irq follow does.
type Steerer struct {
	Tuner      *change.Tuner // not a daemon's
	Topology   func() (*topology.Topology, error)
	Interrupts func() (irq.Table, error)
}

// Follow is part of Follower.
func (s *Steerer) Follow(ctx context.Context, r *rules.Rule, now func() []change.Target, tell func(Steered)) Steered {
	out := Steered{Rule: r, Event: LeftAlone}
	topo, err := s.Topology()
	if err == nil {
		out.SteerAsk, err = r.Delivery(topo)
	}
	if err != nil {
		out.Err = err
		return out
	}
	ask := out.SteerAsk
	ask.Targets, ask.Renew = now(), func([]change.Target) []change.Target { return now() }
	ask.Look = func(ctx context.Context, d time.Duration) (action.Seen, error) {
		return action.LookAtFlows(procfs.New(s.Tuner.Proc.Root()), topo, watch.Targets{IDs: pidsOf(now())})(ctx, d)
	}
	if table, err := s.Interrupts(); err == nil {
		ask.Table = &table
	}
	steering, err := action.LookAt(ctx, s.Tuner, ask)
	if out.PIDs, out.Err = pidsOf(ask.Targets), err; err != nil {
		return out
	}
	if out.Steering = *steering; out.Way == "" {
		return out
	}
	out.Err = steering.Run(ctx, 0, func(after action.Seen) {
		out.Steering, out.Event, out.After = *steering, Steers, after
		tell(out)
		out.Event = Over
	})
	if out.Err == nil {
		out.Event = Over
	}
	return out
}

func pidsOf(targets []change.Target) []kernel.TID {
	out := []kernel.TID{}
	for _, t := range targets {
		out = append(out, t.TID)
	}
	return out
}

// follows are the rules whose packets follow their processes: one steering of a rule at a time.
type follows struct {
	of     []*following
	pruned time.Duration // when processes that ended were last left out
}

// following is one rule.
type following struct {
	rule  *rules.Rule
	mu    sync.Mutex       // of procs, while Follower reads them
	procs []rules.Decision // only the daemon's loop changes them
	next  time.Duration    // when it is looked at
	pause time.Duration    // until it is looked at again
	end   context.CancelCauseFunc
	said  chan Steered // the last one is not Steers; nil: none runs
	told  told         // what was reported last
}

// told is what makes a report news.
type told struct {
	event SteerEvent
	way   action.Way
	why   string
}

// The times after which the flows of processes are looked at: at first there are none.
const (
	firstFollow = time.Second
	lastFollow  = time.Minute
)

// follow notes a decision whose packets follow the process.
func (d *Daemon) follow(decision rules.Decision) {
	if d.o.Follower == nil {
		d.o.Report(Report{Effect: &Effect{Decision: decision, Status: Planned}})
		return
	}
	i := slices.IndexFunc(d.follows.of, func(f *following) bool { return f.rule.Spec == decision.Rule.Spec })
	if i < 0 {
		i = len(d.follows.of)
		d.follows.of = append(d.follows.of, &following{rule: decision.Rule})
	}
	f := d.follows.of[i]
	f.mu.Lock()
	f.procs = append(slices.DeleteFunc(f.procs, func(p rules.Decision) bool { return p.PID == decision.PID }), decision)
	f.mu.Unlock()
	f.pause, f.next = firstFollow, d.now()+firstFollow
}

// now are the processes.
func (f *following) now() (out []change.Target) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.procs {
		out = append(out, change.Target{TID: p.PID, StartTicks: p.StartTicks, Scope: change.ScopeProcess})
	}
	return out
}

// deliver reports what became of packets, and looks at those that are not steered.
func (d *Daemon) deliver(ctx context.Context) {
	now := d.now()
	if len(d.follows.of) == 0 {
		return
	}
	if now-d.follows.pruned >= pruneEvery {
		d.follows.pruned = now
		for _, f := range d.follows.of {
			f.mu.Lock()
			f.procs = slices.DeleteFunc(f.procs, func(p rules.Decision) bool { return !d.engine.Holds(p) })
			f.mu.Unlock()
		}
	}
	d.follows.of = slices.DeleteFunc(d.follows.of, func(f *following) bool {
		left := len(f.procs)
		switch {
		case f.said != nil:
			if left == 0 {
				f.end(errLeft)
			}
			select {
			case s := <-f.said:
				d.steered(f, s)
			default:
			}
		case left == 0:
			return true
		case now >= f.next:
			its, end := context.WithCancelCause(context.WithoutCancel(ctx))
			f.end, f.said = end, make(chan Steered, 2)
			go func(said chan<- Steered) {
				said <- d.o.Follower.Follow(its, f.rule, f.now, func(s Steered) { said <- s })
			}(f.said)
		}
		return false
	})
}

// steered takes what became of packets, and reports it if it is news.
func (d *Daemon) steered(f *following, s Steered) {
	before := f.told
	if s.Event == Steers {
		f.pause = firstFollow
	} else {
		f.end(nil)
		f.said = nil
		f.next, f.pause = d.now()+f.pause, min(2*f.pause, lastFollow)
	}
	if errors.Is(s.Err, context.Canceled) || errors.Is(s.Err, attr.ErrGone) { // as the daemon or the processes ended
		s.Err = nil
		if s.Event == LeftAlone {
			return
		}
	}
	f.told = told{s.Event, s.Way, ""}
	if s.Err != nil {
		f.told.why = s.Err.Error()
	}
	if f.told == before || s.Event == Over && s.Err == nil && before.event != Steers {
		return
	}
	d.o.Report(Report{Steered: &s})
}

// stopFollowing ends all steering, and waits until everything is as it was.
func (d *Daemon) stopFollowing() {
	for _, f := range d.follows.of {
		if f.said != nil {
			f.end(errStopped)
		}
	}
	for _, f := range d.follows.of {
		for f.said != nil {
			d.steered(f, <-f.said)
		}
	}
}
