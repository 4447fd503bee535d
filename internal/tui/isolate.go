package tui

import (
	"cmp"
	"context"
	"fmt"

	tea "charm.land/bubbletea/v2"

	"piton/internal/action"
	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/cpuset"
	"piton/internal/group"
	"piton/internal/partition"
	"piton/internal/place"
	"piton/internal/tui/dialog"
)

// Partition isolates CPUs; partition.Machine is the real one. It is called from
// commands, beside the screen.
type Partition interface {
	Isolate(ctx context.Context, cpus cpuset.Set) (change.Plan, partition.Isolation, error)
	Include(ctx context.Context, cpus cpuset.Set, force bool) (change.Plan, error)
	Settle(out *partition.Isolation, result *change.Outcome) error
}

// chosenCPUs are the ticked CPUs, or those under the panel's cursor.
func (m *Model) chosenCPUs() cpuset.Set {
	if !m.chooser.ticked.Empty() {
		return m.chooser.ticked
	}
	return m.region().CPUs
}

// isolate moves everything else off the chosen CPUs.
func (m *Model) isolate() tea.Cmd { return m.isolateFor(m.chosenCPUs(), nil) }

// isolateFor isolates CPUs, and goes on with then once it is done.
func (m *Model) isolateFor(cpus cpuset.Set, then func() tea.Cmd) tea.Cmd {
	p := m.deps.Partition
	if p == nil {
		return m.say(bad, "isolate: not available in this session")
	}
	var apart partition.Isolation
	return m.begin(job{what: "isolate", subject: cpuWords(cpus), ask: true, then: then,
		order: change.Order{Isolate: cpus.String()},
		prepare: func(ctx context.Context, _ Tuning) (change.Plan, []dialog.Line, error) {
			plan, out, err := p.Isolate(ctx, cpus)
			apart = out
			return plan, stayingLines(out), err
		},
		settle: func(r *change.Outcome) error { return p.Settle(&apart, r) },
		words: func(r change.Outcome) string {
			text := fmt.Sprintf("isolate: %s moved off %s", dialog.Who(only(r.Changes, attr.Done)), cpuWords(cpus))
			if n := len(apart.Staying); n > 0 {
				text += fmt.Sprintf("; %d stay: the ledger of the CPU in the cores view lists them", n)
			}
			return text
		}})
}

// include lets what was moved off the chosen CPUs use them again.
func (m *Model) include() tea.Cmd {
	p, cpus := m.deps.Partition, m.chosenCPUs()
	if p == nil {
		return m.say(bad, "include: not available in this session")
	}
	return m.begin(job{what: "include", subject: cpuWords(cpus), ask: true, order: change.Order{Include: cpus.String()},
		prepare: func(ctx context.Context, _ Tuning) (change.Plan, []dialog.Line, error) {
			plan, err := p.Include(ctx, cpus, false)
			return plan, nil, err
		},
		words: func(r change.Outcome) string {
			return fmt.Sprintf("include: %s may use %s again", dialog.Who(only(r.Changes, attr.Done)), cpuWords(cpus))
		}})
}

func cpuWords(cpus cpuset.Set) string {
	if cpus.Len() == 1 {
		return "cpu " + cpus.String()
	}
	return "cpus " + cpus.String()
}

// stayingLines says what keeps the CPUs, once for each reason.
func stayingLines(i partition.Isolation) []dialog.Line {
	var lines []dialog.Line
	for _, all := range group.By(i.Staying, func(s *partition.Staying) string { return s.Why }) {
		text := "stays: " + all[0].Name
		if n := len(all); n > 1 {
			text += fmt.Sprintf(" and %d more", n-1)
		}
		if text += ": " + all[0].Why; all[0].Do != "" {
			text += "; " + all[0].Do
		}
		lines = append(lines, dialog.Line{Tone: dialog.Quiet, Text: text})
	}
	return lines
}

// isolateAndPlace isolates the CPUs that place would choose for the targets, and
// then puts them there.
func (m *Model) isolateAndPlace(p placing) tea.Cmd {
	tuning, now := m.deps.Tuning, m.newest
	return func() tea.Msg {
		choices, err := tuning.Choose(now, p.targets, action.Tuning{Strategy: place.LeastLoaded})
		if len(choices) == 0 {
			return saying(bad, "isolate: "+firstLine(cmp.Or(err, errNoCPU)))
		}
		var cpus cpuset.Set
		for _, c := range choices {
			cpus = cpus.Or(c.CPUs)
		}
		return resume(func(m *Model) tea.Cmd {
			return m.isolateFor(cpus, func() tea.Cmd {
				return m.begin(job{what: "place", subject: p.subject, targets: p.targets,
					want: action.Tuning{Set: []attr.Setting{attr.SetAffinity(cpus)}, Reason: "on CPUs isolated for it"}})
			})
		})
	}
}
