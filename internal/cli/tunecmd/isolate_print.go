package tunecmd

import (
	"fmt"
	"slices"
	"strings"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/cli/app"
	"piton/internal/cli/output"
	"piton/internal/cpuset"
	"piton/internal/field"
	"piton/internal/group"
	"piton/internal/kernel"
	"piton/internal/partition"
	"piton/internal/pattern"
)

// unmovablePrinter prints what keeps the CPUs of an isolate.
type unmovablePrinter struct {
	*app.App
	o      output.Format
	cpus   cpuset.Set
	before [][]string // the rows that were printed before the change
}

// numbers in names of threads are those of CPUs, or of what a kernel worker serves.
var numbers = pattern.Lazy(`[0-9]+`)

// stem is a name with N for the numbers that differ.
func stem(s *partition.Immovable) string {
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

// unmovableTable has a row for things of one kind that keep CPUs for one reason.
func unmovableTable(all []partition.Immovable) *output.Table {
	t := output.NewTable("KIND", ">NUMBER", "NAME", "CPUS", "WHY", "REMEDY")
	for _, g := range group.By(all, func(s *partition.Immovable) [3]string { return [3]string{string(s.Kind), stem(s), s.Why} }) {
		name, cpus := stem(&g[0]), cpuset.Set{}
		if len(g) == 1 {
			name = g[0].Name
		}
		for _, s := range g {
			cpus = cpus.Or(s.CPUs)
		}
		t.Add(g[0].Kind, len(g), output.Dash(name), cpus, g[0].Why, output.Dash(g[0].Do))
	}
	return t
}

// after lists what keeps the CPUs once all was done, and warns of what could have
// been moved and is there again.
func (p *unmovablePrinter) after(i partition.Isolation, r *change.Outcome) {
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
		p.Warn("threads that were pinned to CPUs %s again, by themselves or by another: %d; piton isolate %s --dry-run lists them", p.cpus, again, p.cpus)
	}
	p.print("after", i.Immovable)
}

// print lists what keeps CPUs, before and after. CSV is one table of changes.
func (p *unmovablePrinter) print(when string, all []partition.Immovable) {
	switch {
	case p.o.JSON():
		for _, s := range all {
			unmovableList.JSON(p, unmovable{s, when})
		}
		return
	case p.o.Value == output.AsCSV:
		return
	}
	t, heading := unmovableTable(all), fmt.Sprintf("Cannot be moved off %s:", p.cpus.InWords())
	if when == "before" {
		p.before = t.Rows
	} else {
		heading = fmt.Sprintf("On %s now:", p.cpus.InWords())
		// The number of kernel workers changes by itself.
		if slices.EqualFunc(t.Rows, p.before, func(a, b []string) bool { return a[0] == b[0] && slices.Equal(a[2:], b[2:]) }) {
			return
		}
	}
	if len(t.Rows) == 0 {
		fmt.Fprintf(p, "Nothing stays on %s.\n", p.cpus.InWords())
		return
	}
	fmt.Fprintln(p, heading)
	t.Write(p)
	fmt.Fprintln(p)
}

// unmovable is what keeps CPUs, before the change or after it.
type unmovable struct {
	partition.Immovable
	when string
}

var unmovableList = output.NewList("isolate", "unmovable", "what stays on isolated CPUs",
	output.Col("when", "", output.Text, "before or after the change", func(s unmovable) any { return s.when }),
	output.Col("kind", "", output.Text, "task, irq or mask", func(s unmovable) any { return string(s.Kind) }),
	output.Col("tid", "", output.MaybeInt, "number of the task",
		func(s unmovable) any { return field.Known(s.Number, s.Kind == partition.KindTask) }),
	output.Col("irq", "", output.MaybeInt, "number of the line",
		func(s unmovable) any { return field.Known(s.Number, s.Kind == partition.KindIRQ) }),
	output.Col("path", "", output.MaybeText, "file of the mask", func(s unmovable) any { return field.NonEmpty(s.Path) }),
	output.Col("name", "", output.Text, "its name", func(s unmovable) any { return s.Name }),
	output.Col("cpus", "", output.Text, "CPUs that it keeps, a cpulist", func(s unmovable) any { return s.CPUs.String() }),
	output.Col("why", "", output.Text, "why it cannot be moved", func(s unmovable) any { return s.Why }),
	output.Col("do", "", output.MaybeText, "what helps", func(s unmovable) any { return field.NonEmpty(s.Do) }))
