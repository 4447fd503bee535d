package tui

import (
	"context"
	"errors"
	"fmt"

	tea "charm.land/bubbletea/v2"

	"piton/internal/action"
	"piton/internal/cpuset"
	"piton/internal/partition"
	"piton/internal/place"
	"piton/internal/tui/dialog"
	"piton/internal/tune"
)

// Partition sets CPUs apart; partition.Machine is the real one. It is called from
// commands, beside the screen.
type Partition interface {
	Isolate(ctx context.Context, cpus cpuset.Set) (tune.Plan, partition.Isolation, error)
	Include(ctx context.Context, cpus cpuset.Set, force bool) (tune.Plan, partition.Inclusion, error)
	Settle(out *partition.Isolation, result *tune.Result) error
}

// chosenCPUs are the ticked CPUs, or those under the panel's cursor.
func (m *Model) chosenCPUs() cpuset.Set {
	if !m.chooser.ticked.Empty() {
		return m.chooser.ticked
	}
	return m.region().CPUs
}

// isolate asks everything else to give way on the chosen CPUs.
func (m *Model) isolate() tea.Cmd { return m.isolateFor(m.chosenCPUs(), nil) }

// isolateFor isolates CPUs, and goes on with then once it is done.
func (m *Model) isolateFor(cpus cpuset.Set, then func() tea.Cmd) tea.Cmd {
	p := m.deps.Partition
	if p == nil {
		return m.say(bad, "isolate: CPUs are not set apart here")
	}
	var apart partition.Isolation
	return m.begin(job{what: "isolate", subject: cpuWords(cpus), ask: true, then: then,
		command: []string{"isolate", cpus.String()},
		prepare: func(ctx context.Context, _ Tuning) (tune.Plan, []dialog.Line, error) {
			plan, out, err := p.Isolate(ctx, cpus)
			apart = out
			return plan, stayingLines(out), err
		},
		settle: func(r *tune.Result) error { return p.Settle(&apart, r) },
		words: func(r tune.Result) string {
			text := fmt.Sprintf("isolate: %s gave way on %s", dialog.Who(only(r.Changes, tune.Done)), cpuWords(cpus))
			if n := len(apart.Staying); n > 0 {
				text += fmt.Sprintf("; %d stay, the ledger of the CPU in the cores view names them", n)
			}
			return text
		}})
}

// include gives the chosen CPUs back to what gave way.
func (m *Model) include() tea.Cmd {
	p, cpus := m.deps.Partition, m.chosenCPUs()
	if p == nil {
		return m.say(bad, "include: CPUs are not set apart here")
	}
	return m.begin(job{what: "include", subject: cpuWords(cpus), ask: true, command: []string{"include", cpus.String()},
		prepare: func(ctx context.Context, _ Tuning) (tune.Plan, []dialog.Line, error) {
			plan, _, err := p.Include(ctx, cpus, false)
			return plan, nil, err
		},
		words: func(r tune.Result) string {
			return fmt.Sprintf("include: %s may use %s again", dialog.Who(only(r.Changes, tune.Done)), cpuWords(cpus))
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
	count, names, do := map[string]int{}, map[string]string{}, map[string]string{}
	var reasons []string
	for _, s := range i.Staying {
		if count[s.Why]++; count[s.Why] == 1 {
			reasons, names[s.Why], do[s.Why] = append(reasons, s.Why), s.Name, s.Do
		}
	}
	for _, why := range reasons {
		text := "stays: " + names[why]
		if n := count[why]; n > 1 {
			text += fmt.Sprintf(" and %d more", n-1)
		}
		if text += ": " + why; do[why] != "" {
			text += "; " + do[why]
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
		if len(choices) == 0 && err == nil {
			err = errors.New("there is no CPU for it")
		}
		var cpus cpuset.Set
		for _, c := range choices {
			cpus = cpus.Or(c.CPUs)
		}
		return isolationChosen{placing: p, cpus: cpus, err: err}
	}
}

// isolationChosen goes on with isolateAndPlace once it is known which CPUs.
type isolationChosen struct {
	placing
	cpus cpuset.Set
	err  error
}

func (m *Model) takeIsolationChosen(c isolationChosen) tea.Cmd {
	if c.cpus.Empty() {
		return m.say(bad, "isolate: "+firstLine(c.err))
	}
	return m.isolateFor(c.cpus, func() tea.Cmd {
		return m.begin(job{what: "place", subject: c.subject, targets: c.targets,
			want: action.Tuning{CPUs: c.cpus, Reason: "on CPUs isolated for it"}})
	})
}
