package study

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/bench"
	"piton/internal/paper"
	nqueenswork "piton/workloads/nqueens"
)

// onTwoCPUs is how long runs take on a machine with two CPUs, more of 16 queens than those of
// smaller boards let expect.
func onTwoCPUs(more float64) func(s bench.Study, p bench.Placement) time.Duration {
	return func(s bench.Study, p bench.Placement) time.Duration {
		seconds := 0.01
		switch values := strings.Join(s.Args, " "); {
		case s.Workload == "nqueens":
			n := map[string]int{"13": 13, "14": 14, "15": 15, "16": 16}[s.Args[1]]
			if seconds = nqueenswork.Workload.Work(n) * 6 / 228; n == 16 {
				seconds *= more
			}
			if s.Noise > 0 && !strings.Contains(string(p), "+") {
				seconds *= 1.7
			}
		case strings.Contains(values, "-n 1000"):
			seconds = 0.9
		case strings.Contains(values, "-n 500"):
			seconds = 0.07
		case strings.Contains(values, "-n 400"):
			seconds = 0.06
		}
		return time.Duration(seconds * float64(time.Second))
	}
}

// roundsWithin are the rounds of each cell of a paper after a budget.
func roundsWithin(t *testing.T, p Paper, budget time.Duration, more float64) map[string]int {
	t.Helper()
	rounds := map[string]int{}
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		run, err := Start(t.Context(), []Paper{p}, options(&fakeRunner{takes: onTwoCPUs(more)}, budget))
		require.NoError(t, err)
		require.NoError(t, run.Finish(t.Context()))
		assert.LessOrEqual(t, time.Since(start), budget)
		for _, c := range run.Results {
			rounds[strings.TrimPrefix(c.Study.Cell, p.Name+" ")] = c.Rounds()
		}
	})
	return rounds
}

// TestTheBudgetGoesToTheLargestSizes: those published that get enough rounds for a verdict in all
// their cells, and smaller ones in the time that is left.
func TestTheBudgetGoesToTheLargestSizes(t *testing.T) {
	assert.Equal(t, map[string]int{"16 quiet": 6, "16 noise": 6, "15 quiet": 6, "15 noise": 6, "14 quiet": 5, "14 noise": 5},
		roundsWithin(t, nqueens, 5*time.Minute, 1), "13 is too short to judge")
	assert.Equal(t, map[string]int{"15 quiet": 9, "15 noise": 9, "14 quiet": 9, "14 noise": 9}, roundsWithin(t, nqueens, 90*time.Second, 1))
	assert.Equal(t, map[string]int{"14 quiet": 14, "14 noise": 14}, roundsWithin(t, nqueens, 20*time.Second, 1))
	every := map[string]int{}
	for _, row := range []string{"1000 500", "1000 1000", "500 100", "500 250", "500 500"} {
		every["2 "+row+" manual"], every["2 "+row+" kernel"] = mostRounds, mostRounds
	}
	assert.Equal(t, every, roundsWithin(t, matrix, 5*time.Minute, 1), "every published row of two cores")
}

// TestASizeThatGetsNoVerdictIsGivenUp: 16 queens take three times as long as expected.
func TestASizeThatGetsNoVerdictIsGivenUp(t *testing.T) {
	rounds := roundsWithin(t, nqueens, 5*time.Minute, 3)
	assert.Less(t, rounds["16 quiet"], queensRounds)
	assert.GreaterOrEqual(t, rounds["15 quiet"], 2*queensRounds)
	assert.GreaterOrEqual(t, rounds["15 noise"], 2*queensRounds)
}

// TestTunaTakesItsTime: its cells are measured where there is time for them as well.
func TestTunaTakesItsTime(t *testing.T) {
	keys := func(seconds float64) (out []string) {
		cells, _ := nqueens.choose(paper.Machine{CPUs: cpus(2), Tuna: true}, seconds, 0.134, 0.01)
		for _, c := range cells {
			out = append(out, c.key)
		}
		return out
	}
	assert.Equal(t, []string{"16 quiet", "16 noise", "15 quiet", "15 quiet tuna", "15 noise", "15 noise tuna"}, keys(250))
	assert.Equal(t, []string{"15 quiet", "15 quiet tuna", "15 noise", "15 noise tuna"}, keys(70)[:4])
}

