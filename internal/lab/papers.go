package lab

import (
	"context"
	"strings"

	"piton/internal/action"
	"piton/internal/auto"
	"piton/internal/bench"
	"piton/internal/bench/runner"
	"piton/internal/bench/store"
	"piton/internal/change"
	"piton/internal/cli/app"
	"piton/internal/cli/benchcmd"
	"piton/internal/lab/study"
	"piton/internal/paper"
)

// papers are studies that can be run on this machine.
type papers struct {
	chosen  []study.Paper
	options study.Options
	store   *store.Store
	// makers make the makers of studies that are not grids of runs, by their names, or say why
	// they cannot be made here.
	makers  map[string]func() (study.Maker, error)
	held    string // the grid that no other piton may resume
	release func()
}

func newPapers(a *app.App, ask paper.Ask) (*papers, error) {
	topo, err := a.Topology()
	if err != nil {
		return nil, err
	}
	r, err := benchcmd.Runner(a, false)
	if err != nil {
		return nil, err
	}
	byTuna, haveTuna := benchcmd.TunaRunner(a, r)
	p := &papers{chosen: study.Lookup(ask.Papers), store: r.Store}
	p.options = study.Options{Machine: paper.NewMachine(topo, haveTuna), Budget: ask.Budget, Anyway: ask.Anyway, Runner: r, On: ask.On, Keep: func(g bench.Grid) error {
		p.hold(g) // before another process can find it
		return p.store.Grid(g)
	}}
	if haveTuna {
		p.options.Tuna = byTuna
	}
	p.makers = map[string]func() (study.Maker, error){
		"automatic": func() (study.Maker, error) { return searcher(a, r) },
		"sais":      func() (study.Maker, error) { return deliverer(a, r) },
	}
	return p, nil
}

// searcher changes tasks, so it takes a Tuner.
func searcher(a *app.App, r *runner.Runner) (study.Maker, error) {
	t, err := a.Tuner()
	if err != nil {
		return nil, err
	}
	return &study.Searcher{Runner: r, Prepare: func(ctx context.Context, targets []change.Target) (auto.Job, error) {
		m, err := a.Measure(ctx)
		if err != nil {
			return auto.Job{}, err
		}
		found, err := action.PrepareSearch(ctx, action.Deps{Tuner: t, Model: m}, action.SearchAsk{Targets: targets})
		return found.Job, err
	}}, nil
}

// deliverer changes a setting of the machine for one of its arms only.
func deliverer(a *app.App, r *runner.Runner) (study.Maker, error) {
	d := &study.Deliverer{Runner: r}
	d.Tuner, d.Refused = a.Tuner()
	return d, d.Check()
}

// start begins them, or resumes an interrupted run and reports that.
func (p *papers) start(ctx context.Context, fresh bool, say func(format string, args ...any)) (*study.Run, error) {
	p.options.Makers = map[string]study.Maker{}
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
		return study.Start(ctx, p.chosen, p.options)
	}
	history, err := p.store.Read()
	if err != nil {
		say("earlier results not read: %v", err)
	}
	now := bench.ReadConditions("/", app.Version())
	g, cells, why, ok := study.Unfinished(history, p.chosen, now, func(g bench.Grid) bool {
		mine := p.hold(g)
		if !mine {
			say("the reproduction of %s is running in another piton", benchcmd.Minute(g.Started))
		}
		return mine
	})
	if ok { // another piton may have continued it until it was held
		if history, err = p.store.Read(); err == nil {
			g, cells, why, ok = study.Unfinished(history, p.chosen, now, func(g bench.Grid) bool { return g.ID == p.held })
		}
	}
	switch {
	case ok:
		say("resuming the reproduction of %s", benchcmd.Minute(g.Started))
		return study.Resume(g, cells, p.chosen, p.options), nil
	case len(why) > 0:
		say("the earlier reproduction is not resumed: %s", strings.Join(why, "; "))
	}
	return study.Start(ctx, p.chosen, p.options)
}

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

func (p *papers) unhold() {
	if p.release != nil {
		p.release()
	}
	p.held, p.release = "", nil
}

// reproduce runs published studies until they end or ctx does.
func reproduce(ctx context.Context, a *app.App, ask paper.Ask) (*paper.Done, error) {
	p, err := newPapers(a, ask)
	if err != nil {
		return nil, err
	}
	defer p.unhold()
	run, err := p.start(ctx, ask.Fresh, ask.Say)
	if err == nil {
		err = run.Finish(ctx)
	}
	if run == nil {
		return nil, err
	}
	return &run.Done, err
}
