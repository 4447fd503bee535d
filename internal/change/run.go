package change

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"piton/internal/change/attr"
	"piton/internal/change/defect"
	"piton/internal/change/journal"
	"piton/internal/kernel"
)

const (
	// lockWait bounds the wait for another piton of the same user.
	lockWait = 10 * time.Second
	// guardWait is that of a guard: a holder that gets no CPU, because of what is to
	// be reverted, would keep it for ever.
	guardWait = 250 * time.Millisecond
	// daemonWait is that of a piton that has other things to do meanwhile.
	daemonWait = 2 * time.Millisecond
)

// run is one Apply.
type run struct {
	t            *Tuner
	confirmation Confirmation
	plan         *Plan
	result       Outcome
	at           uint64 // when its tasks had not been looked at yet, USER_HZ since boot; 0 = not known
	holds        map[attr.ID]kernel.Process
	known        map[kernel.TID]bool     // threads of which something has been handled
	handled      map[attr.Key]bool       // what of them, and which files
	planned      map[attr.Key]attr.Value // the values that were to be set
	begun        map[attr.Key]bool       // what of them is recorded as about to be done
	starts       map[kernel.TID]uint64   // of the plan's processes, in ticks
	later        map[kernel.TID]uint64   // of processes that got the number of one of those
	alone        map[kernel.TID]bool     // threads that were asked for by themselves
	warned       map[string]bool
	trying       bool                // the changes are those of a Trial that is under way
	stuck        map[string]bool     // files of interrupt lines that could not be moved: their threads stay as well
	named        map[kernel.TID]bool // processes that a target names
	missed       error               // why the last pass could not look at a thread
	tried        string              // what a trial found out, in words
	made         uint64              // when the planned changes had been made, USER_HZ since boot; 0 = not known

	free   func()       // gives the lock back during a trial,
	relock func() error // and takes it again
}

// Apply carries a plan out, under the user's lock: it records what it is
// about to change, makes the changes one by one, reads each back, and looks again
// for threads that appeared meanwhile. One failure does not stop the rest; each
// Change of the Outcome says what became of it. With Confirmation.RevertAfter a guard is
// armed first, and without one nothing is changed.
//
// Apply fails as a whole, with nothing changed, when the journal cannot be written,
// the confirmation does not cover the plan (ErrNeedsConfirmation), another piton holds the
// lock (journal.ErrBusy) or there is no write side (ErrReadOnly); and half way when
// the context ends or a guard has begun to revert.
func (t *Tuner) Apply(ctx context.Context, plan Plan, confirmation Confirmation) (Outcome, error) {
	return t.apply(ctx, plan, confirmation, nil)
}

