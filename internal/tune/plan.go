package tune

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"

	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// follow is a target whose threads are looked for again while a plan is
// applied, because new ones may appear at any time.
type follow struct {
	target     Target
	attributes []Attribute
	asked      []wanted // of attributes; an undo has none
	// inherited: only threads that have the value which the plan takes back are
	// concerned (undo); otherwise every new thread is.
	inherited bool
}

// planner builds one Plan.
type planner struct {
	t     *resolver
	plan  Plan
	index map[changeKey]int // into plan.Changes, so that the last request wins
	warns map[string]bool
	// restore is that of the request which is planned now.
	restore bool
	fresh   uint64 // the core-scheduling cookie made for this plan, 0 = none yet
	bounds
}

func (t *Tuner) planner() *planner {
	return &planner{
		t: &resolver{Tuner: t}, index: map[changeKey]int{}, warns: map[string]bool{}, bounds: t.bounds(),
	}
}

type changeKey struct {
	taskID
	attribute Attribute
	path      string
}

func (c Change) key() changeKey { return changeKey{taskID{c.TID, c.StartTicks}, c.Attribute, c.Path} }

// Plan finds out what the requests would change, and changes nothing. Targets
// that are gone and changes that cannot succeed are in the Plan as Refused. The
// error is a UsageError for settings that are none, ErrNotLive, the context's,
// or says that /proc could not be read.
func (t *Tuner) Plan(ctx context.Context, requests []Request) (Plan, error) {
	if !t.o.Proc.Live() {
		return Plan{}, ErrNotLive
	}
	p := t.planner()
	p.plan.Requests = requests
	for _, r := range requests {
		for _, f := range r.Files {
			if err := errors.Join(ctx.Err(), p.file(f)); err != nil {
				return Plan{}, err
			}
		}
		if len(r.Targets) == 0 && len(r.Files) > 0 {
			continue
		}
		settings, err := r.Settings.list()
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
	p.caution()
	return p.plan, nil
}

func (p *planner) target(target Target, settings []wanted) error {
	if target.TID <= 0 {
		return usagef("%d is not the number of a process or thread", target.TID)
	}
	tasks, target, err := p.t.resolve(target)
	if errors.Is(err, ErrGone) {
		p.gone(target, settings, err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at %d: %w", target.TID, err)
	}
	f := follow{target: target}
	for _, w := range settings {
		if !attributes[w.attribute].process {
			f.attributes, f.asked = append(f.attributes, w.attribute), append(f.asked, w)
		} else if target.Scope == ScopeThread && tasks[0].tid != tasks[0].pid {
			return usagef("%s belongs to the whole process %d, not to its thread %d", w.attribute, tasks[0].pid, target.TID)
		}
	}
	if target.Scope != ScopeThread && len(f.attributes) > 0 {
		p.plan.follow = append(p.plan.follow, f)
	}
	found := false
	alive := living(tasks)
	p.plan.Changes = slices.Grow(p.plan.Changes, len(alive)*len(settings))
	for _, k := range alive {
		found = p.task(k, settings) || found
	}
	if !found {
		p.gone(target, settings, fmt.Errorf("%d: %w", target.TID, ErrGone))
	}
	return nil
}

// living leaves out threads and children that have ended but are still listed,
// unless nothing else is left.
func living(tasks []task) []task {
	out := make([]task, 0, len(tasks))
	for _, k := range tasks {
		if !ended(k.state) {
			out = append(out, k)
		}
	}
	if len(out) == 0 {
		return tasks[:1]
	}
	return out
}

func (p *planner) gone(target Target, settings []wanted, err error) {
	reason := fmt.Sprintf("there is no process or thread %d", target.TID)
	if target.StartTicks != 0 {
		reason = fmt.Sprintf("%d has ended", target.TID)
	}
	for _, w := range settings {
		p.add(Change{
			PID: target.TID, TID: target.TID, StartTicks: target.StartTicks,
			Attribute: w.attribute, After: w.value, Status: Refused, Err: err, Reason: reason,
		})
	}
}

// task plans every setting of one thread, unless it ends meanwhile: then it
// reports false.
func (p *planner) task(k task, settings []wanted) bool {
	var changes []Change
	for _, w := range settings {
		if attributes[w.attribute].process && k.tid != k.pid {
			continue
		}
		c := Change{
			PID: k.pid, TID: k.tid, StartTicks: k.startTicks, Comm: k.comm,
			Attribute: w.attribute, After: w.value, Status: Planned,
		}
		before, err := p.t.read(c)
		c.Before = before
		switch {
		case errors.Is(err, syscall.ESRCH):
			return false
		case ended(k.state):
			refuse(&c, "it is a zombie: it has ended and waits for its parent to collect it, so nothing of it will ever run")
		case err != nil:
			c.Status, c.Err = Refused, p.t.markOf(c, err)
			c.Reason = p.t.explain(c, err)
		case before == w.value:
			c.Status = Unchanged
		default:
			p.prepare(k, &c)
			c.unbound = p.restore && c.Status == Planned && p.unbound(c)
		}
		changes = append(changes, c)
	}
	for _, c := range inOrder(changes) {
		p.add(c)
	}
	return true
}

// inOrder puts the policy first for a task that is DEADLINE now: until it is
// something else, its affinity cannot be changed (EBUSY, sched(7)).
func inOrder(changes []Change) []Change {
	i := slices.IndexFunc(changes, func(c Change) bool {
		return c.Attribute == Policy && policyOf(c.Before) == kernel.Deadline
	})
	if i > 0 {
		policy := changes[i]
		changes = slices.Insert(slices.Delete(changes, i, i+1), 0, policy)
	}
	return changes
}

func policyOf(value string) kernel.Policy {
	attr, err := parsePolicy(value)
	if err != nil {
		return kernel.Other
	}
	return attr.Policy
}

func ended(state byte) bool { return state == 'Z' || state == 'X' }

func refuse(c *Change, format string, args ...any) {
	c.Status, c.Reason = Refused, fmt.Sprintf(format, args...)
}

func (p *planner) add(c Change) {
	key := c.key()
	if i, ok := p.index[key]; ok {
		p.plan.Changes[i] = c
		return
	}
	p.index[key] = len(p.plan.Changes)
	p.plan.Changes = append(p.plan.Changes, c)
}

func (p *planner) warn(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !p.warns[text] {
		p.warns[text] = true
		p.plan.Warnings = append(p.plan.Warnings, text)
	}
}

// affinity refuses masks that the kernel is known to refuse, and warns of those
// that it will cut.
func (p *planner) affinity(k task, c *Change) {
	if p.withLine(k, c) {
		return
	}
	if k.flags&flagNoSetAffinity != 0 {
		refuse(c, "%s", unmovable(k.comm))
		return
	}
	want, _ := cpuset.Parse(c.After)
	now, _ := cpuset.Parse(c.Before)
	if want.SubsetOf(now) {
		return // inside what it may use already, so nothing is cut
	}
	online, err := p.online()
	if err == nil && want.And(online).Empty() {
		refuse(c, "%s", absent(want, online))
		return
	}
	if err == nil && !want.SubsetOf(online) {
		p.warn("%s; the kernel leaves out what is not", absent(want.AndNot(online), online))
	}
	l := p.cpuset(k.pid)
	if l.err != nil || want.And(online).SubsetOf(l.cpus) {
		return
	}
	if want.And(l.cpus).Empty() {
		p.warn("cgroup %s allows %d only %s: the kernel will refuse %s", l.cgroup, k.pid, l.cpus.InWords(), want.InWords())
		return
	}
	p.warn("cgroup %s allows %d only %s: the kernel will cut %s to %s", l.cgroup, k.pid, l.cpus.InWords(), want, want.And(l.cpus))
}
