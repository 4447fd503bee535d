package study

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/bench"
	"piton/internal/cpuset"
	"piton/internal/lab/stripnet"
	"piton/internal/procfs"
	"piton/internal/report"
	stripiowork "piton/workloads/stripio"
)

// fakeDeliverer makes cells of fixed figures.
type fakeDeliverer struct {
	*fakeRunner
	shares []time.Duration
	// mbs is an arm's bandwidth; nil is 1000 MB/s for all.
	mbs   func(arm string) float64
	costs *stripiowork.Costs
	left  map[string]string
}

func (f *fakeDeliverer) Cell(ctx context.Context, s bench.Study, within time.Duration, _ func(bench.RunResult)) (runs []bench.RunResult, err error) {
	f.shares = append(f.shares, within)
	select {
	case <-time.After(within):
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	values, err := stripnet.Workload.Parse(s.Args)
	if err != nil {
		return nil, err
	}
	for round := range 8 {
		for _, p := range s.Placements {
			if f.left[string(p)] != "" {
				continue
			}
			mbs := 1000.
			if f.mbs != nil {
				mbs = f.mbs(string(p))
			}
			mbs *= 1 + 0.01*float64(round) // the machine gets faster for all of them
			detail, _ := json.Marshal(stripnet.Reading{Seconds: 1, Transfers: 900, MBs: mbs, CPUNsPerKB: 1e6 / mbs, P50: 1500, P99: 4000, SameCPU: 0.5, Migrations: 7, HaveMigrations: true, MissesWhy: "no PMU here"})
			runs = append(runs, bench.RunResult{Placement: p, Index: round, Seconds: 1, Metric: mbs, Answer: "whole", Detail: detail})
		}
	}
	detail, _ := json.Marshal(delivered{Servers: values.Int("servers"), CPUs: 2, Costs: f.costs, CostsWhy: "one CPU", LeftOut: f.left})
	return append(runs, bench.RunResult{Placement: "default", Index: bench.WarmupIndex, Detail: detail}), nil
}

// saisOf is the study made with a fake.
func saisOf(t *testing.T, f *fakeDeliverer, budget time.Duration) (s report.Section, run *Run) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f.fakeRunner = &fakeRunner{}
		o := options(f.fakeRunner, budget)
		o.Makers["sais"], o.Anyway = f, true
		var err error
		run, err = Start(t.Context(), []Paper{sais}, o)
		require.NoError(t, err)
		start := time.Now()
		require.NoError(t, run.Finish(t.Context()))
		assert.LessOrEqual(t, time.Since(start), budget)
		s = sais.Section(o.Machine, run.Results)
	})
	return s, run
}

func tableOf(s report.Section, title string) report.Table {
	for _, t := range s.Tables {
		if t.Title == title {
			return t
		}
	}
	return report.Table{}
}

const modelTitle = "The study's cost model, with P and M measured here"

func TestSaisFitsTheBudget(t *testing.T) {
	most := 0
	for _, budget := range []time.Duration{20 * time.Second, time.Minute, 5 * time.Minute} {
		f := &fakeDeliverer{}
		_, run := saisOf(t, f, budget)
		assert.GreaterOrEqual(t, len(run.Results), max(most, 1))
		most = len(run.Results)
		assert.Len(t, f.shares, most)
	}
	assert.Equal(t, len(saisLoads[1]), most, "five minutes are enough for loads of each kind")
}

// TestSaisReproduces: the study's order and its model, with fixed figures.
func TestSaisReproduces(t *testing.T) {
	faster := func(arm string) float64 {
		switch arm {
		case "rfs", "request", "current":
			return 1400
		case "least-loaded", "dedicated", "fixed":
			return 1000
		}
		return 1300
	}
	s, _ := saisOf(t, &fakeDeliverer{mbs: faster, costs: &stripiowork.Costs{Strip: 10e-6, Move: 100e-6}}, 5*time.Minute)
	lead := strings.Join(s.Lead, "\n")
	assert.Contains(t, lead, "is reproduced in bandwidth when saturated: request core (request) against least-loaded core (least-loaded) +40 % (40 to 40 %); request core (request) against dedicated core (dedicated) +40 % (40 to 40 %); current core (current)")
	assert.Contains(t, lead, "P, to process a strip, is 10 µs and M, to move one between caches, 100 µs, so it has source-aware delivery win")

	published := tableOf(s, "Published and today")
	assert.Equal(t, []string{"bandwidth, 3 Gb/s, most servers (48; 16 today)", "+23.57 %", "+40 % (40 to 40 %)", "+40 % (40 to 40 %)"}, published.Rows[1])
	assert.Equal(t, []string{"CPU time (unhalted cycles), 1 Gb/s and 3 Gb/s", "−27 % and −48.57 %", "−29 %", "−29 %"}, published.Rows[5])

	today := tableOf(s, "Today")
	require.Len(t, today.Rows, len(saisLoads[1])*len(deliveryArms))
	assert.Equal(t, []string{"1", "saturated", "rfs", "1,450 MB/s", "+7.7 % (7.7 to 7.7 %)", "690 ns", "1.50 ms", "4 ms", "50 %", "7 /s", "–"}, today.Rows[1])

	// α = 16/2, N_C = 2 and N_R = 1300·1.035e6/2^20 = 1283: (2−1)·1283·8·90 µs = 924 ms.
	model := tableOf(s, modelTitle)
	require.Len(t, model.Rows, 3)
	assert.Equal(t, []string{"1", "10 µs", "100 µs", "2", "8", "1283", "924 ms", "400 ms (400 ms to 400 ms)", "400 ms (400 ms to 400 ms)"}, model.Rows[0])
	assert.Contains(t, s.Notes, "cache misses were not counted: no PMU here")
	require.Len(t, s.Figures, 2)
	assert.False(t, s.Figures[0].Plot.Empty())
	assert.False(t, s.Figures[1].Plot.Empty())
}

