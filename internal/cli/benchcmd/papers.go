package benchcmd

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"piton/internal/action"
	"piton/internal/auto"
	"piton/internal/bench"
	"piton/internal/bench/store"
	"piton/internal/change"
	"piton/internal/cli/app"
	"piton/internal/paper"
)

// papers are studies that can be run on this machine.
type papers struct {
	chosen  []paper.Paper
	options paper.Options
	store   *store.Store
	search  func() error // makes options able to search, which changes tasks
	held    string       // the grid that no other piton may resume
	release func()
}

func newPapers(a *app.App, chosen []paper.Paper, budget time.Duration, on func(paper.Progress)) (*papers, error) {
	topo, err := a.Topology()
	if err != nil {
		return nil, err
	}
	runner, err := Runner(a, false)
	if err != nil {
		return nil, err
	}
	byTuna, haveTuna := TunaRunner(runner)
	p := &papers{chosen: chosen, store: runner.Store}
	p.options = paper.Options{Machine: paper.NewMachine(topo, haveTuna), Budget: budget, Runner: runner, On: on, Keep: func(g bench.Grid) error {
		p.hold(g) // before another process can find it
		return p.store.Grid(g)
	}}
	if haveTuna {
		p.options.Tuna = byTuna
	}
	p.search = func() error {
		t, refused := a.Tuner()
		p.options.Searches = &paper.Searcher{Runner: runner, Prepare: func(ctx context.Context, targets []change.Target) (auto.Job, error) {
			if refused != nil {
				return auto.Job{}, refused
			}
			m, err := a.Measure(ctx)
			if err != nil {
				return auto.Job{}, err
			}
			found, err := action.PrepareSearch(ctx, action.Deps{Tuner: t, Model: m}, action.SearchAsk{Targets: targets})
			return found.Job, err
		}}
		return refused
	}
	return p, nil
}

// start begins them, or resumes an interrupted run and reports that.
func (p *papers) start(ctx context.Context, fresh bool, say func(format string, args ...any)) (*paper.Run, error) {
	if slices.ContainsFunc(p.chosen, paper.Paper.Searches) {
		if err := p.search(); err != nil && len(p.chosen) == 1 { // else the others are made
			return nil, err
		}
	}
	if fresh {
		return paper.Start(ctx, p.chosen, p.options)
	}
	history, err := p.store.Read()
	if err != nil {
		say("earlier results not read: %v", err)
	}
	now := bench.ReadConditions("/", app.Version())
	g, cells, why, ok := paper.Unfinished(history, p.chosen, now, func(g bench.Grid) bool {
		mine := p.hold(g)
		if !mine {
			say("the reproduction of %s is running in another piton", minute(g.Started))
		}
		return mine
	})
	if ok { // another piton may have continued it until it was held
		if history, err = p.store.Read(); err == nil {
			g, cells, why, ok = paper.Unfinished(history, p.chosen, now, func(g bench.Grid) bool { return g.ID == p.held })
		}
	}
	switch {
	case ok:
		say("resuming the reproduction of %s", minute(g.Started))
		return paper.Resume(g, cells, p.chosen, p.options), nil
	case len(why) > 0:
		say("the earlier reproduction is not resumed: %s", strings.Join(why, "; "))
	}
	return paper.Start(ctx, p.chosen, p.options)
}

// minute is a time of a study as people read it.
func minute(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }

// hold keeps other processes from resuming a grid until unhold, and reports whether
// none of them runs it. Where files cannot be locked, it holds nothing.
func (p *papers) hold(g bench.Grid) bool {
	if p.held == g.ID {
		return true
	}
	p.unhold()
	release, err := p.store.Hold(g.ID)
	if err != nil {
		return true
	}
	if release == nil {
		return false
	}
	p.held, p.release = g.ID, release
	return true
}

// unhold ends hold.
func (p *papers) unhold() {
	if p.release != nil {
		p.release()
	}
	p.held, p.release = "", nil
}

// ScreenPapers runs published studies for the results pane.
type ScreenPapers struct{ App *app.App }

// Run runs them until they end or ctx does. remark says what was resumed.
func (s ScreenPapers) Run(ctx context.Context, chosen []paper.Paper, budget time.Duration, on func(paper.Progress)) (g bench.Grid, all []bench.Results, remark string, err error) {
	p, err := newPapers(s.App, chosen, budget, on)
	if err != nil {
		return bench.Grid{}, nil, "", err
	}
	defer p.unhold()
	run, err := p.start(ctx, false, func(format string, args ...any) { remark = fmt.Sprintf(format, args...) })
	if err == nil {
		err = run.Finish(ctx)
	}
	if run == nil {
		return bench.Grid{}, nil, remark, err
	}
	if run.KeepErr != nil {
		remark = "results not stored: " + run.KeepErr.Error()
	}
	return run.Grid, run.Results, remark, err
}
