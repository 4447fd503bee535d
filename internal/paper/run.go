package paper

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"piton/internal/bench"
)

// Runner makes rounds of cells; bench.Runner is the real one.
type Runner interface {
	Begin(study bench.Study) (bench.Results, error)
	Round(ctx context.Context, results *bench.Results, on func(bench.Event)) error
}

// Progress is how far a run of papers is.
type Progress struct {
	Grid   bench.Grid
	Paper  string
	Cell   string          // that runs now
	Run    bench.RunResult // its PID is 0 between runs
	Round  int             // of the cell, from 1
	Cells  int             // before it in the paper
	Of     int
	Left   time.Duration // until the end at the latest
	Result []bench.Results
}

// Options is what papers run with.
type Options struct {
	Machine Machine
	Budget  time.Duration
	Runner  Runner
	// Tuna places with tuna; it may be nil where Machine.Tuna is false.
	Tuna   Runner
	Makers map[string]Maker // by Paper.Name; a study that is without one is left out
	// Keep keeps the grid's beginning and end, nil = nowhere.
	Keep func(bench.Grid) error
	On   func(Progress) // may be nil
}

// Run is papers being run.
type Run struct {
	Grid    bench.Grid
	Results []bench.Results // the cells of all papers
	KeepErr error           // why they could not be stored; they are all here

	o      Options
	papers []Paper
	start  time.Time
	costs  map[string]float64 // seconds a round of a cell takes, by Study.Cell
}

// Start begins papers: it measures how fast the machine is and chooses sizes.
func Start(ctx context.Context, papers []Paper, o Options) (*Run, error) {
	var names []string
	for _, p := range papers {
		names = append(names, p.Name)
	}
	r := &Run{Grid: bench.NewGrid(names, o.Budget), o: o, papers: papers, start: time.Now(), costs: map[string]float64{}}
	for _, p := range papers {
		if err := r.plan(ctx, p); err != nil {
			return r, err
		}
	}
	r.keep() // now that it is planned it can be resumed
	return r, nil
}

// Resume continues what an earlier process began.
func Resume(g bench.Grid, cells []bench.Results, papers []Paper, o Options) *Run {
	r := &Run{Grid: g, Results: cells, o: o, papers: papers, start: time.Now(), costs: map[string]float64{}}
	for _, c := range cells {
		for _, run := range c.Runs {
			r.costs[c.Study.Cell] += run.Wall.Seconds() / float64(max(c.Rounds(), 1))
		}
	}
	return r
}

func (r *Run) keep() {
	if r.o.Keep != nil && r.KeepErr == nil {
		r.KeepErr = r.o.Keep(r.Grid)
	}
}

// share is the part of the remaining time that a paper may take; the papers after
// it get the rest.
func (r *Run) share(p Paper) time.Duration {
	all, after := 0.0, false
	for _, q := range r.papers {
		if after = after || q.Name == p.Name; after {
			all += q.weight
		}
	}
	return time.Duration(float64(r.left()) * p.weight / all)
}

func (r *Run) left() time.Duration { return max(r.o.Budget-time.Since(r.start), 0) }

// probeTime bounds a probe; a machine that needs longer gets the smallest sizes.
const probeTime = 10 * time.Second

// plan probes, and begins the cells of the sizes that fit into the paper's share.
func (r *Run) plan(ctx context.Context, p Paper) error {
	if p.made != nil && r.o.Makers[p.Name] == nil {
		return nil
	}
	if p.made != nil { // its costs are what its cells take at least, and they take what they are given
		return r.beginAll(p, fillShare, 1, 0)
	}
	probe := p.probe
	probe.Workload, probe.Runs, probe.Timeout = p.Name, 1, probeTime
	if probe.Placements == nil {
		probe.Placements = onlyNormal
	}
	probe.Grid, probe.Cell = r.Grid.ID, p.Name+" "+probeKey
	tried, err := r.o.Runner.Begin(probe)
	if err != nil {
		return fmt.Errorf("probe %s: %w", p.Name, err)
	}
	began := time.Now()
	if err := r.o.Runner.Round(ctx, &tried, nil); err != nil {
		return fmt.Errorf("probe %s: %w", p.Name, err)
	}
	work, start := probeTime.Seconds(), 0.0
	if last := tried.Runs[len(tried.Runs)-1]; last.Err == "" {
		work = max(last.Seconds, 1e-4)
		start = max(time.Since(began).Seconds()-work, 0)
	}
	return r.beginAll(p, plannedShare, work, start)
}

