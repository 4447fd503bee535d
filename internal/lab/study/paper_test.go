package study

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/bench"
	"piton/internal/bench/store"
	"piton/internal/paper"
)

func cpus(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// TestEveryGridIsValid looks at each scale of each paper on small and large
// machines.
func TestEveryGridIsValid(t *testing.T) {
	for _, m := range []paper.Machine{{CPUs: cpus(1), Nodes: 1}, {CPUs: cpus(2), Nodes: 1, Tuna: true}, {CPUs: cpus(48), Nodes: 4, Tuna: true}, {CPUs: cpus(256), Nodes: 8}} {
		for _, p := range Papers {
			before := math.Inf(1)
			var ways [][]cell
			for _, s := range p.sizes(m) {
				ways = append(ways, s.ways...)
			}
			for i, way := range ways {
				keys, cost := map[string]bool{}, 0.
				for _, c := range way {
					assert.False(t, keys[c.key], "%s %s is there twice", p.Name, c.key)
					keys[c.key] = true
					assert.Positive(t, c.cost, c.key)
					cost += c.seconds(1, 0)
					c.study.Workload, c.study.Runs = cmp.Or(c.study.Workload, p.Name), mostRounds
					if p.whole { // its placements are candidates of a search, or arms
						assert.NotEmpty(t, c.study.Placements)
						c.study.Placements = onlyNormal
					}
					if p.Name != "stream" && p.Name != "memlat" { // these look at this machine's nodes and memory
						require.NoError(t, c.study.Validate(), "%s %s", p.Name, c.key)
					}
				}
				for _, key := range p.own {
					assert.True(t, keys[key], "%s: no cell %s to draw", p.Name, key)
				}
				assert.Less(t, cost, before, "%s: way %d is no smaller", p.Name, i)
				before = cost
			}
		}
	}
	_, err := paper.Lookup([]string{"nqueens", "origami"})
	assert.ErrorContains(t, err, `unknown study "origami"; studies are nqueens, matrix,`)
}

// TestEmptyPapersSayWhatWasPublished: before the first run there is no row.
func TestEmptyPapersSayWhatWasPublished(t *testing.T) {
	for _, p := range Papers {
		s := p.Section(paper.Machine{CPUs: cpus(2), Nodes: 1}, nil)
		assert.Contains(t, s.Answer, "Nothing was measured here.", p.Name)
		assert.Equal(t, p.Name != "automatic", strings.Contains(s.Answer, "Published: "), p.Name)
		for _, table := range s.Tables {
			assert.Empty(t, table.Rows, "%s: %s", p.Name, table.Title)
		}
		assert.Empty(t, s.Figures, p.Name)
		assert.Empty(t, p.Pictures(s, nil, 80))
	}
}

// fakeRunner makes runs of a fixed length.
type fakeRunner struct {
	took   time.Duration
	takes  func(s bench.Study, p bench.Placement) time.Duration // nil: took
	rounds map[string]int
	broken func(cell string, p bench.Placement) string
	stop   func(cell string)
}

func (f *fakeRunner) Begin(s bench.Study) (bench.Results, error) {
	return bench.Results{ID: s.Cell, Started: time.Now(), Study: s, Conditions: bench.Conditions{Host: "web-07", Kernel: "6.18.5"}}, nil
}

func (f *fakeRunner) Open(s bench.Study) bench.Results {
	r, _ := f.Begin(s)
	return r
}

func (*fakeRunner) Add(r *bench.Results, run bench.RunResult) { r.Runs = append(r.Runs, run) }

func (f *fakeRunner) Round(ctx context.Context, r *bench.Results, on func(bench.Event)) error {
	if f.stop != nil {
		f.stop(r.Study.Cell)
	}
	n := r.Rounds()
	for i, p := range r.Study.Placements {
		took := f.took
		if f.takes != nil {
			took = f.takes(r.Study, p)
		}
		select {
		case <-time.After(took):
		case <-ctx.Done():
			return ctx.Err()
		}
		seconds := took.Seconds() * (1 + 0.01*float64(i) + 0.001*float64(n))
		run := bench.RunResult{Workload: r.Study.Workload, Placement: p, Index: n, Answer: "2680", Seconds: seconds, Metric: seconds, Wall: took, Detail: json.RawMessage(`{}`)}
		if f.broken != nil {
			run.Err = f.broken(r.Study.Cell, p)
		}
		r.Runs = append(r.Runs, run)
		if on != nil {
			on(bench.Event{Ended: true, Run: run})
		}
	}
	if f.rounds != nil {
		f.rounds[r.Study.Cell]++
	}
	return nil
}

func options(r *fakeRunner, budget time.Duration) Options {
	return Options{Machine: paper.Machine{CPUs: cpus(2), Nodes: 1}, Budget: budget, Runner: r, Makers: map[string]Maker{"automatic": &fakeSearches{fakeRunner: r}, "sais": &fakeDeliverer{fakeRunner: r}}}
}

func TestAllPapersEndWithinTheBudget(t *testing.T) {
	for _, took := range []time.Duration{time.Millisecond, 20 * time.Millisecond, 200 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			var kept []bench.Grid
			o := options(&fakeRunner{took: took}, 10*time.Minute)
			o.Anyway = true
			o.Keep = func(g bench.Grid) error { kept = append(kept, g); return nil }
			var last paper.Progress
			o.On = func(p paper.Progress) { last = p }
			run, err := Start(t.Context(), Papers, o)
			require.NoError(t, err)
			require.NoError(t, run.Finish(t.Context()))
			assert.LessOrEqual(t, time.Since(start), o.Budget)
			for _, c := range run.Results {
				assert.LessOrEqual(t, c.Rounds(), mostRounds)
			}
			for _, p := range Papers {
				groups := p.groups(run.o.Machine, run.Results)
				for _, i := range groups[len(groups)-1] {
					assert.Positive(t, run.Results[i].Rounds(), run.Results[i].Study.Cell)
				}
			}
			require.Len(t, kept, 2)
			assert.False(t, kept[1].Ended.IsZero())
			assert.Equal(t, "automatic", last.Paper)
			for _, p := range Papers {
				s := p.Section(o.Machine, run.Results)
				if p.Name != "stream" && p.Name != "memlat" { // the made-up results have none of theirs
					assert.NotContains(t, s.Answer, "Nothing was measured here.", p.Name)
				}
				for _, table := range s.Tables {
					for _, row := range table.Rows {
						assert.Len(t, row, len(table.Head), "%s: %s", p.Name, table.Title)
					}
				}
				assert.Contains(t, fmt.Sprint(s.Tables), "Every cell")
			}
		})
	}
}

