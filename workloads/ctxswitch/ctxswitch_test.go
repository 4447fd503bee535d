package ctxswitch

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/chart"
	"piton/internal/child"
	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// TestMain is the processes too: started with peerWord first, this binary is one
// of them.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == peerWord {
		os.Exit(child.Main(os.Stdin, os.Stdout, runProcess))
	}
	os.Exit(m.Run())
}

const peerWord = "piton-test-peer"

func options(change func(*Options)) Options {
	o := Options{Mode: Pipe, Procs: 2, Rounds: 500, Ms: 60, Command: []string{os.Args[0], peerWord}, Scheduler: kernel.System()}
	// Keeps the race detector from waiting a second at each process's end.
	_ = os.Setenv("GORACE", "atexit_sleep_ms=0")
	if change != nil {
		change(&o)
	}
	return o
}

func TestTokenGoesRound(t *testing.T) {
	home, err := kernel.System().Affinity(0)
	require.NoError(t, err)
	for _, mode := range []Mode{Pipe, Futex} {
		for _, o := range []Options{{Procs: 2, KiB: 0}, {Procs: 3, KiB: 16}, {Procs: 7, KiB: 1}} {
			r, err := Run(t.Context(), options(func(all *Options) { all.Mode, all.Procs, all.KiB = mode, o.Procs, o.KiB }))
			require.NoError(t, err, "%s %+v", mode, o)
			assert.Equal(t, map[int]string{2: "1000", 3: "1500", 7: "3500"}[o.Procs], r.Answer)
			require.NotNil(t, r.Ring)
			assert.Positive(t, r.Ring.PassUs)
			assert.Positive(t, r.Ring.OverheadUs)
			assert.Equal(t, max(r.Ring.PassUs-r.Ring.OverheadUs, 0), r.Switch())
			assert.LessOrEqual(t, r.Ring.BestPassUs, r.Ring.PassUs)
			assert.Equal(t, int(home.Last()), r.CPU)
			assertPicture(t, r)
		}
	}
	now, err := kernel.System().Affinity(0)
	require.NoError(t, err)
	assert.Equal(t, home, now)
}

func assertPicture(t *testing.T, r Result) {
	t.Helper()
	b, err := json.Marshal(r)
	require.NoError(t, err)
	var back Result
	require.NoError(t, json.Unmarshal(b, &back))
	assert.Equal(t, r.Picture(100), back.Picture(100))
	for _, width := range []int{0, 5, 40, 120} {
		for _, l := range r.Picture(width) {
			assert.LessOrEqual(t, utf8.RuneCountInString(l), width)
		}
	}
}

func TestProcessesTakeTurns(t *testing.T) {
	r, err := Run(t.Context(), options(func(o *Options) { o.Mode, o.Procs, o.Ms = Turns, 3, 200 }))
	if err != nil && strings.Contains(err.Error(), "was done before another began") {
		t.Skip("the machine is too busy: ", err)
	}
	require.NoError(t, err)
	assert.Equal(t, "3", r.Answer)
	require.NotNil(t, r.Turn)
	assert.Len(t, r.Turn.Shares, 3)
	var sum float64
	for _, s := range r.Turn.Shares {
		sum += s.Share
	}
	assert.LessOrEqual(t, sum, 1.0001, "one CPU")
	assert.Equal(t, r.Turn.HandoverUs, r.Switch())
	assertPicture(t, r)
}

// TestJobsAreChecked: what a process reads on its standard input.
func TestJobsAreChecked(t *testing.T) {
	good := job{Options: options(func(o *Options) { o.KiB = MaxKiB }), Index: 1}
	require.NoError(t, good.check())
	for want, change := range map[string]func(*job){
		"the mode must be one of [pipe futex turns], not \\\"x\\\"": func(j *job) { j.Mode = "x" },
		"processes must be 2 to 64, not 65":                         func(j *job) { j.Procs = MaxProcs + 1 },
		"processes must be 2 to 64, not 1":                          func(j *job) { j.Procs = 1 },
		"must be one of 0 to 1, not 2":                              func(j *job) { j.Index = 2 },
		"must be one of 0 to 1, not -1":                             func(j *job) { j.Index = -1 },
		"must be 0 to 16384 KiB, not 16385":                         func(j *job) { j.KiB++ },
		"must be 0 to 16384 KiB, not -1":                            func(j *job) { j.KiB = -1 },
		"rounds must be 10 to 100000000, not 9":                     func(j *job) { j.Mode, j.Rounds = Futex, MinRounds-1 },
		"the time must be 10 to 60000 ms, not 60001":                func(j *job) { j.Mode, j.Ms = Turns, MaxMs+1 },
	} {
		bad := good
		change(&bad)
		in, err := json.Marshal(bad)
		require.NoError(t, err)
		var out strings.Builder
		assert.Equal(t, 1, child.Main(strings.NewReader(string(in)), &out, runProcess))
		assert.Contains(t, out.String(), want)
		assert.Equal(t, 1, strings.Count(out.String(), "\n"))
	}
}