// beginAll begins the cells of the sizes that fit into a part of the paper's share.
func (r *Run) beginAll(p Paper, part, work, start float64) error {
	for _, c := range p.choose(r.o.Machine, part*r.planned(p).Seconds(), work, start) {
		if err := r.begin(p, c, work, start); err != nil {
			return err
		}
	}
	return nil
}

// planned is a paper's share of the whole budget.
func (r *Run) planned(p Paper) time.Duration {
	all := 0.0
	for _, q := range r.papers {
		all += q.weight
	}
	return time.Duration(float64(r.o.Budget) * p.weight / all)
}

// probeKey is the cell of a probe, which no table shows.
const probeKey = "probe"

func (r *Run) begin(p Paper, c cell, work, start float64) error {
	c.study.Workload, c.study.Runs = cmp.Or(c.study.Workload, p.Name), cmp.Or(c.study.Runs, mostRounds)
	c.study.Grid, c.study.Cell = r.Grid.ID, p.Name+" "+c.key
	begin := r.runner(c.study).Begin
	if p.made != nil {
		begin = r.o.Makers[p.Name].Begin
	}
	results, err := begin(c.study)
	if err != nil {
		return fmt.Errorf("begin %s %s: %w", p.Name, c.key, err)
	}
	if r.KeepErr == nil {
		r.KeepErr = results.StoreErr
	}
	r.Results = append(r.Results, results)
	r.costs[c.study.Cell] = c.seconds(work, start)
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
	for _, p := range r.papers {
		if err := r.paper(ctx, p); err != nil {
			return err
		}
	}
	r.Grid.Ended = time.Now()
	r.keep()
	return nil
}

// paper makes rounds of one paper, each if it should end within the paper's share of the time.
func (r *Run) paper(ctx context.Context, p Paper) error {
	until := time.Now().Add(r.share(p))
	if p.made != nil {
		return r.make(ctx, p, until)
	}
	cells := r.missing(p, func(bench.Results) bool { return true })
	for r.left() > 0 {
		i := r.next(p, time.Until(until).Seconds())
		if i < 0 {
			return nil
		}
		at := Progress{Round: r.Results[i].Rounds() + 1, Cells: slices.Index(cells, i), Of: len(cells)}
		if err := r.round(ctx, p, i, r.runner(r.Results[i].Study).Round, at); err != nil {
			return err
		}
	}
	return nil
}

// missing are the cells of a paper that are to be made.
func (r *Run) missing(p Paper, is func(bench.Results) bool) (out []int) {
	for i, c := range r.Results {
		if strings.HasPrefix(c.Study.Cell, p.Name+" ") && is(c) {
			out = append(out, i)
		}
	}
	return out
}

// round makes a round of a cell by one.
func (r *Run) round(ctx context.Context, p Paper, i int, one func(context.Context, *bench.Results, func(bench.Event)) error, at Progress) error {
	c := &r.Results[i]
	at.Grid, at.Paper, at.Cell = r.Grid, p.Name, strings.TrimPrefix(c.Study.Cell, p.Name+" ")
	began := time.Now()
	within, cancel := context.WithTimeout(ctx, r.left())
	defer cancel()
	err := one(within, c, func(e bench.Event) {
		at.Run, at.Left, at.Result = e.Run, r.left(), r.Results
		if e.Kind == bench.RunEnded {
			at.Run.PID = 0
		}
		if r.o.On != nil {
			r.o.On(at)
		}
	})
	r.costs[c.Study.Cell] = time.Since(began).Seconds()
	if r.KeepErr == nil {
		r.KeepErr = c.StoreErr
	}
	if err != nil && ctx.Err() == nil && within.Err() != nil {
		return nil // the budget is spent; what was running does not count
	}
	return err
}
