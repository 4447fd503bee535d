package benchcmd

import (
	"context"
	"fmt"
	"strings"
	"time"

	"piton/internal/action"
	"piton/internal/auto"
	"piton/internal/bench"
	"piton/internal/bench/runner"
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
	// makers make the makers of studies that are not grids of runs, by their names, or say why
	// they cannot be made here.
	makers  map[string]func() (paper.Maker, error)
	held    string // the grid that no other piton may resume
	release func()
}

func newPapers(a *app.App, chosen []paper.Paper, budget time.Duration, on func(paper.Progress)) (*papers, error) {
	topo, err := a.Topology()
	if err != nil {
		return nil, err
	}
	r, err := Runner(a, false)
	if err != nil {
		return nil, err
	}
	byTuna, haveTuna := TunaRunner(a, r)
	p := &papers{chosen: chosen, store: r.Store}
	p.options = paper.Options{Machine: paper.NewMachine(topo, haveTuna), Budget: budget, Runner: r, On: on, Keep: func(g bench.Grid) error {
		p.hold(g) // before another process can find it
		return p.store.Grid(g)
	}}
	if haveTuna {
		p.options.Tuna = byTuna
	}
	p.makers = map[string]func() (paper.Maker, error){
		"automatic": func() (paper.Maker, error) { return searcher(a, r) },
		"sais":      func() (paper.Maker, error) { return deliverer(a, r) },
	}
	return p, nil
}

// searcher changes tasks, so it takes a Tuner.
func searcher(a *app.App, r *runner.Runner) (paper.Maker, error) {
	t, err := a.Tuner()
	if err != nil {
		return nil, err
	}
	return &paper.Searcher{Runner: r, Prepare: func(ctx context.Context, targets []change.Target) (auto.Job, error) {
		m, err := a.Measure(ctx)
		if err != nil {
			return auto.Job{}, err
		}
		found, err := action.PrepareSearch(ctx, action.Deps{Tuner: t, Model: m}, action.SearchAsk{Targets: targets})
		return found.Job, err
	}}, nil
}

// deliverer changes a setting of the machine for one of its arms only.
func deliverer(a *app.App, r *runner.Runner) (paper.Maker, error) {
	d := &paper.Deliverer{Runner: r}
	d.Tuner, d.Refused = a.Tuner()
	return d, d.Check()
}

// start begins them, or resumes an interrupted run and reports that.
func (p *papers) start(ctx context.Context, fresh bool, say func(format string, args ...any)) (*paper.Run, error) {
	p.options.Makers = map[string]paper.Maker{}
	for _, chosen := range p.chosen {
		making := p.makers[chosen.Name]
		if making == nil {
			continue
		}
		maker, err := making()
		switch {
		case err == nil:
			p.options.Makers[chosen.Name] = maker
		case len(p.chosen) == 1:
			return nil, err
		default:
			say("%s is left out: %v", chosen.Name, err)
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