func (t *Tuner) apply(ctx context.Context, plan Plan, confirmation Confirmation, try Try) (Outcome, error) {
	if t.o.Writer == nil || t.o.FileWriter == nil {
		return Outcome{}, ErrReadOnly
	}
	if err := confirmation.Check(plan); err != nil {
		return Outcome{}, err
	}
	if confirmation.RevertAfter > 0 && len(plan.Undoes) > 0 {
		return Outcome{}, attr.Usagef("--revert-after is for changes; an undo is not reverted by itself")
	}
	if trial := plan.candidates != nil; trial != (try != nil) || trial && confirmation.RevertAfter == 0 {
		return Outcome{}, attr.Usagef("a trial is made by Try, of a plan of its own, and under a guard only")
	}
	release, err := t.lock(plan)
	if err != nil {
		return Outcome{}, err
	}
	defer func() { release() }()
	warnings := plan.Warnings
	if plan, err = t.again(ctx, plan); err != nil {
		return Outcome{Warnings: warnings}, err
	}
	if err := confirmation.Check(plan); err != nil {
		return Outcome{}, err
	}
	r := t.run(&plan)
	if r.confirmation = confirmation; confirmation.RevertAfter > 0 { // what could not be undone is refused, for that reason
		r.result.Warnings = slices.DeleteFunc(r.result.Warnings, func(w Warning) bool { return w.Kind == attr.OneWay })
	}
	r.free = func() { release(); release = func() {} }
	r.relock = func() (err error) {
		again, err := t.lock(plan)
		if err == nil {
			release = again
		}
		return err
	}
	defer r.release()
	for i := range r.result.Changes {
		if plan.holds[r.result.Changes[i].ID()] == nil { // else it is held, and was read just now
			r.refresh(&r.result.Changes[i])
		}
	}
	if err := r.refuseDuringTrial(r.result.Changes); err != nil {
		return Outcome{}, err
	}
	if confirmation.RevertAfter > 0 && len(attr.Only(r.result.Changes, attr.Planned)) > 0 {
		if r.result.Guard, err = t.arm(confirmation.RevertAfter); err != nil {
			return Outcome{}, err
		}
	}
	if err := r.begin(); err != nil {
		return Outcome{}, errors.Join(err, r.cancelGuard())
	}
	if try == nil {
		err = r.make(ctx, r.result.Changes)
	} else if r.result.Guard != nil {
		err = r.try(ctx, try)
	}
	if err == nil && try == nil && !r.singles() {
		r.made = t.Ticks()
		err = r.catchNewThreads(ctx)
	}
	if err == nil && !r.result.Unsettled { // else it is not known what new threads have
		err = r.endGuards(ctx)
	}
	over := try == nil || !r.result.Unsettled // else an end would say that nothing is left of the trial
	if over && !errors.Is(err, ErrUndone) {
		if late := r.end(); err == nil {
			err = late
		}
	}
	switch {
	case errors.Is(err, ErrTooLate):
		_ = r.cancelGuard() // with the same error
	case r.result.Guard != nil && !r.result.Changed():
		err = errors.Join(err, r.cancelGuard())
	}
	if late := r.result.Unrecorded; late != nil && !r.result.Changed() {
		r.result.Unrecorded = nil
		r.warn(fmt.Sprintf("nothing was changed, and the journal could not be written: %v", late))
	}
	return r.result, err
}

// endGuards ends the guards of what is undone. One that had begun to revert, or has ended meanwhile, may
// have written what older entries had left, which are undone as well.
func (r *run) endGuards(ctx context.Context) error {
	r.result.Undone = r.undone()
	if len(r.result.Undone) == 0 || r.t.o.Guards == nil {
		return nil
	}
	idle, err := r.t.o.Guards.Undone(r.result.Undone)
	if err != nil {
		r.warn(fmt.Sprintf("a guard may revert it once more: %v", err))
	}
	came := func(id uint64) bool { return slices.Contains(r.result.Undone, id) && !slices.Contains(idle, id) }
	if !slices.ContainsFunc(r.plan.guarded, came) {
		return nil
	}
	err = nil
	for scan, changed := 0, true; changed && err == nil && scan < passesMost; scan++ { // threads are born meanwhile
		changed, err = r.additional(ctx, func(Change) bool { return true }, r.inForce)
	}
	if r.result.Undone = r.undone(); err != nil {
		r.result.Undone = nil // what the guard has made of it was not looked at
	}
	return err
}

func (t *Tuner) run(plan *Plan) *run {
	t.CheckOffline()
	r := &run{
		t: t, plan: plan, at: t.Ticks(), holds: map[attr.ID]kernel.Process{}, known: map[kernel.TID]bool{}, handled: map[attr.Key]bool{}, begun: map[attr.Key]bool{}, planned: map[attr.Key]attr.Value{}, starts: map[kernel.TID]uint64{}, later: map[kernel.TID]uint64{}, alone: map[kernel.TID]bool{},
		warned: map[string]bool{}, stuck: map[string]bool{}, named: map[kernel.TID]bool{},
	}
	if plan.holds != nil {
		r.holds = plan.holds
	}
	r.result.Changes = slices.Clone(plan.Changes)
	r.result.Warnings = append(slices.Clone(plan.Warnings), plan.dangers()...)
	r.result.Damage = plan.damage
	for _, q := range plan.Requests {
		for _, target := range q.Targets {
			r.named[target.TID] = true
			if target.Scope == ScopeThread {
				r.alone[target.TID] = true
			}
		}
	}
	for _, c := range plan.Changes {
		r.planned[c.Key()] = c.After
		r.markHandled(c)
		if !c.IsFile() && c.TID == c.PID {
			r.starts[c.PID] = c.StartTicks
		}
		r.named[c.PID] = r.named[c.PID] || r.named[c.TID]
	}
	return r
}

