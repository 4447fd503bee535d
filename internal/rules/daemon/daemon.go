// Package daemon is piton rules run: it meets processes as they begin (source.go), asks
// rules.Engine which rule applies when, and carries that out (apply.go), so that the
// journal has it. What it does is reported line by line; it prints nothing.
//
// Only one runs for a journal (instance.go). Start at Daemon.Run.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"piton/internal/change/journal"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/rules"
	"piton/internal/sample"
)

// Options are what a Daemon works with.
type Options struct {
	Load    func() (*rules.Set, error) // reads the file, at the start and for each Reload
	Reload  <-chan struct{}
	Source  Source
	Machine Machine
	Applier Applier
	// Searcher is for rules with rules.PlaceAuto; nil: nothing is searched.
	Searcher Searcher
	// Follower is for rules with Follow; nil: no packets are steered.
	Follower Follower
	Limits   rules.Limits
	Report   func(Report)
	Self     kernel.TID // is left alone
}

// Source are the events of processes; OpenSource finds the best.
type Source interface {
	// Read waits for events for at most the given time, and appends those that there are.
	// When lost is not 0 some are missing.
	Read(into []kernel.ProcEvent, most time.Duration) (events []kernel.ProcEvent, lost uint64, err error)
	// Complete reports whether all processes have events, but for those that are lost.
	Complete() bool
}

// Machine is what a Daemon reads.
type Machine interface {
	// Use prepares for the rates and the load that a set needs, and checks that the
	// machine has the CPUs that it names.
	Use(*rules.Set) error
	// Process reads what rules match by of a process that an event is about, nil if there is none.
	Process(kernel.ProcEvent) (*sample.Task, error)
	// Read reads all of them, with what has happened since the last time.
	Read() (*model.Model, error)
	// Online are the CPUs that are.
	Online() (cpuset.Set, error)
}

// Applier carries decisions out.
type Applier interface {
	// Apply returns a effect for each decision, and those for which there is none yet, and why:
	// another piton is changing something (journal.ErrBusy), or the disk is full.
	Apply(context.Context, []rules.Decision) (effects []Effect, later []rules.Decision, why error)
	// Second looks once more at processes that got their rules, for threads that were being
	// created meanwhile, and returns a effect for each that had some. The error is one that passes.
	Second(context.Context, []Effect) ([]Effect, error)
	// Back gives threads of processes the CPUs of their rules that they do not have because CPUs
	// were offline, which are back, and returns as Second does.
	Back(ctx context.Context, applied []rules.Decision, back cpuset.Set) ([]Effect, error)
	// Again gives processes once more what their rules set and others have changed since, and
	// returns as Second does.
	Again(ctx context.Context, held []Effect) ([]Effect, error)
}

// Report is one of what is reported: a Effect, a Search, Steered packets or a Note.
type Report struct {
	Effect  *Effect
	Search  *Search
	Steered *Steered
	Note    string // a sentence about the daemon itself: rules were read again, events were lost
	Kind    NoteKind
}

// NoteKind says what a Note is about.
type NoteKind string

// The kinds.
const (
	Started  NoteKind = "started"
	Reloaded NoteKind = "reloaded"
	Refused  NoteKind = "refused" // a file that was to be read again
	Lost     NoteKind = "lost"    // events
	Conflict NoteKind = "conflict"
	Trouble  NoteKind = "trouble"
	Stopped  NoteKind = "stopped"
)

// The times of the loop.
const (
	lookEvery    = 100 * time.Millisecond // for signals, CPUs, and events that do not wake
	rescanEvery  = 30 * time.Second       // against what no event tells, such as a move to another cgroup
	scanEvery    = time.Second            // where the source is not complete
	sampleEvery  = time.Second            // for triggers and loads
	holdFor      = 20 * time.Millisecond  // a fork, for the exec that mostly follows
	largestBatch = 64                     // decisions that one record of the journal has
	againFirst   = 5 * time.Millisecond   // where another piton holds the lock, or the disk is full,
	againLast    = 100 * time.Millisecond // and goes on to
)

