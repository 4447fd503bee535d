package change

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"

	"piton/internal/change/attr"
	"piton/internal/kernel"
)

// follow is a target of a request whose threads are looked for again while the plan is
// applied, because new ones may appear at any time.
type follow struct {
	target Target
	asked  []attr.Setting
}

// planner builds one Plan.
type planner struct {
	*resolver
	view  *attr.View
	plan  Plan
	index map[attr.Key]int // into plan.Changes, so that the last request wins
	warns map[string]bool
	// restore is that of the request which is planned now.
	restore bool
}

func (t *Tuner) planner() *planner {
	p := &planner{resolver: &resolver{Tuner: t}, view: t.NewView(), index: map[attr.Key]int{}, warns: map[string]bool{}}
	p.view.Warn = p.warn
	p.view.Find = func(k attr.Key) *Change {
		if i, ok := p.index[k]; ok {
			return &p.plan.Changes[i]
		}
		return nil
	}
	return p
}

// Plan finds out what the requests would change, and changes nothing. Targets
// that are gone and changes that cannot succeed are in the Plan as Refused. The
// error is a UsageError for settings that are none, ErrNotLive, the context's,
// or says that /proc could not be read.
func (t *Tuner) Plan(ctx context.Context, requests []Request) (Plan, error) {
	if !t.Proc.Live() {
		return Plan{}, ErrNotLive
	}
	return t.planner().requests(ctx, requests)
}

func (p *planner) requests(ctx context.Context, requests []Request) (Plan, error) {
	p.plan.Order = Order{Requests: requests}
	for _, r := range requests {
		for _, f := range r.Files {
			if err := errors.Join(ctx.Err(), p.file(f)); err != nil {
				return Plan{}, err
			}
		}
		if len(r.Targets) == 0 && len(r.Files) > 0 {
			continue
		}
		settings, err := inOrder(r.Set)
		if err != nil {
			return Plan{}, err
		}
		p.restore = r.Restore
		for _, target := range r.Targets {
			if err := ctx.Err(); err != nil {
				return Plan{}, err
			}
			if err := p.target(target, settings); err != nil {
				return Plan{}, err
			}
		}
	}
	p.risk()
	return p.plan, nil
}

// inOrder checks settings and puts them in the order in which they are made.
func inOrder(set []attr.Setting) ([]attr.Setting, error) {
	if len(set) == 0 {
		return nil, attr.Usagef("nothing to set")
	}
	out := slices.Clone(set)
	for _, s := range set {
		if s.Attribute.OfFile() && !s.Attribute.OfGroup() || !s.Attribute.Known() {
			return nil, attr.Usagef("%q is not an attribute of a task", string(s.Attribute))
		}
		if _, err := s.Attribute.Parse(attr.Text(s.Value)); err != nil { // also of values that were made by hand
			return nil, err
		}
	}
	slices.SortStableFunc(out, func(a, b attr.Setting) int {
		return slices.Index(attr.All(), a.Attribute) - slices.Index(attr.All(), b.Attribute)
	})
	return out, nil
}