// lock takes the user's lock.
func (t *Tuner) lock(plan Plan) (release func(), err error) {
	if t.o.Lock == nil || defect.On(3) {
		return func() {}, nil
	}
	wait := lockWait
	switch {
	case plan.blind:
		wait = guardWait
	case t.o.Daemon:
		wait = daemonWait
	}
	release, err = t.o.Lock.Acquire(wait, t.o.Command)
	if len(plan.Undoes) > 0 && journal.Unwritable(err) { // nobody can make the file of the lock
		return func() {}, nil
	}
	if plan.blind && err != nil {
		return func() {}, nil // whoever has it is told by its own guard, which is this one, or reads back
	}
	return release, err
}

func (t *Tuner) arm(after time.Duration) (Guard, error) {
	if t.o.Guards == nil {
		return nil, errors.New("nothing was changed: there is no guard here that would revert it")
	}
	g, err := t.o.Guards.Arm(after)
	if err != nil {
		return nil, fmt.Errorf("nothing was changed, because the guard that would revert it could not be started: %w", err)
	}
	return g, nil
}

func (r *run) cancelGuard() error {
	if r.result.Guard == nil {
		return nil
	}
	g := r.result.Guard
	r.result.Guard = nil
	return g.Dismiss()
}

func (r *run) markHandled(c Change) {
	r.handled[c.Key()] = true
	if !c.IsFile() {
		r.known[c.TID] = true
	}
}

func (r *run) warn(text string) {
	if !r.warned[text] {
		r.warned[text] = true
		r.result.Warnings = append(r.result.Warnings, Note(text))
	}
}

// begin records what is about to be done. Nothing is recorded when nothing will be;
// an undo is recorded all the same, so that it is known to be one. An undo goes on
// where the disk is full: it can be done again, and then compares values.
func (r *run) begin() error {
	planned := attr.Only(r.result.Changes, attr.Planned)
	if r.t.o.Journal == nil || len(planned) == 0 && len(r.plan.Undoes) == 0 {
		return nil
	}
	r.begins(planned)
	rec := r.record(planned)
	err := r.append(&rec)
	switch {
	case err == nil:
	case len(r.plan.Undoes) > 0 && !errors.Is(err, ErrTooLate) && journal.Unwritable(err) && !defect.On(6):
		r.result.Unrecorded = err
		return nil
	default:
		r.unmade(rec)
	}
	return err
}

// unmade records that nothing was made of what was begun, if the journal has that all the same:
// the disk failed once it was written, or the guard has ended. An undo would have to guess.
func (r *run) unmade(begun journal.Record) {
	entries, _, err := r.t.o.Journal.Entries()
	if err != nil || !slices.ContainsFunc(entries, func(e Entry) bool { return e.ID == begun.ID && e.Time.Equal(begun.Time) }) {
		return
	}
	end := journal.Record{Kind: journal.End, ID: begun.ID, Changes: slices.Clone(begun.Changes)}
	for i := range end.Changes {
		end.Changes[i].Refuse("not done: piton could not begin it")
	}
	_, _ = r.t.o.Journal.Append(&end)
}

func (r *run) begins(planned []Change) {
	for _, c := range planned {
		r.begun[c.Key()] = true
	}
}

func (r *run) record(changes []Change) journal.Record {
	out := journal.Record{
		Kind: journal.Begin, User: r.t.o.User, Command: r.t.o.Command, Undoes: r.plan.Undoes, Ticks: r.at,
	}
	out.Changes = changes
	out.Origin, out.Sweep = r.plan.Origin, r.plan.AtTicks
	switch out.Origin.Kind = cmp.Or(r.plan.Origin.Kind, r.plan.kind()); {
	case defect.On(16):
		out.Origin.Kind = journal.ByUser
	case r.t.o.Rules && out.Origin.Kind == journal.ByUser:
		out.Origin.Kind = journal.ByRule
	case r.t.o.Rules && out.Origin.Kind == journal.ByTrial:
		out.Origin.Rule = true
	}
	for _, f := range r.plan.follow {
		out.Targets = append(out.Targets, f.target)
	}
	reasons := slices.DeleteFunc([]string{r.plan.Reason}, func(why string) bool { return why == "" })
	for _, q := range r.plan.Requests {
		if q.Reason != "" && !slices.Contains(reasons, q.Reason) {
			reasons = append(reasons, q.Reason)
		}
	}
	out.Reason = strings.Join(reasons, "; ")
	return out
}