// TestTheBudgetEndsWhatIsTooSlow: every run takes a minute, so that not even the
// first round fits.
func TestTheBudgetEndsWhatIsTooSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		run, err := Start(t.Context(), Papers[:1], options(&fakeRunner{took: time.Minute}, 5*time.Minute))
		require.NoError(t, err)
		require.NoError(t, run.Finish(t.Context()))
		assert.Equal(t, 5*time.Minute, time.Since(start))
		assert.Equal(t, []string{"not run here: 13, 14, 15 and 16 queens; tuna, which is not installed"}, nqueens.Section(run.o.Machine, run.Results).Notes)
	})
}

func TestInterruptedPapersGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		rounds := map[string]int{}
		fake := &fakeRunner{took: time.Millisecond, rounds: rounds, stop: func(cell string) {
			if cell == "matrix 2 500 100 kernel" || cell == "matrix 2 1000 500 kernel" {
				cancel()
			}
		}}
		o := options(fake, time.Hour)
		var grids []bench.Grid
		o.Keep = func(g bench.Grid) error { grids = append(grids, g); return nil }
		run, err := Start(ctx, Papers[:2], o)
		require.NoError(t, err)
		require.ErrorIs(t, run.Finish(ctx), context.Canceled)
		assert.Equal(t, mostRounds, rounds["nqueens 16 quiet"])

		h := store.History{Studies: run.Results, Grids: grids}
		now := bench.Conditions{Host: "web-07", Kernel: "6.18.5", Load1: 9}
		mine := func(bench.Grid) bool { return true }
		g, cells, _, ok := Unfinished(h, Papers[:2], now, mine)
		require.True(t, ok)
		// A second one was begun meanwhile, and another process runs it.
		second := bench.Results{ID: "y", Study: run.Results[0].Study, Conditions: run.Results[0].Conditions}
		second.Study.Grid = "y"
		two := store.History{Studies: append(slices.Clone(h.Studies), second), Grids: append(slices.Clone(grids), bench.Grid{ID: "y", Papers: g.Papers})}
		asked := []string{}
		first, _, why, ok := Unfinished(two, Papers[:2], now, func(g bench.Grid) bool { asked = append(asked, g.ID); return g.ID != "y" })
		require.True(t, ok)
		assert.Empty(t, why)
		assert.Equal(t, g.ID, first.ID)
		assert.Equal(t, []string{"y", g.ID}, asked)
		now.Kernel = "6.19.0"
		_, _, why, ok = Unfinished(h, Papers[:2], now, mine)
		assert.False(t, ok)
		assert.Equal(t, []string{"kernel 6.19.0, then 6.18.5"}, why)
		_, _, _, ok = Unfinished(h, Papers[:1], now, mine)
		assert.False(t, ok, "other papers")

		fake.stop = nil
		again := Resume(g, cells, Papers[:2], o)
		require.NoError(t, again.Finish(t.Context()))
		assert.Equal(t, mostRounds, rounds["nqueens 16 quiet"], "nothing is measured again")
		for _, c := range again.Results {
			assert.Equal(t, mostRounds, c.Rounds(), c.Study.Cell)
		}
		h.Grids = []bench.Grid{again.Grid}
		_, _, _, ok = Unfinished(h, Papers[:2], bench.Conditions{Host: "web-07"}, mine)
		assert.False(t, ok, "it has ended")
	})
}

