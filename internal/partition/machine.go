package partition

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/change/journal"
	"piton/internal/cpuset"
)

// Machine plans for the machine that piton runs on. Its Tuner carries the plans out
// like any other; under the lock they are made again.
type Machine struct {
	Tuner *change.Tuner // without a journal nothing is known of earlier isolates
	// Look reads the machine; nil = this one.
	Look func() (Facts, error)
}

// reader reads the machine again and again.
func (m Machine) reader() func() (Facts, error) {
	if m.Look != nil {
		return m.Look
	}
	return newReader().read
}

// Isolate plans to isolate CPUs, and says what will keep them all the same. A plan
// that changes anything needs confirmation. The error is an Error if the CPUs cannot be
// isolated.
func (m Machine) Isolate(ctx context.Context, cpus cpuset.Set) (change.Plan, Isolation, error) {
	read := m.reader()
	entries, _, err := m.Tuner.Entries()
	if err != nil {
		return change.Plan{}, Isolation{}, err
	}
	past := Past(entries)
	s := isolating{m, cpus, past.Apart(), read}
	f, out, err := s.look()
	if err != nil {
		return change.Plan{}, out, err
	}
	plan, err := m.Tuner.Plan(ctx, out.Requests)
	if err != nil {
		return plan, out, err
	}
	plan.Origin = journal.Origin{Kind: journal.ByIsolate, CPUs: cpus}
	plan.Changes = out.cede(living(plan.Changes))
	plan.Sweep, plan.AtTicks = s, f.Ticks
	f.warn(&plan)
	plan.Need(change.Isolation, "isolating %s leaves %s for everything else, this screen and the SSH line included",
		cpus.InWords(), out.Rest.InWords())
	return plan, out, nil
}

// isolating is the Sweep of a plan that isolates CPUs.
type isolating struct {
	Machine
	cpus, apart cpuset.Set
	read        func() (Facts, error)
}

func (s isolating) look() (Facts, Isolation, error) {
	f, err := s.read()
	if err != nil {
		return f, Isolation{}, err
	}
	f.Reserved, f.Limit = f.Reserved.Or(s.apart), s.Tuner.Cpuset
	out, err := Isolate(f, s.cpus)
	return f, out, err
}

func (s isolating) Again(ctx context.Context, _ change.Plan) (change.Plan, error) {
	plan, _, err := s.Isolate(ctx, s.cpus)
	return plan, err
}

func (s isolating) More(context.Context) ([]change.Request, error) {
	_, out, err := s.look()
	return out.Requests, err
}

// warn says what the plan does not touch.
func (f *Facts) warn(plan *change.Plan) {
	if f.NoIRQs != nil {
		plan.Warnings = append(plan.Warnings, change.Note(fmt.Sprintf("interrupts are left alone: %v", f.NoIRQs)))
	}
}

// living leaves out tasks that have ended since they were looked at: an isolate
// is for whatever is there.
func living(changes []change.Change) []change.Change {
	return slices.DeleteFunc(changes, func(c change.Change) bool { return c.Status == attr.Refused && c.Gone() })
}

// cede takes the changes that this machine does not support, managed interrupts
// above all, out of a plan or a result: they are what stays, and no failure.
func (i *Isolation) cede(changes []change.Change) []change.Change {
	return slices.DeleteFunc(changes, func(c change.Change) bool {
		if c.Status != attr.Refused && c.Status != attr.Failed || !errors.Is(c.Err, attr.ErrNotSupported) {
			return false
		}
		s := Immovable{Kind: KindMask, Path: c.Path, Name: c.Name, CPUs: attr.CPUs(c.Before).And(i.CPUs), Why: c.Reason}
		if _, err := fmt.Sscanf(c.Path, "/proc/irq/%d/", &s.Number); err == nil {
			s.Kind, s.Path = KindIRQ, ""
		}
		i.Immovable = append(i.Immovable, s)
		return true
	})
}

// Settle looks at the machine again once the plan was carried out: what could not be
// moved goes from the outcome to what stays, which is brought up to date, and
// what has come meanwhile is in it.
func (m Machine) Settle(out *Isolation, outcome *change.Outcome) error {
	f, err := m.reader()()
	if err != nil {
		return err
	}
	f.Reserved, f.Limit = f.Online.AndNot(out.CPUs).AndNot(out.Rest), m.Tuner.Cpuset
	now, err := Isolate(f, out.CPUs)
	if err != nil {
		return err
	}
	outcome.Changes = now.cede(outcome.Changes)
	*out = now
	return nil
}

// Include plans to include isolated CPUs again, as the package's Include does. The
// error is an Error if there is nothing to restore.
func (m Machine) Include(ctx context.Context, cpus cpuset.Set, force bool) (plan change.Plan, err error) {
	entries, _, err := m.Tuner.Entries() // whoever shows the journal reports its damaged lines
	if err != nil {
		return plan, err
	}
	s := including{m, cpus, pastFor(entries, cpus, force), force, m.reader()}
	f, out, err := s.look()
	if err == nil && len(out.Undo) > 0 {
		plan, err = m.Tuner.PlanUndo(ctx, change.UndoRequest{IDs: out.Undo, Force: force})
	}
	if err != nil {
		return plan, err
	}
	more, err := m.Tuner.Plan(ctx, out.Requests)
	if err != nil {
		return plan, err
	}
	merge(&plan, more)
	plan.Origin = journal.Origin{Kind: journal.ByInclude, CPUs: cpus}
	plan.Changes = append(plan.Changes, out.Refused...)
	f.warn(&plan)
	for _, n := range out.Notes {
		plan.Warnings = append(plan.Warnings, change.Note(n))
	}
	plan.Sweep, plan.AtTicks = s, f.Ticks
	return plan, nil
}

// including is the Sweep of a plan that includes CPUs.
type including struct {
	Machine
	cpus  cpuset.Set
	past  History
	force bool
	read  func() (Facts, error)
}

func (s including) look() (Facts, Inclusion, error) {
	f, err := s.read()
	if err != nil {
		return f, Inclusion{}, err
	}
	out, err := Include(f, s.cpus, s.past, s.force)
	return f, out, err
}

func (s including) Again(ctx context.Context, _ change.Plan) (change.Plan, error) {
	return s.Include(ctx, s.cpus, s.force)
}

func (s including) More(context.Context) ([]change.Request, error) {
	_, out, err := s.look()
	if _, notThere := errors.AsType[Error](err); notThere {
		err = nil // nothing is left to restore
	}
	return out.Requests, err
}

// merge adds a plan to that of an undo; where both are about the same, the added
// one knows more.
func merge(plan *change.Plan, more change.Plan) {
	plan.Requests = append(plan.Requests, more.Requests...)
	plan.Warnings = append(plan.Warnings, more.Warnings...)
	for _, c := range living(more.Changes) {
		i := slices.IndexFunc(plan.Changes, func(o change.Change) bool { return o.Key() == c.Key() })
		if i < 0 {
			plan.Changes = append(plan.Changes, c)
		} else {
			plan.Changes[i] = c
		}
	}
}

// Look reads the Facts without Limit, for Watcher.Report.
func Look() (Facts, error) { return newReader().read() }