// Daemon applies rules until its context ends.
type Daemon struct {
	o        Options
	set      *rules.Set
	engine   *rules.Engine
	delayed  delayed
	searches searches
	follows  follows
	seconds  []second                     // in order
	kept     map[kernel.TID]*kept         // whose rules are reapplied
	later    []rules.Decision             // that could not be carried out yet
	again    time.Duration                // after which they are tried again; 0 = there are none
	began    map[kernel.TID]time.Duration // when what waits for its rule was met
	events   []kernel.ProcEvent
	scanned  time.Duration
	online   cpuset.Set    // CPUs, at the last look,
	looked   time.Duration // which was then
	back     cpuset.Set    // CPUs that came online,
	// unsettled are those who may not have these again yet.
	unsettled []rules.Decision
	start     time.Time       // when CLOCK_MONOTONIC
	origin    time.Duration   // was this
	told      map[string]bool // conflicts
}

// New reads the rules. The error is that of a file that is refused.
func New(o Options) (*Daemon, error) {
	set, err := o.Load()
	if err != nil {
		return nil, err
	}
	if err := o.Machine.Use(set); err != nil {
		return nil, err
	}
	return &Daemon{o: o, set: set, engine: rules.New(set, o.Limits), delayed: newDelayed(), began: map[kernel.TID]time.Duration{}, kept: map[kernel.TID]*kept{}, told: map[string]bool{}, start: time.Now(), origin: kernel.Monotonic()}, nil
}

// now is kernel.Monotonic without a system call.
func (d *Daemon) now() time.Duration { return d.origin + time.Since(d.start) }

// Rules is how many there are.
func (d *Daemon) Rules() int { return len(d.set.Rules) }

// Stats are the engine's.
func (d *Daemon) Stats() rules.Stats { return d.engine.Stats() }

// Run applies rules until ctx ends, which is no error.
func (d *Daemon) Run(ctx context.Context) error {
	defer d.stopSearch()
	defer d.stopFollowing()
	for ctx.Err() == nil {
		select {
		case <-d.o.Reload:
			d.reload()
		default:
		}
		if err := d.scan(); err != nil {
			return err
		}
		for _, e := range d.delayed.due(d.now()) {
			d.meet(e)
		}
		d.apply(ctx)
		d.lookAgain(ctx)
		d.reapply(ctx)
		d.lookForCPUs(ctx)
		d.seek(ctx)
		d.deliver(ctx)
		events, lost, err := d.o.Source.Read(d.events[:0], d.wait())
		if err != nil {
			return err
		}
		d.events = events
		if lost > 0 {
			d.note(Lost, "%d or more events of processes were lost; all processes are looked at instead", lost)
			d.scanned = -rescanEvery
		}
		d.take(events)
	}
	return nil
}

// wait is how long there is nothing to do but for events.
func (d *Daemon) wait() time.Duration {
	wait := lookEvery
	if len(d.later) > 0 {
		wait = d.again
	}
	now := d.now()
	if at, ok := d.delayed.next(); ok {
		wait = min(wait, at-now)
	}
	if until, waits := d.engine.Wait(now); waits {
		wait = min(wait, until)
	}
	return max(0, wait)
}

// take gives events to the engine, in their order.
func (d *Daemon) take(events []kernel.ProcEvent) {
	for _, e := range events {
		switch {
		case e.PID == d.o.Self:
		case e.Kind == kernel.EventExit:
			d.delayed.drop(e.PID)
			delete(d.began, e.PID)
			d.engine.Exit(e.PID, e.StartNs, e.At)
		case e.Kind == kernel.EventExec:
			d.delayed.drop(e.PID)
			d.meet(e)
		default:
			d.delayed.add(e)
		}
	}
}