// TestFailuresAreReportedAndTheRestIsKept has a wrong answer under one placement
// and a file that cannot be written.
func TestFailuresAreReportedAndTheRestIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options(&fakeRunner{took: time.Millisecond, broken: func(cell string, p bench.Placement) string {
			if p == pitonRR {
				return "found 41 where there are 42"
			}
			return ""
		}}, time.Minute)
		o.Keep = func(bench.Grid) error { return errors.New("no space left on device") }
		run, err := Start(t.Context(), Papers[:1], o)
		require.NoError(t, err)
		require.NoError(t, run.Finish(t.Context()))
		assert.ErrorContains(t, run.KeepErr, "no space left")
		s := nqueens.Section(o.Machine, run.Results)
		notes := fmt.Sprint(s.Notes)
		assert.Contains(t, notes, "16 quiet under least-loaded+rr:6 failed: found 41 where there are 42")
		var measured []string
		for _, row := range s.Tables[0].Rows {
			if row[0] == "16" {
				measured = append(measured, row[1])
			}
		}
		assert.Equal(t, []string{"normal", "piton FIFO", "piton least-loaded"}, measured)
	})
}

func TestPublishedFiguresAndTheirGains(t *testing.T) {
	gains := []string{}
	for _, row := range matrixPublished {
		gains = append(gains, signed(*row.gain()))
	}
	assert.Equal(t, []string{"+17 %", "+22 %", "+29 %", "+7.6 %", "+23 %", "+47 %", "+198 %", "+147 %", "+35 %", "+100 %"}, gains,
		"the published 17, 22, 29, 8, 23, 47, 198, 147, 35 and 100 %%")
	_, saved, share := queensThen(16, 2)
	assert.Equal(t, "+8.2 %", saved)
	assert.InDelta(t, 0.082, *share, 0.001)
	_, _, share = queensThen(12, 2)
	assert.Nil(t, share)
	_, _, share = queensThen(16, -1)
	assert.Nil(t, share)
}
