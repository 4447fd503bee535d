package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/partition"
	"piton/internal/pattern"
)

// sweepPrinter says what became of a change of the whole machine.
type sweepPrinter struct {
	*app
	o      applyOptions
	cpus   cpuset.Set
	before []stayGroup
}

// carry carries the plan out. Where it is only to be shown, or is refused, it is
// printed, and not done.
func (p *sweepPrinter) carry(ctx context.Context, t *change.Tuner, plan change.Plan) (result change.Outcome, failed error, done bool) {
	if p.o.dryRun {
		return result, p.finish(plan.Preview(), nil), false
	}
	result, failed = t.Carry(ctx, plan, p.o.consent())
	switch {
	case errors.Is(failed, change.ErrNeedsConsent):
		return result, p.finish(plan.Preview(), codeError{ExitFailed, failed}), false
	case failed != nil && len(result.Changes) == 0:
		return result, failed, false
	}
	return result, failed, true
}

// finish prints what was done, or would be, and returns the run's end.
func (p *sweepPrinter) finish(r change.Outcome, failed error) error {
	end := ended(r, failed)
	if p.o.output.value != asTable {
		return joined(p.printChanges(r, p.o, exitCode(end)), joined(p.announce(r.Guard, p.o), end))
	}
	for _, w := range r.Warnings {
		p.warn("%s", w.Text)
	}
	if err := sweepTable(r.Changes).write(p.Out); err != nil {
		return err
	}
	if r.Entry != 0 {
		p.warn("each of them is in the journal: piton journal %d", r.Entry)
	}
	return joined(p.announce(r.Guard, p.o), end)
}

// sweepGroup is changes that read the same, whatever they are of.
type sweepGroup struct {
	first change.Change
	what  []string
}

// sweepTable has a row for changes that are alike: there are thousands.
func sweepTable(changes []change.Change) *table {
	type groupKey struct {
		attribute     attr.Attribute
		before, after string
		status        attr.Status
		reason        string
	}
	var groups []*sweepGroup
	at := map[groupKey]*sweepGroup{}
	for _, c := range changes {
		why := c.Why()
		if c.Gone() {
			why, c.Before, c.After = "ended meanwhile", nil, nil
		}
		k := groupKey{c.Attribute, attr.Text(c.Before), attr.Text(c.After), c.Status, why}
		g := at[k]
		if g == nil {
			c.Reason, c.Err = why, nil
			g = &sweepGroup{first: c}
			at[k] = g
			groups = append(groups, g)
		}
		name := c.Name
		if c.Path == "" {
			name = fmt.Sprintf("%s (%d)", dash(c.Comm), c.TID)
		}
		g.what = append(g.what, name)
	}
	t := newTable("ATTRIBUTE", "BEFORE", "AFTER", "STATUS", ">NUMBER", "OF", "REASON")
	for _, g := range groups {
		c := g.first
		t.add(c.Attribute, dash(attr.Text(c.Before)), dash(attr.Text(c.After)), c.Status, len(g.what), some(g.what), c.Reason)
	}
	return t
}