func TestEndsWithItsContext(t *testing.T) {
	for _, mode := range Modes {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		_, err := Run(ctx, options(func(o *Options) { o.Mode, o.Rounds, o.Ms = mode, MaxRounds, MaxMs }))
		assert.ErrorIs(t, err, context.DeadlineExceeded, mode)
		cancel()
	}
}

func TestProcessThatCannotRun(t *testing.T) {
	for want, command := range map[string][]string{
		"start process 1 of 2": {"/does/not/exist"},
		"ended without":        {"/bin/true"},
	} {
		_, err := Run(t.Context(), options(func(o *Options) { o.Command = command }))
		assert.ErrorContains(t, err, want)
	}
}

// refusing refuses to set affinities; other calls panic on the nil interface.
type refusing struct{ kernel.Own }

func (refusing) Affinity(kernel.TID) (cpuset.Set, error)  { return cpuset.Of(0, 4), nil }
func (refusing) SetAffinity(kernel.TID, cpuset.Set) error { return errors.New("refused") }

func TestRefusedCPUIsAnError(t *testing.T) {
	_, err := Run(t.Context(), options(func(o *Options) { o.Scheduler = refusing{} }))
	assert.ErrorContains(t, err, "go to CPU 4: refused")
}

func TestLostTokensAreFound(t *testing.T) {
	r := Result{Options: options(func(o *Options) { o.KiB, o.Rounds = 1, 10 })}
	sum := uint64(128 * 127 / 2 * 10)
	good := []report{{Index: 0, Tokens: 10, Sum: sum, Ring: &Ring{}}, {Index: 1, Tokens: 10, Sum: sum}}
	require.NoError(t, r.takeRing(good))
	assert.Equal(t, "20", r.Answer)
	for want, spoil := range map[string]func([]report){
		"process 1 had 9 tokens of 10": func(p []report) { p[1].Tokens = 9 },
		"process 1 read a sum of 5":    func(p []report) { p[1].Sum = 5 },
		"did not say":                  func(p []report) { p[0].Ring = nil },
	} {
		bad := []report{good[0], good[1]}
		spoil(bad)
		assert.ErrorContains(t, r.takeRing(bad), want)
	}
}

func TestWrongTokenIsFound(t *testing.T) {
	var r report
	require.NoError(t, taken(fixed(3), nil, 3, &r))
	assert.ErrorContains(t, taken(fixed(4), nil, 3, &r), "token 4 came where 3 was due in round 1")
}

type fixed byte

func (fixed) send(byte) error          { return nil }
func (f fixed) receive() (byte, error) { return byte(f), nil }
func (fixed) alone(byte) error         { return nil }

func TestTurnsFromSpans(t *testing.T) {
	r := Result{Options: Options{Procs: 2}}
	const ms = 1_000_000
	// Process 0 is interrupted in its first turn; somebody else runs between 17 and 20 ms.
	require.NoError(t, r.takeTurns([]report{
		{Index: 0, Spans: []span{{0, 1 * ms}, {1*ms + 5000, 4 * ms}, {8 * ms, 12 * ms}, {20 * ms, 24 * ms}, {28 * ms, 32 * ms}}},
		{Index: 1, Spans: []span{{1 * ms, 1*ms + 1}, {4*ms + 2000, 8*ms - 2000}, {12*ms + 2000, 17 * ms}, {24*ms + 2000, 28*ms - 3000}}},
	}))
	turn := r.Turn
	assert.InDelta(t, 27, turn.WindowMs, 0.1, "from 1 to 28 ms")
	assert.Equal(t, 5, turn.Turns, "of seven, the window cuts the first and the last")
	assert.InDelta(t, 2, turn.HandoverUs, 0.1)
	assert.Less(t, turn.Direct, turn.Handovers)
	assert.InDelta(t, 5000, turn.LongestTurnUs, 3)
	assert.InDelta(t, 1, turn.Shares[0].Share+turn.Shares[1].Share+3.0/27, 0.01)
}

