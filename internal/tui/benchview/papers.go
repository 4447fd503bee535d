package benchview

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"

	"piton/internal/bench"
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

// papersRun are papers of this session. Update alone touches it, but for job.
type papersRun struct {
	chosen   []paper.Paper
	budget   time.Duration
	at       paper.Progress
	all      []bench.Results
	sections []report.Section // of the paper that runs or, at the end, of all
	remark   string
	ended    bool
	cancel   context.CancelFunc
	job      *papersJob
}

// papersJob is their share of the commands.
type papersJob struct {
	serial  int
	chosen  []paper.Paper
	machine paper.Machine
	steps   chan paper.Progress // the last one; an unread one is replaced
	started atomic.Bool
	done    chan struct{}
}

type papersStepMsg struct {
	serial   int
	at       paper.Progress
	sections []report.Section
}

type papersEndMsg struct {
	serial   int
	grid     bench.Grid
	all      []bench.Results
	sections []report.Section
	remark   string
	err      error
}

// budgets are the time limits offered.
var budgets = []time.Duration{time.Minute, 5 * time.Minute, 10 * time.Minute, 30 * time.Minute}

// allBudget is the time limit offered first for all studies.
const allBudget = 10 * time.Minute

// Reproduce asks for a published study and runs it.
func (v *View) Reproduce() tea.Cmd {
	switch {
	case v.o.Papers == nil:
		return nil
	case v.Running():
		return v.refuseSecond()
	}
	items := []dialog.Item{{Label: "all", Detail: "one after another", Value: paper.Papers}}
	for _, p := range paper.Papers {
		items = append(items, dialog.Item{Label: p.Name, Detail: p.Title, More: p.Source, Value: []paper.Paper{p}})
	}
	return v.o.Dialogs.Push(dialog.NewMenu("Reproduce a study", items, 1), dialog.Answered(v.askBudget))
}

func (v *View) askBudget(chosen []paper.Paper) tea.Cmd {
	var items []dialog.Item
	usual := 1
	for i, b := range budgets {
		items = append(items, dialog.Item{Label: fmt.Sprintf("%d minutes", int(b.Minutes())), Detail: "sizes are chosen to fit", Value: b})
		if len(chosen) > 1 && b == allBudget {
			usual = i
		}
	}
	items[0].Label = "1 minute"
	return v.o.Dialogs.Push(dialog.NewMenu("Time limit", items, usual), dialog.Answered(func(budget time.Duration) tea.Cmd {
		if v.Running() {
			return nil
		}
		return v.startPapers(chosen, budget)
	}))
}

// startPapers runs them in a command.
func (v *View) startPapers(chosen []paper.Paper, budget time.Duration) tea.Cmd {
	ctx, cancel := context.WithCancel(context.Background())
	v.serial++
	v.shown, v.failure, v.current = "", "", nil
	j := &papersJob{serial: v.serial, chosen: chosen, machine: v.o.Machine, steps: make(chan paper.Progress, 1), done: make(chan struct{})}
	v.papers = &papersRun{chosen: chosen, budget: budget, cancel: cancel, job: j, at: paper.Progress{Paper: chosen[0].Name, Left: budget}}
	v.papers.sections = sectionsOf(chosen[:1], v.o.Machine, nil)
	return tea.Batch(j.run(ctx, v.o.Papers, budget), j.wait)
}

func (j *papersJob) run(ctx context.Context, p Papers, budget time.Duration) tea.Cmd {
	return func() tea.Msg {
		j.started.Store(true)
		defer close(j.done)
		defer close(j.steps)
		if ctx.Err() != nil { // the screen closed before this began
			return nil
		}
		g, all, remark, err := p.Run(ctx, j.chosen, budget, j.step)
		return papersEndMsg{j.serial, g, all, sectionsOf(j.chosen, j.machine, all), remark, err}
	}
}

// step hands the last progress over. Its results are copied: the run goes on
// appending to them.
func (j *papersJob) step(at paper.Progress) {
	at.Result = slices.Clone(at.Result)
	select {
	case <-j.steps:
	default:
	}
	j.steps <- at
}

func (j *papersJob) wait() tea.Msg {
	at, ok := <-j.steps
	if !ok {
		return nil
	}
	running := slices.DeleteFunc(slices.Clone(j.chosen), func(p paper.Paper) bool { return p.Name != at.Paper })
	return papersStepMsg{j.serial, at, sectionsOf(running, j.machine, at.Result)}
}

func (v *View) papersStep(msg papersStepMsg) tea.Cmd {
	if v.papers == nil || msg.serial != v.serial || v.papers.ended {
		return nil
	}
	v.papers.at, v.papers.all, v.papers.sections = msg.at, msg.at.Result, msg.sections
	return v.papers.job.wait
}

func (v *View) papersEnd(msg papersEndMsg) tea.Cmd {
	if v.papers == nil || msg.serial != v.serial {
		return nil
	}
	p := v.papers
	p.ended, p.remark, p.sections = true, msg.remark, msg.sections
	p.cancel()
	if msg.all != nil {
		p.all, p.at.Grid = msg.all, msg.grid
	}
	switch {
	case errors.Is(msg.err, context.Canceled):
		v.failure = "canceled; results so far. p with the same study resumes it."
	case msg.err != nil:
		v.failure = msg.err.Error()
	}
	return v.read
}

// names are the papers' names in short.
func names(chosen []string) string {
	if len(chosen) == len(paper.Papers) {
		return "all"
	}
	return strings.Join(chosen, " ")
}
