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
	"piton/internal/model"
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
	if m.deps.Partition == nil {
		return m.say(bad, "isolate: not available in this session")
	}
	return m.begin(&isolateWish{about: about{what: "isolate", subject: cpuWords(cpus), whole: true, then: then}, cpus: cpus, partition: m.deps.Partition})
}

// isolateWish moves everything off CPUs; includeWish lets what was moved off them use
// them again.
type (
	isolateWish struct {
		about
		cpus      cpuset.Set
		partition Partition
		apart     partition.Isolation // once planned
	}
	includeWish struct {
		about
		cpus      cpuset.Set
		partition Partition
	}
)

func (w *isolateWish) plan(ctx context.Context, _ Tuning, _ *model.Model) (p proposal) {
	p.plan, w.apart, p.err = w.partition.Isolate(ctx, w.cpus)
	p.more = stayingLines(w.apart)
	return p
}

func (w *isolateWish) order() change.Order { return change.Order{Isolate: w.cpus.String()} }

func (w *isolateWish) sentence(o change.Outcome) string {
	text := fmt.Sprintf("isolate: %s moved off %s", dialog.Who(only(o.Changes, attr.Done)), cpuWords(w.cpus))
	if n := len(w.apart.Staying); n > 0 {
		text += fmt.Sprintf("; %d stay: the ledger of the CPU in the cores view lists them", n)
	}
	return text
}

// include lets what was moved off the chosen CPUs use them again.
func (m *Model) include() tea.Cmd {
	if m.deps.Partition == nil {
		return m.say(bad, "include: not available in this session")
	}
	cpus := m.chosenCPUs()
	return m.begin(includeWish{about{what: "include", subject: cpuWords(cpus), whole: true}, cpus, m.deps.Partition})
}

func (w includeWish) plan(ctx context.Context, _ Tuning, _ *model.Model) (p proposal) {
	p.plan, p.err = w.partition.Include(ctx, w.cpus, false)
	return p
}

func (w includeWish) order() change.Order { return change.Order{Include: w.cpus.String()} }

func (w includeWish) sentence(o change.Outcome) string {
	return fmt.Sprintf("include: %s may use %s again", dialog.Who(only(o.Changes, attr.Done)), cpuWords(w.cpus))
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
				return m.begin(tune("place", p.subject, p.targets,
					action.Tuning{Set: []attr.Setting{attr.SetAffinity(cpus)}, Reason: "on CPUs isolated for it"}))
			})
		})
	}
}