func TestTwoAtOnceAreFound(t *testing.T) {
	r := Result{Options: Options{Procs: 2}, CPU: 3}
	err := r.takeTurns([]report{{Index: 0, Spans: []span{{0, 10_000}}}, {Index: 1, Spans: []span{{5000, 20_000}}}})
	assert.ErrorContains(t, err, "processes 0 and 1 ran at once for 5000 ns though they share CPU 3")
	assert.ErrorContains(t, r.takeTurns([]report{{Index: 0, Spans: []span{{0, 10}}}, {Index: 1}}), "process 1 never ran")
	err = r.takeTurns([]report{{Index: 0, Spans: []span{{0, 10_000}}}, {Index: 1, Spans: []span{{15_000, 20_000}}}})
	assert.ErrorContains(t, err, "was done before another began")
}

func FuzzTurns(f *testing.F) {
	f.Add(uint64(1), 3, 40)
	f.Fuzz(func(t *testing.T, seed uint64, procs, spans int) {
		if procs < 2 || procs > 8 || spans < 0 || spans > 200 {
			t.Skip()
		}
		rng := rand.New(rand.NewPCG(seed, 1))
		reports := make([]report, procs)
		for i := range reports {
			reports[i].Index = i
		}
		at := int64(0)
		for range spans {
			p := &reports[rng.IntN(procs)]
			length := rng.Int64N(5_000_000) + 1
			p.Spans = append(p.Spans, span{at, at + length})
			at += length + rng.Int64N(10_000)
		}
		r := Result{Options: Options{Procs: procs}}
		if r.takeTurns(reports) != nil {
			return
		}
		var sum float64
		for _, s := range r.Turn.Shares {
			sum += s.Share
		}
		if sum > 1.001 || r.Turn.Direct > r.Turn.Handovers || r.Turn.Turns > r.Turn.Handovers {
			t.Fatalf("%+v", r.Turn)
		}
		r.Picture(80)
	})
}

// TestPictureOfADamagedTurn: a file of results may say anything.
func TestPictureOfADamagedTurn(t *testing.T) {
	for _, window := range []float64{0, -1, 5} {
		r := Result{Turn: &Turn{WindowMs: window, Shares: make([]Share, 1), Timeline: []Active{{0, 1, 2}, {7, 0, 9}, {-1, 0, 9}, {0, -9, 9}, {0, 9, 3}}}}
		require.NotPanics(t, func() { r.Picture(80); r.Figures() })
	}
}

// BenchmarkAgainstPerf runs both in turn on one CPU and reports the ratio of the
// medians of a round trip's mean time, piton over perf bench sched pipe.
// -benchtime 11x gives eleven rounds.
func BenchmarkAgainstPerf(b *testing.B) {
	perf, err := exec.LookPath("perf")
	if err != nil {
		b.Skip("perf is not installed")
	}
	taskset, err := exec.LookPath("taskset")
	if err != nil {
		b.Skip("taskset is not installed")
	}
	const rounds = "100000"
	cpu := ""
	var inPerf, inGo, passes []float64
	for b.Loop() {
		r, err := Run(b.Context(), options(func(o *Options) { o.Rounds = 100_000 }))
		require.NoError(b, err)
		inGo, passes = append(inGo, r.Ring.RoundTripUs), append(passes, 2*r.Ring.PassUs)
		cpu = cpuset.Of(cpuset.CPU(r.CPU)).String()
		out, err := exec.Command(taskset, "-c", cpu, perf, "bench", "-f", "simple", "sched", "pipe", "-l", rounds).Output()
		require.NoError(b, err)
		var seconds float64
		require.NoError(b, json.Unmarshal([]byte(strings.TrimSpace(string(out))), &seconds))
		inPerf = append(inPerf, seconds*1e6/100_000)
	}
	b.ReportMetric(chart.Middle(inPerf), "perf-µs")
	b.ReportMetric(chart.Middle(inGo), "piton-µs")
	b.ReportMetric(chart.Middle(inGo)/chart.Middle(inPerf), "piton/perf")
	b.ReportMetric(chart.Middle(passes), "piton-2×median-pass-µs")
}