func TestSaisThatDoesNotReproduce(t *testing.T) {
	for name, test := range map[string]struct {
		aware float64
		want  []string
	}{
		"the same": {1000, []string{"is not reproduced in bandwidth", "against dedicated core (dedicated) "}},
		"reversed": {500, []string{"is reversed in bandwidth", "against dedicated core (dedicated) −50 % (−50 to −50 %)"}},
	} {
		s, _ := saisOf(t, &fakeDeliverer{costs: &stripiowork.Costs{Strip: 10e-6, Move: 1e-6}, mbs: func(arm string) float64 {
			if arm == "request" || arm == "current" {
				return test.aware
			}
			return 1000
		}}, time.Minute)
		lead := strings.Join(s.Lead, "\n")
		for _, want := range append(test.want, "so it promises source-aware delivery nothing") {
			assert.Contains(t, lead, want, name)
		}
	}
}

// TestSaisWithoutXDP: RFS and RPS stand for the policies that they have.
func TestSaisWithoutXDP(t *testing.T) {
	left := map[string]string{}
	for _, arm := range []string{"xdp-pass", "request", "current", "least-loaded", "dedicated", "apart", "hint"} {
		left[arm] = "not supported here"
	}
	s, _ := saisOf(t, &fakeDeliverer{left: left}, time.Minute)
	lead := strings.Join(s.Lead, "\n")
	assert.Contains(t, lead, "current core (rfs) against least-loaded core (rps-least-loaded) ")
	assert.NotContains(t, lead, "by XDP")
	assert.Contains(t, lead, "P and M were not measured: one CPU.")
	assert.Contains(t, s.Notes, "request was left out: not supported here")
	assert.Empty(t, tableOf(s, modelTitle).Rows)

	left["rfs"] = "not permitted"
	s, _ = saisOf(t, &fakeDeliverer{left: left}, time.Minute)
	assert.Contains(t, strings.Join(s.Lead, "\n"), "The study's order of its policies is not judged")
}

func TestRatiosInWords(t *testing.T) {
	for want, f := range map[string]finding{
		"–":                     gained("", math.NaN(), 0, 0, false),
		"too few runs":          gained("", 0.05, 0, 0, false),
		"+5.0 % (2.0 to 8.0 %)": gained("", 0.05, 0.02, 0.08, true),
		"−5 % (−10 to 1 %)":     gained("", -0.05, -0.1, 0.01, true),
	} {
		assert.Equal(t, want, f.cell())
	}
	assert.Equal(t, bench.None, ratioOf("", nil).cell())
}

func TestMostIdle(t *testing.T) {
	at := func(idle ...uint64) (c procfs.Counters) {
		for i, v := range idle {
			c.CPUs = append(c.CPUs, procfs.CPUTimes{CPU: cpuset.CPU(i), Idle: v})
		}
		return c
	}
	cpus := []cpuset.CPU{0, 2}
	assert.Equal(t, 1, mostIdle(cpus, at(10, 10, 10), at(12, 20, 13), 0))
	assert.Equal(t, 1, mostIdle(cpus, at(10, 10, 10), at(12, 20, 12), 1), "it stays where none is idler")
	assert.Equal(t, 0, mostIdle(cpus, at(10, 10, 10), at(13, 20, 12), 1))
}

func TestEveryPolicyHasAnArm(t *testing.T) {
	for _, p := range append(sourceAware, balanced...) {
		assert.True(t, slices.ContainsFunc(deliveryArms, func(a deliveryArm) bool { return a.name == p.arm }), p)
	}
}
