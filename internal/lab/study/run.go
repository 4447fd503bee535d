package study

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"piton/internal/bench"
	"piton/internal/bench/store"
	"piton/internal/paper"
)

// Runner makes rounds of cells; bench.Runner is the real one.
type Runner interface {
	Begin(study bench.Study) (bench.Results, error)
	Round(ctx context.Context, results *bench.Results, on func(bench.Event)) error
	// Open begins a study whose runs are made by a Maker, and Add keeps one of them.
	Open(study bench.Study) bench.Results
	Add(results *bench.Results, run bench.RunResult)
}

// Maker makes the cells of a study whole: Searcher and Deliverer.
type Maker interface {
	// Cell makes all runs of a cell in about so long, or more if it takes that. Its error is
	// errNoTime where there is no time for it until ctx ends. The goroutine keeps its
	// thread, with which the processes end.
	Cell(ctx context.Context, study bench.Study, within time.Duration, tell func(bench.RunResult)) ([]bench.RunResult, error)
}

// errNoTime says that a cell was not begun.
var errNoTime = errors.New("too little time")

// Options is what papers run with.
type Options struct {
	Machine paper.Machine
	Budget  time.Duration
	// Anyway begins although the budget is too small for a verdict.
	Anyway bool
	Runner Runner
	// Tuna places with tuna; it may be nil where Machine.Tuna is false.
	Tuna   Runner
	Makers map[string]Maker // by Paper.Name; a study that is without one is left out
	// Keep keeps the grid's beginning and end, nil = nowhere.
	Keep func(bench.Grid) error
	On   func(paper.Progress) // may be nil
}

// Run is papers being run.
type Run struct {
	paper.Done

	o      Options
	papers []Paper
	start  time.Time
	costs  map[string]float64 // seconds a round of a cell takes, by Study.Cell
}

// Start begins papers: it measures how fast the machine is and chooses sizes. The error is a
// TooLittle where the budget is too small for a verdict of one of them.
func Start(ctx context.Context, papers []Paper, o Options) (*Run, error) {
	r := Resume(bench.NewGrid(names(papers), o.Budget), nil, papers, o)
	little, short := paper.TooLittle{Budget: o.Budget}, []string(nil)
	var plans []plan
	for _, p := range papers {
		pl, err := r.plan(ctx, p)
		if err != nil {
			return r, err
		}
		if plans = append(plans, pl); pl.lacking > 0 {
			short = append(short, p.Name)
			little.Need = max(little.Need, roomy(pl.lacking*float64(time.Hour)/float64(p.share(papers, time.Hour))))
		}
	}
	if little.Papers = join(short); short != nil && !o.Anyway {
		return nil, little
	}
	for _, pl := range plans {
		for _, c := range pl.cells {
			if err := r.begin(pl, c); err != nil {
				return r, err
			}
		}
	}
	r.keep() // now that it is planned it can be resumed
	return r, nil
}

// Unfinished finds the last grid of the same papers on this host that did not end, with its cells;
// ok is false where there is none. One that another process runs, so that it cannot be held, is
// skipped. Why lists the conditions that changed since, which keep it from being resumed.
func Unfinished(h store.History, papers []Paper, now bench.Conditions, hold func(bench.Grid) bool) (g bench.Grid, cells []bench.Results, why []string, ok bool) {
	for _, g := range slices.Backward(h.Grids) {
		cells := slices.DeleteFunc(h.Cells(g.ID), paper.IsProbe)
		if !slices.Equal(g.Papers, names(papers)) || len(cells) == 0 || cells[0].Conditions.Host != now.Host {
			continue
		}
		if !g.Ended.IsZero() {
			break
		}
		now.Load1, now.Steal = cells[0].Conditions.Load1, cells[0].Conditions.Steal // they change all the time
		if why := now.Differences(cells[0].Conditions); len(why) > 0 {
			return bench.Grid{}, nil, why, false
		}
		if hold(g) {
			return g, cells, nil, true
		}
	}
	return bench.Grid{}, nil, nil, false
}