// append writes a record, and tells the guard.
func (r *run) append(rec *journal.Record) error {
	line, err := r.t.o.Journal.Append(rec)
	if err != nil && rec.Kind == journal.End { // a guard needs no disk
		rec.Last = max(rec.Last, rec.ID)
		line, _ = rec.Line()
	} else if err != nil {
		return err
	}
	r.result.Entry = rec.ID
	if r.result.Guard == nil {
		return err
	}
	if guardErr := r.result.Guard.Tell(line); guardErr != nil {
		err = errors.Join(err, fmt.Errorf("tell the guard: %w", guardErr))
	}
	return err
}

// more records changes to tasks that were not there when it began.
func (r *run) more(changes []Change) error {
	if r.t.o.Journal == nil || len(changes) == 0 || r.result.Unrecorded != nil {
		return nil
	}
	r.begins(changes)
	if r.result.Entry == 0 {
		rec := r.record(changes)
		return r.append(&rec)
	}
	rec := journal.Record{Kind: journal.More, ID: r.result.Entry}
	rec.Changes = changes
	return r.append(&rec)
}

// end records what became of it. Without it, an undo compares every value with the one that
// was to be set. The error is ErrTooLate.
func (r *run) end() error {
	if r.t.o.Journal == nil || r.result.Entry == 0 {
		return nil
	}
	if defect.On(15) {
		for i := range r.result.Changes {
			if c := &r.result.Changes[i]; c.Status == attr.Failed {
				c.Status = attr.Done
			}
		}
	}
	rec := journal.Record{Kind: journal.End, ID: r.result.Entry, Undone: r.result.Undone, Reason: r.tried}
	rec.Changes = slices.DeleteFunc(slices.Clone(r.result.Changes), func(c Change) bool {
		return c.Status != attr.Done && c.Status != attr.Failed && !r.begun[c.Key()]
	})
	if r.t.o.Daemon && len(rec.Changes) == len(r.begun) && !slices.ContainsFunc(rec.Changes, func(c Change) bool { return !r.asPlanned(c) }) {
		rec.AsPlanned, rec.Changes = true, nil
	}
	err := r.append(&rec)
	if err == nil {
		err = r.t.o.Journal.Compact()
		if err != nil {
			r.warn(fmt.Sprintf("the journal could not be compacted: %v", err))
		}
		return nil
	}
	if errors.Is(err, ErrTooLate) {
		return ErrTooLate
	}
	if r.result.Changed() {
		r.result.Unrecorded = errors.Join(r.result.Unrecorded, err)
	}
	return nil
}

// asPlanned reports whether the beginning says all of a change already.
func (r *run) asPlanned(c Change) bool {
	return c.Status == attr.Done && r.begun[c.Key()] && c.Reason == "" && c.Err == nil && attr.Text(c.After) == attr.Text(r.planned[c.Key()])
}

// Record writes afterwards what became of a plan that a Tuner without a journal has
// carried out: for a machine where the threads that write to the disk get no CPU
// until that is done. It returns the number of the entry.
func (t *Tuner) Record(plan Plan, result Outcome) (uint64, error) {
	if t.o.Journal == nil {
		return 0, ErrNoJournal
	}
	r := &run{t: t, plan: &plan, result: result, warned: map[string]bool{}, at: t.Ticks()}
	r.result.Guard = nil
	rec := r.record(attr.Only(result.Changes, attr.Done, attr.Failed))
	if err := r.append(&rec); err != nil {
		return 0, err
	}
	if r.result.Undone = nil; !result.Unsettled {
		r.result.Undone = r.undone()
	}
	err := r.end()
	return r.result.Entry, errors.Join(err, r.result.Unrecorded)
}