// some names the first few of many.
func some(words []string) string {
	const shown = 3
	if len(words) <= shown {
		return strings.Join(words, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(words[:shown], ", "), len(words)-shown)
}

// stayGroup is things of one kind that keep CPUs for one reason.
type stayGroup struct {
	kind partition.Kind
	name string // with N for the numbers that differ
	why  string
	do   string
	cpus cpuset.Set
	n    int
}

// numbers are what tells the threads of different CPUs apart, and what a kernel
// worker serves.
var numbers = pattern.Lazy(`[0-9]+`)

func stem(s *partition.Staying) string {
	if s.Kind != partition.KindTask {
		return s.Name
	}
	name := s.Name
	switch {
	case strings.HasPrefix(name, "kworker/R-"):
		return "kworker/R-…"
	case strings.HasPrefix(name, "kworker/"):
		name, _, _ = strings.Cut(name, "-")
		name, _, _ = strings.Cut(name, "+")
	}
	return numbers().ReplaceAllString(name, "N")
}

func stayGroups(all []partition.Staying) []stayGroup {
	var groups []stayGroup
	for i := range all {
		s := &all[i]
		g := stayGroup{kind: s.Kind, name: stem(s), why: s.Why, do: s.Do}
		at := slices.IndexFunc(groups, func(o stayGroup) bool { return o.kind == g.kind && o.name == g.name && o.why == g.why })
		if at < 0 {
			at = len(groups)
			groups = append(groups, g)
		}
		groups[at].cpus = groups[at].cpus.Or(s.CPUs)
		groups[at].n++
	}
	for i := range groups {
		if groups[i].n == 1 {
			at := slices.IndexFunc(all, func(s partition.Staying) bool { return stem(&s) == groups[i].name && s.Why == groups[i].why })
			groups[i].name = all[at].Name
		}
	}
	return groups
}

// after lists what keeps the CPUs once all was done, and warns of what could have
// been moved and is there again.
func (p *sweepPrinter) after(i partition.Isolation, r change.Outcome) error {
	failed := map[kernel.TID]bool{}
	for _, c := range r.Changes {
		if c.Status == attr.Failed || c.Status == attr.Refused {
			failed[c.TID] = true
		}
	}
	again := 0
	for _, q := range i.Requests {
		for _, target := range q.Targets {
			if !failed[target.TID] {
				again++
			}
		}
	}
	if again > 0 {
		p.warn("threads that have CPUs %s again, by themselves or somebody else: %d; piton isolate %s --dry-run names them", p.cpus, again, p.cpus)
	}
	return p.staying("after", i.Staying)
}

// staying lists what keeps CPUs, before and after.
func (p *sweepPrinter) staying(when string, all []partition.Staying) error {
	switch {
	case p.o.output.json():
		return p.stayingJSON(when, all)
	case p.o.output.value == asCSV:
		return nil // one table of changes
	}
	groups := stayGroups(all)
	if when == "before" {
		p.before = groups
	} else if slices.EqualFunc(groups, p.before, func(a, b stayGroup) bool { return a.name == b.name && a.why == b.why && a.cpus.Equal(b.cpus) }) {
		return nil // nothing that was not told
	}
	heading := fmt.Sprintf("What keeps %s whatever is tried:", p.cpus.InWords())
	if when == "after" {
		heading = fmt.Sprintf("What keeps %s now:", p.cpus.InWords())
	}
	if len(groups) == 0 {
		heading = fmt.Sprintf("Nothing keeps %s.", p.cpus.InWords())
	}
	if _, err := fmt.Fprintln(p.Out, heading); err != nil || len(groups) == 0 {
		return err
	}
	t := newTable("KIND", ">NUMBER", "NAME", "CPUS", "WHY", "WHAT HELPS")
	for _, g := range groups {
		t.add(g.kind, g.n, dash(g.name), g.cpus, g.why, dash(g.do))
	}
	if err := t.write(p.Out); err != nil {
		return err
	}
	_, err := fmt.Fprintln(p.Out)
	return err
}

func (p *sweepPrinter) stayingJSON(when string, all []partition.Staying) error {
	var l line
	for _, s := range all {
		var tid, number any // null for what has none
		switch s.Kind {
		case partition.KindTask:
			tid = int(s.TID)
		case partition.KindIRQ:
			number = s.IRQ
		}
		l.start("unmovable").add("v", Version).add("when", when).add("kind", string(s.Kind)).add("tid", tid).add("irq", number)
		l.add("path", textOrNull(s.Path)).add("name", s.Name).add("cpus", s.CPUs.String()).add("why", s.Why).add("do", textOrNull(s.Do))
		if err := l.write(p.Out); err != nil {
			return err
		}
	}
	return nil
}