// Resume continues what an earlier process began.
func Resume(g bench.Grid, cells []bench.Results, papers []Paper, o Options) *Run {
	r := &Run{Done: paper.Done{Grid: g, Results: cells}, o: o, papers: papers, start: time.Now(), costs: map[string]float64{}}
	for _, c := range cells {
		r.costs[c.Study.Cell] = roundTook(c)
	}
	return r
}

func (r *Run) keep() {
	if r.o.Keep != nil && r.KeepErr == nil {
		r.KeepErr = r.o.Keep(r.Grid)
	}
}

func (r *Run) left() time.Duration { return max(r.o.Budget-time.Since(r.start), 0) }

// probeTime bounds a probe; a machine that needs longer gets the smallest sizes.
const probeTime = 10 * time.Second

// The fastest of so many short runs is the probe: the first is often on a CPU that sleeps.
const (
	probeRuns   = 3
	probeEnough = time.Second
)

// plan is a paper with the cells of the sizes that fit into its share of the budget.
type plan struct {
	Paper
	cells       []cell
	work, start float64 // seconds of the probe's work, and of a process beside it
	lacking     float64 // seconds that a verdict takes where there are fewer, else 0
}

func (r *Run) plan(ctx context.Context, p Paper) (plan, error) {
	out, part := plan{Paper: p, work: 1}, fillShare
	switch {
	case !p.whole: // else its costs are what its cells take at least, and they take what they are given
		part = plannedShare
		if err := r.probe(ctx, &out); err != nil {
			return out, fmt.Errorf("probe %s: %w", p.Name, err)
		}
	case r.o.Makers[p.Name] == nil:
		return out, nil
	}
	out.cells, out.lacking = p.choose(r.o.Machine, part*p.share(r.papers, r.o.Budget).Seconds(), out.work, out.start)
	out.lacking /= part
	return out, nil
}

func (r *Run) probe(ctx context.Context, p *plan) error {
	probe := p.Paper.probe
	probe.Workload, probe.Runs, probe.Timeout = p.Name, probeRuns, probeTime
	if probe.Placements == nil {
		probe.Placements = onlyNormal
	}
	probe.Grid, probe.Cell = r.Grid.ID, p.Name+" "+paper.ProbeKey
	tried, err := r.o.Runner.Begin(probe)
	if err != nil {
		return err
	}
	p.work = 0
	for began := time.Now(); len(tried.Runs) < probeRuns && time.Since(began) < probeEnough; {
		round := time.Now()
		if err := r.o.Runner.Round(ctx, &tried, nil); err != nil {
			return err
		}
		if last := tried.Runs[len(tried.Runs)-1]; last.Err == "" && (p.work == 0 || last.Seconds < p.work) {
			p.work = max(last.Seconds, 1e-4)
			p.start = max(time.Since(round).Seconds()-p.work, 0)
		}
	}
	p.work = cmp.Or(p.work, probeTime.Seconds())
	return nil
}

func (r *Run) begin(p plan, c cell) error {
	c.study.Workload, c.study.Runs = cmp.Or(c.study.Workload, p.Name), cmp.Or(c.study.Runs, mostRounds)
	c.study.Grid, c.study.Cell = r.Grid.ID, p.Name+" "+c.key
	var results bench.Results
	var err error
	if p.whole {
		results = r.o.Runner.Open(c.study)
	} else if results, err = r.runner(c.study).Begin(c.study); err != nil {
		return fmt.Errorf("begin %s: %w", c.study.Cell, err)
	}
	r.KeepErr = cmp.Or(r.KeepErr, results.StoreErr)
	r.Results = append(r.Results, results)
	r.costs[c.study.Cell] = c.seconds(p.work, p.start)
	return nil
}

// tunaKey ends the key of a cell that tuna places.
const tunaKey = "tuna"