// TestAnInterruptedCellGoesOn: rounds differ by cell, and none is made twice.
func TestAnInterruptedCellGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		rounds := map[string]int{}
		fake := &fakeRunner{takes: onTwoCPUs(1), rounds: rounds}
		fake.stop = func(cell string) {
			if cell == "nqueens 16 noise" && rounds["nqueens 16 noise"] == 2 {
				cancel()
			}
		}
		o := options(fake, 5*time.Minute)
		run, err := Start(ctx, []Paper{nqueens}, o)
		require.NoError(t, err)
		require.ErrorIs(t, run.Finish(ctx), context.Canceled)
		assert.Equal(t, map[string]int{"nqueens probe": probeRuns, "nqueens 16 quiet": 3, "nqueens 16 noise": 2}, rounds)
		fake.stop = nil
		require.NoError(t, Resume(run.Grid, run.Results, []Paper{nqueens}, o).Finish(t.Context()))
		assert.GreaterOrEqual(t, rounds["nqueens 16 quiet"], queensRounds)
		assert.GreaterOrEqual(t, rounds["nqueens 15 quiet"], queensRounds)
		for _, c := range run.Results {
			assert.LessOrEqual(t, rounds[c.Study.Cell], mostRounds, c.Study.Cell)
		}
	})
}

// TestTooLittleTimeIsSaidAtOnce: with the budget that would do, which then does.
func TestTooLittleTimeIsSaidAtOnce(t *testing.T) {
	for _, p := range []Paper{nqueens, automatic, sais} {
		synctest.Test(t, func(t *testing.T) {
			start, o := time.Now(), options(&fakeRunner{takes: onTwoCPUs(1)}, 5*time.Second)
			run, err := Start(t.Context(), []Paper{p}, o)
			var little paper.TooLittle
			require.ErrorAs(t, err, &little, p.Name)
			assert.Nil(t, run)
			assert.Less(t, time.Since(start), time.Second, "only the probe was run")
			assert.Equal(t, "5s is too little time for a verdict of "+p.Name+"; "+paper.Budget(little.Need)+" would do", err.Error())
			for _, budget := range []time.Duration{o.Budget, little.Need} {
				o.Budget, o.Anyway = budget, true
				run, err = Start(t.Context(), []Paper{p}, o)
				require.NoError(t, err)
				require.NoError(t, run.Finish(t.Context()))
			}
			if lacks := p.lacks(o.Machine, run.Results); !p.whole {
				assert.Zero(t, lacks)
				assert.NotContains(t, p.Section(o.Machine, run.Results).Answer, "too few runs")
			}
		})
	}
}

// TestTheAnswerSaysWhichBudgetGivesAVerdict: it goes by how long the rounds took.
func TestTheAnswerSaysWhichBudgetGivesAVerdict(t *testing.T) {
	quiet, load := queensCell("16 quiet", 2, 0.01, 0, 0), under(queensCell("16 noise", 0, 0.01, 0, 0))
	for i := range quiet.Runs {
		quiet.Runs[i].Wall = 6 * time.Second
	}
	// Five rounds of twice three runs of 6 s, and a quarter more; the other cell has no run yet.
	assert.Contains(t, nqueens.Section(two, []bench.Results{quiet, load}).Answer, "too few runs. Under load: not measured. A verdict in every cell takes a budget of about 4m.")

	few, none := queensCell("16 quiet", 4, 0.01, 0, 0), under(queensCell("16 noise", 4, 0.01, 0, 0))
	for i := range few.Runs {
		few.Runs[i].Wall, none.Runs[i].Wall = time.Second, time.Second
	}
	// A round more would do, but 24 s were spent for this.
	assert.Equal(t, 50*time.Second, nqueens.lacks(two, []bench.Results{few, none}))
	for i := range few.Runs {
		few.Runs[i].Seconds, few.Runs[i].Wall = 0.012, 15*time.Millisecond
	}
	assert.Equal(t, 10*time.Second, nqueens.lacks(two, []bench.Results{few}), "what runs of 50 ms would take")
	assert.InDelta(t, 0.045, roundTook(few), 1e-9, "a study that is resumed plans with what they do take")
}
