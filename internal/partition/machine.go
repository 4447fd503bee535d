package partition

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"piton/internal/cpuset"
	"piton/internal/topology"
	"piton/internal/tune"
)

// Machine plans for the machine that piton runs on. Its plans are applied by its
// Tuner like any other.
type Machine struct {
	Tuner   *tune.Tuner
	Journal *tune.Journal // the Tuner's; nil: nothing is known of earlier isolates
}

// Isolate plans to set CPUs apart, and says what will keep them all the same. A
// plan that changes anything has a Trial. The error is an Error if the CPUs
// cannot be isolated.
func (m Machine) Isolate(ctx context.Context, cpus cpuset.Set) (tune.Plan, Isolation, error) {
	r := newReader()
	reserved, err := m.reserved()
	if err != nil {
		return tune.Plan{}, Isolation{}, err
	}
	look := func() (Facts, Isolation, error) {
		f, err := r.read()
		if err != nil {
			return f, Isolation{}, err
		}
		f.Reserved, f.Limit = reserved, m.Tuner.Cpuset
		out, err := Isolate(f, cpus)
		return f, out, err
	}
	f, out, err := look()
	if err != nil {
		return tune.Plan{}, out, err
	}
	plan, err := m.Tuner.Plan(ctx, out.Requests)
	if err != nil {
		return plan, out, err
	}
	plan.Changes = living(plan.Changes)
	plan.Changes = out.cede(plan.Changes)
	plan.Sweep = &tune.Sweep{AtTicks: f.Ticks, Again: func(context.Context) ([]tune.Request, error) {
		_, again, err := look()
		return again.Requests, err
	}}
	if slices.ContainsFunc(plan.Changes, func(c tune.Change) bool { return c.Status == tune.Planned }) {
		plan.Trial = fmt.Sprintf("isolating %s leaves %s for everything else, this screen and the SSH line included",
			cpusText(cpus), cpusText(out.Rest))
	}
	return plan, out, nil
}

// living leaves out tasks that have ended since they were looked at: an isolate
// is for whatever is there.
func living(changes []tune.Change) []tune.Change {
	return slices.DeleteFunc(changes, func(c tune.Change) bool {
		return c.Status == tune.Refused && errors.Is(c.Err, tune.ErrGone)
	})
}

// cede takes the changes that this machine does not support, managed interrupts
// above all, out of a plan or a result: they are what stays, and no failure.
func (i *Isolation) cede(changes []tune.Change) []tune.Change {
	return slices.DeleteFunc(changes, func(c tune.Change) bool {
		if c.Status != tune.Refused && c.Status != tune.Failed || !errors.Is(c.Err, tune.ErrNotSupported) {
			return false
		}
		before, _ := cpuset.Parse(c.Before)
		s := Staying{Kind: KindMask, Path: c.Path, Name: c.Name, CPUs: before.And(i.CPUs), Why: c.Reason}
		var n int
		if _, err := fmt.Sscanf(c.Path, "/proc/irq/%d/", &n); err == nil {
			s.Kind, s.IRQ, s.Path = KindIRQ, n, ""
		}
		i.Staying = append(i.Staying, s)
		return true
	})
}

// Settle looks at the machine again once the plan was applied: what could not be
// moved goes from the result to what stays, which is brought up to date, and
// what has come meanwhile is in it.
func (m Machine) Settle(out *Isolation, result *tune.Result) error {
	f, err := newReader().read()
	if err != nil {
		return err
	}
	f.Reserved, f.Limit = f.Online.AndNot(out.CPUs).AndNot(out.Rest), m.Tuner.Cpuset
	now, err := Isolate(f, out.CPUs)
	if err != nil {
		return err
	}
	result.Changes = now.cede(result.Changes)
	*out = now
	return nil
}

// Include plans to take CPUs in again, as the package's Include does. The error
// is an Error if there is nothing to be given back.
func (m Machine) Include(ctx context.Context, cpus cpuset.Set, force bool) (tune.Plan, Inclusion, error) {
	entries, err := m.entries()
	if err != nil {
		return tune.Plan{}, Inclusion{}, err
	}
	r, past := newReader(), pastFor(entries, cpus, force)
	look := func() (Facts, Inclusion, error) {
		f, err := r.read()
		if err != nil {
			return f, Inclusion{}, err
		}
		f.Reserved, err = m.isolatedAtBoot()
		if err != nil {
			return f, Inclusion{}, err
		}
		out, err := Include(f, cpus, past, force)
		return f, out, err
	}
	f, out, err := look()
	if err != nil {
		return tune.Plan{}, out, err
	}
	var plan tune.Plan
	if len(out.Undo) > 0 {
		if plan, err = m.Tuner.PlanUndo(ctx, tune.UndoRequest{IDs: out.Undo, Force: force}); err != nil {
			return plan, out, err
		}
	}
	more, err := m.Tuner.Plan(ctx, out.Requests)
	if err != nil {
		return plan, out, err
	}
	merge(&plan, more)
	plan.Changes = append(plan.Changes, out.Refused...)
	plan.Warnings = append(plan.Warnings, out.Notes...)
	plan.Sweep = &tune.Sweep{AtTicks: f.Ticks, Again: func(context.Context) ([]tune.Request, error) {
		_, again, err := look()
		if notThere := Error(""); errors.As(err, &notThere) {
			err = nil // nothing is left to be given back
		}
		return again.Requests, err
	}}
	return plan, out, nil
}

// merge adds a plan to that of an undo; where both are about the same, the added
// one knows more.
func merge(plan *tune.Plan, more tune.Plan) {
	plan.Requests = append(plan.Requests, more.Requests...)
	plan.Warnings = append(plan.Warnings, more.Warnings...)
	for _, c := range living(more.Changes) {
		i := slices.IndexFunc(plan.Changes, func(o tune.Change) bool {
			return o.TID == c.TID && o.StartTicks == c.StartTicks && o.Path == c.Path && o.Attribute == c.Attribute
		})
		if i < 0 {
			plan.Changes = append(plan.Changes, c)
		} else {
			plan.Changes[i] = c
		}
	}
}

// Apart returns the CPUs that piton has isolated in this boot and not included
// since.
func (m Machine) Apart() (cpuset.Set, error) {
	entries, err := m.entries()
	past := Past(entries)
	return past.Apart(), err
}

func (m Machine) entries() ([]tune.Entry, error) {
	if m.Journal == nil {
		return nil, nil
	}
	entries, _, err := m.Journal.Entries() // damaged lines are told of by whoever shows the journal
	return entries, err
}

// reserved are CPUs that are no refuge.
func (m Machine) reserved() (cpuset.Set, error) {
	boot, err := m.isolatedAtBoot()
	if err != nil {
		return boot, err
	}
	apart, err := m.Apart()
	return boot.Or(apart), err
}

func (m Machine) isolatedAtBoot() (cpuset.Set, error) {
	t, err := topology.Read("/")
	if err != nil {
		return cpuset.Set{}, err
	}
	return t.Isolated, nil
}

// Look reads the Facts without Reserved and Limit, for Watcher.Report.
func Look() (Facts, error) { return newReader().read() }