func (r *Run) runner(s bench.Study) Runner {
	if strings.HasSuffix(s.Cell, " "+tunaKey) && r.o.Tuna != nil {
		return r.o.Tuna
	}
	return r.o.Runner
}

// Finish makes rounds of all papers until each has its rounds or has used its
// share of the budget. When ctx ends, what there is stays, to be resumed.
func (r *Run) Finish(ctx context.Context) error {
	for i, p := range r.papers {
		rounds := r.rounds
		if p.whole {
			rounds = r.make
		}
		if err := rounds(ctx, p, time.Now().Add(p.share(r.papers[i:], r.left()))); err != nil {
			return err
		}
	}
	r.Grid.Ended = time.Now()
	r.keep()
	return nil
}

// rounds makes rounds of a paper, each if it should end in time.
func (r *Run) rounds(ctx context.Context, p Paper, until time.Time) error {
	cells := p.cells(r.Results)
	for r.left() > 0 {
		i := r.next(p, time.Until(until).Seconds())
		if i < 0 {
			break
		}
		at := paper.Progress{Round: r.Results[i].Rounds() + 1, Cells: slices.Index(cells, i), Of: len(cells)}
		if err := r.round(ctx, p, i, r.runner(r.Results[i].Study).Round, at); err != nil {
			return err
		}
	}
	return nil
}

// fillShare is the part of its share of the time that a cell fills: what a long one takes
// beyond it is not missing from the cells after it.
const fillShare = 0.85

// make makes the cells of a study that are made whole, which share the time equally.
func (r *Run) make(ctx context.Context, p Paper, until time.Time) error {
	maker := r.o.Makers[p.Name]
	if maker == nil {
		return nil
	}
	missing := slices.DeleteFunc(p.cells(r.Results), func(i int) bool { return isMade(r.Results[i]) })
	for n, i := range missing {
		share := time.Duration(fillShare * float64(time.Until(until)) / float64(len(missing)-n))
		one := func(ctx context.Context, c *bench.Results, on func(bench.Event)) error {
			runtime.LockOSThread() // see runner.StartEndless
			defer runtime.UnlockOSThread()
			runs, err := maker.Cell(ctx, c.Study, share, func(run bench.RunResult) { on(bench.Event{Study: c.ID, Run: run}) })
			switch {
			case ctx.Err() != nil:
				return context.Cause(ctx)
			case errors.Is(err, errNoTime):
				return nil
			case err != nil:
				runs = []bench.RunResult{{Workload: c.Study.Workload, Placement: c.Study.Placements[0], Started: time.Now(), Err: err.Error()}}
			}
			for _, run := range runs {
				r.o.Runner.Add(c, run)
			}
			return nil
		}
		if err := r.round(ctx, p, i, one, paper.Progress{Round: 1, Cells: n, Of: len(missing)}); err != nil {
			return err
		}
	}
	return nil
}

// round makes a round of a cell by one.
func (r *Run) round(ctx context.Context, p Paper, i int, one func(context.Context, *bench.Results, func(bench.Event)) error, at paper.Progress) error {
	c := &r.Results[i]
	at.Grid, at.Paper, at.Cell = r.Grid, p.Name, strings.TrimPrefix(c.Study.Cell, p.Name+" ")
	began := time.Now()
	within, cancel := context.WithTimeout(ctx, r.left())
	defer cancel()
	err := one(within, c, func(e bench.Event) {
		at.Run, at.Left, at.Result = e.Run, r.left(), r.Results
		if e.Ended {
			at.Run.PID = 0
		}
		if r.o.On != nil {
			r.o.On(at)
		}
	})
	r.costs[c.Study.Cell] = time.Since(began).Seconds()
	r.KeepErr = cmp.Or(r.KeepErr, c.StoreErr)
	if err != nil && ctx.Err() == nil && within.Err() != nil {
		return nil // the budget is spent; what was running does not count
	}
	return err
}