func (p *planner) target(target Target, settings []attr.Setting) error {
	if target.TID <= 0 {
		return attr.Usagef("%d is not the number of a process or thread", target.TID)
	}
	tasks, target, err := p.resolve(target)
	if errors.Is(err, attr.ErrGone) {
		p.gone(target, settings, err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at %d: %w", target.TID, err)
	}
	f := follow{target: target}
	if i := slices.IndexFunc(tasks, func(k attr.Task) bool { return k.TID == k.PID }); i >= 0 && tasks[i].PID == tasks[0].PID {
		f.target.TID, f.target.StartTicks = tasks[i].TID, tasks[i].StartTicks // it outlives the other threads
	}
	for _, s := range settings {
		if !s.Attribute.OfProcess() {
			f.asked = append(f.asked, s)
		} else if target.Scope == ScopeThread && tasks[0].TID != tasks[0].PID {
			return attr.Usagef("%s belongs to the whole process %d, not to its thread %d", s.Attribute, tasks[0].PID, target.TID)
		}
	}
	if target.Scope != ScopeThread && len(f.asked) > 0 {
		p.plan.follow = append(p.plan.follow, f)
	}
	found := false
	alive := living(tasks)
	p.plan.Changes = slices.Grow(p.plan.Changes, len(alive)*len(settings))
	for _, k := range alive {
		found = p.task(k, settings) || found
	}
	if !found {
		p.gone(target, settings, fmt.Errorf("%d: %w", target.TID, attr.ErrGone))
	}
	return nil
}

// living leaves out threads and children that have ended but are still listed,
// unless nothing else is left.
func living(tasks []attr.Task) []attr.Task {
	if alive := slices.DeleteFunc(slices.Clone(tasks), attr.Task.Ended); len(alive) > 0 {
		return alive
	}
	return tasks[:1]
}

func (p *planner) gone(target Target, settings []attr.Setting, err error) {
	reason := fmt.Sprintf("there is no process or thread %d", target.TID)
	if target.StartTicks != 0 {
		reason = fmt.Sprintf("%d has ended", target.TID)
	}
	for _, s := range settings {
		p.add(Change{
			Object:    attr.Object{PID: target.TID, TID: target.TID, StartTicks: target.StartTicks},
			Attribute: s.Attribute, After: s.Value, Status: attr.Refused, Err: err, Reason: reason,
		})
	}
}

// task plans every setting of one thread, unless it ends meanwhile: then it
// reports false.
func (p *planner) task(k attr.Task, settings []attr.Setting) bool {
	var changes []Change
	for _, s := range settings {
		if s.Attribute.OfProcess() && k.TID != k.PID {
			continue
		}
		c := Change{Object: k.Object(), Attribute: s.Attribute, After: s.Value, Status: attr.Planned}
		if s.Attribute.OfGroup() && !k.Ended() {
			switch err := p.group(&c); {
			case errors.Is(err, attr.ErrGone):
				return false
			case err != nil:
				changes = append(changes, c)
			}
			continue
		}
		if err := p.prepare(k, &c); errors.Is(err, syscall.ESRCH) {
			return false
		}
		c.Had = p.view.Had(k, c)
		c.Widen = p.restore && c.Status == attr.Planned && p.view.Unbound(c)
		changes = append(changes, c)
	}
	for _, c := range deadlineFirst(changes) {
		p.add(c)
	}
	return true
}

// prepare reads what the object has, and works out what becomes of the change; the zero
// Task is for a file. It returns the error of the read.
func (p *planner) prepare(k attr.Task, c *Change) error {
	before, err := p.Read(c.Attribute, c.Object)
	if err == nil {
		c.Before = before
	}
	switch {
	case k.Ended():
		c.Refuse("it is a zombie: it has ended and waits for its parent to collect it, so nothing of it will ever run")
	case err != nil:
		p.RefuseFor(c, err)
	case attr.Text(before) == attr.Text(c.After):
		c.Status = attr.Unchanged
	default:
		p.view.Prepare(k, c)
	}
	return err
}

// deadlineFirst puts the policy first for a task that is DEADLINE now: until it is
// something else, its affinity cannot be changed (EBUSY, sched(7)).
func deadlineFirst(changes []Change) []Change {
	i := slices.IndexFunc(changes, func(c Change) bool {
		return c.Attribute == attr.Policy && attr.PolicyOf(c.Before).Policy == kernel.Deadline
	})
	if i > 0 {
		policy := changes[i]
		changes = slices.Insert(slices.Delete(changes, i, i+1), 0, policy)
	}
	return changes
}

// group plans the change of the control group of a change's process, or refuses that for its error.
func (p *planner) group(c *Change) error {
	o, err := p.GroupOf(c.PID, c.Attribute)
	if gone := p.alive(*c); gone != nil { // else it may be the group of the next one with its number
		err = gone
	}
	if err == nil {
		err = p.file(attr.SetFile(c.Attribute, o.Path, o.Name, c.After))
	}
	if err = p.Mark(*c, err); err != nil {
		c.RefuseAs(err)
	}
	return err
}

// file plans the change of one file. The error is a UsageError for a setting
// that is none.
func (p *planner) file(s attr.FileSetting) error {
	if err := s.Check(); err != nil {
		return err
	}
	c := Change{Object: attr.Object{Path: s.Path, Name: s.Name}, Attribute: s.Attribute, After: s.Value, Status: attr.Planned}
	p.Identify(c.Attribute, &c.Object)
	if err := p.prepare(attr.Task{}, &c); err != nil && errors.Is(c.Err, attr.ErrGone) && c.Attribute != attr.IRQAffinity {
		c.Err = errors.Join(c.Err, attr.ErrNotSupported)
	}
	p.add(c)
	return nil
}

func (p *planner) add(c Change) {
	key := c.Key()
	if i, ok := p.index[key]; ok {
		p.plan.Changes[i] = c
		return
	}
	p.index[key] = len(p.plan.Changes)
	p.plan.Changes = append(p.plan.Changes, c)
}

func (p *planner) warn(kind attr.Warning, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !p.warns[text] {
		p.warns[text] = true
		p.plan.Warnings = append(p.plan.Warnings, Warning{kind, text})
	}
}
