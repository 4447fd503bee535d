package benchview

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"piton/internal/bench"
	"piton/internal/chart"
	"piton/internal/group"
	"piton/internal/paper"
	"piton/internal/report"
	"piton/internal/tui/dialog"
)

// Papers runs published studies.
type Papers interface {
	// Run runs them until they end or ctx does; what there is by then is returned
	// with ctx's error. remark is shown.
	Run(ctx context.Context, chosen []paper.Paper, budget time.Duration, on func(paper.Progress)) (g bench.Grid, all []bench.Results, remark string, err error)
}

// budgets are the time limits offered: the second at first, for several studies the third.
var budgets = []time.Duration{time.Minute, 5 * time.Minute, 10 * time.Minute, 30 * time.Minute}

// Reproduce asks for a published study and runs it.
func (v *View) Reproduce() tea.Cmd {
	switch {
	case v.o.Papers == nil || len(paper.Papers) == 0: // a program without the laboratory has none
		return nil
	case v.Running():
		return v.refuseSecond()
	}
	items := []dialog.Item{{Label: "all", Detail: "one after another", Value: paper.Papers}}
	for _, p := range paper.Papers {
		items = append(items, dialog.Item{Label: p.Name, Detail: p.Title, More: p.Source, Value: []paper.Paper{p}})
	}
	return v.dialogs.Push(dialog.NewMenu("Reproduce a study", items, 1), dialog.Answered(v.askBudget))
}

func (v *View) askBudget(chosen []paper.Paper) tea.Cmd {
	items := group.Each(budgets, func(b time.Duration) dialog.Item {
		return dialog.Item{Label: chart.Plural(int(b.Minutes()), "minute"), Detail: "sizes are chosen to fit", Value: b}
	})
	return v.dialogs.Push(dialog.NewMenu("Time limit", items, min(len(chosen), 2)), dialog.Answered(func(budget time.Duration) tea.Cmd {
		if v.Running() {
			return nil
		}
		return v.startPapers(chosen, budget)
	}))
}

func (v *View) startPapers(chosen []paper.Paper, budget time.Duration) tea.Cmd {
	papers, machine := v.o.Papers, v.o.Machine
	first := papersStep(paper.Progress{Paper: chosen[0].Name, Left: budget}, chosen, machine, budget)
	return v.begin(first, func(ctx context.Context, tell func(func() step)) (step, error) {
		g, all, remark, err := papers.Run(ctx, chosen, budget, func(at paper.Progress) {
			at.Result = slices.Clone(at.Result) // the run goes on appending to them
			tell(func() step { return papersStep(at, chosen, machine, budget) })
		})
		done := reproduced(g, all, chosen)
		done.sections = paper.Sections(chosen, machine, all)
		return step{study: done, remark: remark}, err
	})
}

// papersStep is how far published studies are, with the tables of the one that runs, and no answer
// yet.
func papersStep(at paper.Progress, chosen []paper.Paper, m paper.Machine, budget time.Duration) step {
	s := step{study: reproduced(at.Grid, at.Result, chosen), share: 1, now: at.Run, at: fmt.Sprintf("%s, round %d", at.Paper, at.Round),
		left: "at most " + chart.Clock(at.Left) + " left", where: "trial run, to choose sizes that fit"}
	for _, p := range chosen {
		if p.Name == at.Paper {
			s.sections = []report.Section{p.Running(m, at.Result)}
		}
	}
	if budget > 0 {
		s.share = max(1-float32(at.Left)/float32(budget), 0)
	}
	if at.Cell != "" {
		s.what, s.where = at.Cell, fmt.Sprintf("· cell %d of %d · %s", at.Cells+1, at.Of, at.Run.Placement)
	}
	return s
}

func (s *study) names() string {
	names := s.grid.Papers
	if names == nil {
		names = group.Each(s.chosen, func(p paper.Paper) string { return p.Name })
	}
	if len(names) == len(paper.Papers) {
		return "all"
	}
	return strings.Join(names, " ")
}