// meet reads a process that an event is about.
func (d *Daemon) meet(e kernel.ProcEvent) {
	if e.Comm != "" && !d.engine.Cares(e.PID, e.Comm) {
		return
	}
	t, err := d.o.Machine.Process(e)
	if err != nil {
		d.note(Trouble, "process %d could not be read: %v", e.PID, err)
		return
	}
	if t == nil || e.StartNs != 0 && e.StartNs/tickNs != t.StartTicks { // it has ended; its number may be another's
		return
	}
	before := d.engine.Stats().Queued
	d.tell(t, d.engine.Exec(t, e.StartNs, e.At))
	if d.engine.Stats().Queued > before {
		d.began[e.PID] = e.At
	}
}

// tickNs is a tick of USER_HZ, the unit of sample.Task.StartTicks.
const tickNs = 10_000_000

// tell reports a conflict, once for each pair of rules.
func (d *Daemon) tell(t *sample.Task, conflict error) {
	if conflict == nil || d.told[conflict.Error()] {
		return
	}
	d.told[conflict.Error()] = true
	d.note(Conflict, "%s %d gets no rule, nor do others like it: %v", t.ID.Comm, t.TID, conflict)
}

// scan reads all processes when that is due.
func (d *Daemon) scan() error {
	now, every := d.now(), rescanEvery
	if d.set.Triggers() || d.set.Places() {
		every = sampleEvery
	}
	if !d.o.Source.Complete() {
		every = min(every, scanEvery)
	}
	if !d.engine.NeedsScan() && now-d.scanned < every {
		return nil
	}
	m, err := d.o.Machine.Read()
	if err != nil {
		return fmt.Errorf("look at the processes: %w", err)
	}
	now = d.now()
	d.scanned = now
	tasks := make([]*sample.Task, 0, len(m.Sample.Tasks))
	for _, t := range m.Sample.Tasks {
		if t.TGID != d.o.Self {
			tasks = append(tasks, t)
		}
	}
	d.engine.Scan(tasks, now)
	if m.Elapsed > 0 {
		d.engine.Sample(m, now)
	}
	return nil
}

// apply carries out what is due.
func (d *Daemon) apply(ctx context.Context) {
	for ctx.Err() == nil {
		batch := d.later
		for len(batch) < largestBatch {
			decision, ok := d.engine.Next(d.now())
			if !ok {
				break
			}
			if decision.Rule.Place == rules.PlaceAuto {
				d.want(decision)
			}
			if decision.Rule.Follows() {
				d.follow(decision)
			}
			if decision.Rule.States() {
				batch = append(batch, decision)
			}
		}
		if len(batch) == 0 {
			return
		}
		var effects []Effect
		var why error
		effects, d.later, why = d.o.Applier.Apply(ctx, batch)
		now := d.now()
		for i := range effects {
			if at, ok := d.began[effects[i].PID]; ok {
				effects[i].Took = now - at
				delete(d.began, effects[i].PID)
			}
			d.o.Report(Report{Effect: &effects[i]})
			d.keep(effects[i])
			if effects[i].Status == Done {
				d.seconds = append(d.seconds, second{effects[i], now + secondAfter})
			}
		}
		if why == nil {
			d.again = 0
			continue
		}
		if d.again == againFirst && !errors.Is(why, journal.ErrBusy) { // the second time in a row
			d.note(Trouble, "%v; %d processes wait for their rules", why, len(d.later))
		}
		d.again = min(max(2*d.again, againFirst), againLast)
		return
	}
}

// reload reads the rules again. A file that is refused changes nothing.
func (d *Daemon) reload() {
	set, err := d.o.Load()
	if err == nil {
		err = d.o.Machine.Use(set)
	}
	if err != nil {
		d.note(Refused, "%v; the %d rules of before stay in force", err, len(d.set.Rules))
		return
	}
	d.set = set
	clear(d.told)
	d.engine.Reload(set)
	d.note(Reloaded, "%d rules are in force", len(set.Rules))
}

func (d *Daemon) note(kind NoteKind, format string, args ...any) {
	d.o.Report(Report{Kind: kind, Note: fmt.Sprintf(format, args...)})
}
