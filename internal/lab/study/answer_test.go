package study

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/auto"
	"piton/internal/bench"
	"piton/internal/chart"
	"piton/internal/paper"
	"piton/internal/report"
	activitywork "piton/workloads/activity"
	chatwork "piton/workloads/chat"
	ctxswitchwork "piton/workloads/ctxswitch"
	memlatwork "piton/workloads/memlat"
	streamwork "piton/workloads/stream"
	stripiowork "piton/workloads/stripio"
)

// placed is a placement's middle figure.
type placed struct {
	p     bench.Placement
	value float64
}

// madeUp is a cell with so many runs of each placement, which differ by spread.
func madeUp(p Paper, key string, n int, spread float64, all ...placed) bench.Results {
	r := bench.Results{ID: key, Study: bench.Study{Workload: p.Name, Cell: p.Name + " " + key, Grid: "g"}}
	for k, one := range all {
		r.Study.Placements = append(r.Study.Placements, one.p)
		for i := range n {
			v := one.value * (1 + spread*(float64((i*7+k*3)%10)/9-0.5))
			r.Runs = append(r.Runs, bench.RunResult{Workload: p.Name, Placement: one.p, Index: i, Answer: "1", Seconds: 1, Metric: v, Detail: json.RawMessage(`{}`)})
		}
	}
	return r
}

// seconds makes the figures of a cell the times of its work.
func seconds(r bench.Results) bench.Results {
	for i := range r.Runs {
		r.Runs[i].Seconds = r.Runs[i].Metric
	}
	return r
}

// under is a cell with background load.
func under(r bench.Results) bench.Results {
	r.Study.Noise = 2
	return r
}

// beside is a cell while others used so many CPUs.
func beside(r bench.Results, others float64) bench.Results {
	for i := range r.Runs {
		r.Runs[i].Others, r.Runs[i].HaveOthers, r.Runs[i].Wall = others, true, 1e9
	}
	return r
}

var two = paper.Machine{CPUs: cpus(2), Nodes: 1}

func queensCell(key string, n int, spread float64, fifo, rr float64) bench.Results {
	return seconds(madeUp(nqueens, key, n, spread, placed{bench.Normal, 6}, placed{pitonFIFO, 6 * (1 - fifo)}, placed{pitonRR, 6 * (1 - rr)}))
}

// withDetail gives all runs of a cell the workload's own result.
func withDetail(t *testing.T, r bench.Results, detail any) bench.Results {
	t.Helper()
	b, err := json.Marshal(detail)
	require.NoError(t, err)
	for i := range r.Runs {
		r.Runs[i].Detail = b
	}
	return r
}

// answers checks the first sentences of a study for made-up cells.
func answers(t *testing.T, p Paper, m paper.Machine, cases map[string][]bench.Results) {
	t.Helper()
	for want, all := range cases {
		assert.Equal(t, want, p.Section(m, all).Answer)
	}
}

func TestQueensAnswers(t *testing.T) {
	quiet := func(n, rounds int, spread, fifo, rr float64) bench.Results {
		return queensCell(fmt.Sprint(n, " quiet"), rounds, spread, fifo, rr)
	}
	load := func(n, rounds int, spread, fifo, rr float64) bench.Results {
		return under(queensCell(fmt.Sprint(n, " noise"), rounds, spread, fifo, rr))
	}
	then := "Published: pinning with FIFO or RR saved 5.6 to 8.4 % for 16 queens. "
	short := quiet(16, 6, 0.01, 0.1, 0.1)
	for i := range short.Runs {
		short.Runs[i].Seconds = 0.02
	}
	answers(t, nqueens, two, map[string][]bench.Results{
		then + "Today, quiet: no difference (±0.72 %). Under load: 70 to 71 % saved, because FIFO and RR run before the load, which waits.": {
			beside(quiet(16, 6, 0.01, 0, 0.001), 0.01), load(16, 6, 0.01, 0.7, 0.71)},
		then + "Today (not quiet: others used 1.3 CPUs): 5.0 to 8.1 % saved. Under load: not measured.":         {beside(quiet(16, 6, 0.01, 0.05, 0.08), 1.3)},
		then + "Today: 10 % lost. Under load: 5.0 % saved for piton FIFO, 1.9 % lost for piton RR.":             {quiet(16, 6, 0.01, -0.1, -0.1), load(16, 6, 0.01, 0.05, -0.02)},
		then + "Today: not enough evidence (an effect under 40 % would not be seen). Under load: not measured.": {quiet(16, 6, 0.5, 0, 0.001)},
		then + "Today: too few runs. Under load: not measured.":                                                 {quiet(16, 2, 0.01, 0.05, 0.08)},
		then + "Today: too short to judge. Under load: not measured.":                                           {short},
		"Published: pinning with FIFO or RR saved 2.3 to 8.4 % for 15 and 16 queens. Today: 15 queens: 2.2 to 3.0 % saved; 16 queens: no difference (±0.72 %). Under load: not measured.": {
			quiet(16, 6, 0.01, 0, 0.001), quiet(15, 8, 0.02, 0.02, 0.03)},
		"Published: pinning with FIFO or RR saved 2.3 to 8.4 % for 13 to 16 queens. Today: 5.0 to 8.1 % saved. Under load: not measured.": {quiet(12, 6, 0.01, 0.05, 0.08)},
		"Published: pinning with FIFO or RR saved 2.3 to 8.4 % for 13 to 16 queens. Nothing was measured here.":                           nil,
	})
}

func TestMatrixAnswers(t *testing.T) {
	rows := func(cores, n, threads, rounds int, spread, kernel, byHand float64) []bench.Results {
		return []bench.Results{seconds(madeUp(matrix, fmt.Sprintf("%d %d %d kernel", cores, n, threads), rounds, spread, placed{bench.Normal, kernel})),
			seconds(madeUp(matrix, fmt.Sprintf("%d %d %d manual", cores, n, threads), rounds, spread*0.9, placed{bench.Normal, byHand}))}
	}
	join := func(all ...[]bench.Results) (out []bench.Results) {
		for _, one := range all {
			out = append(out, one...)
		}
		return out
	}
	then := "Published: mapping threads manually gained 17 % in the rows measured here. "
	answers(t, matrix, two, map[string][]bench.Results{
		then + "Today: no difference (±0.58 %).":                                      rows(2, 500, 100, 8, 0.01, 1, 1),
		then + "Today: 25 % gained.":                                                  rows(2, 500, 100, 8, 0.01, 1, 0.8),
		then + "Today: 20 % lost.":                                                    rows(2, 500, 100, 8, 0.01, 1, 1.25),
		then + "Today: not enough evidence (an effect under 40 % would not be seen).": rows(2, 500, 100, 8, 0.6, 1, 1),
		then + "Today: too few runs.":                                                 rows(2, 500, 100, 2, 0.01, 1, 1),
		"Published: mapping threads manually gained 17 to 23 % in the rows measured here. Today: 2 cores, n 500: no difference (±0.58 %); 2 cores, n 1000: 25 % gained.": join(
			rows(2, 500, 100, 8, 0.01, 1, 1), rows(2, 1000, 1000, 8, 0.01, 1, 0.8)),
		"Published: mapping threads manually gained 8 to 198 %. Today, in rows that were not published: 25 % gained.": rows(2, 250, 100, 8, 0.01, 1, 0.8),
		"Published: mapping threads manually gained 17 % in the rows measured here. Today: no difference (±0.58 %), in rows that were not published: 25 % gained.": join(
			rows(2, 500, 100, 8, 0.01, 1, 1), rows(48, 500, 100, 8, 0.01, 1, 0.8)),
		"Published: mapping threads manually gained 8 to 198 %. Nothing was measured here.": nil,
	})
	s := matrix.Section(two, rows(2, 500, 100, 8, 0.01, 1, 0.8))
	require.Len(t, s.Compared, 1, "in JSON as in the table")
	assert.Equal(t, "2 500 100 kernel", s.Compared[0].Base)
	assert.Equal(t, "2 500 100 manual", s.Compared[0].Study)
	assert.InDelta(t, -0.2, s.Compared[0].Comparison.Delta, 0.01)
	assert.Equal(t, []string{"not run here: n 500 with 250 threads on 2 cores; n 500 with 500 threads on 2 cores; n 1000 on 2 cores; the rows of 4 cores"}, s.Notes)
	assert.Equal(t, [][]string{{"2", "500", "100", "920 ms", "1.08 s", "+17 %", "800 ms", "1 s", "+25 % (24 to 26 %)"}}, s.Tables[0].Rows)
	require.Len(t, s.Figures, 1)
	assert.InDelta(t, 0.174, *s.Figures[0].Plot.(chart.Effects).Rows[0].Published, 0.001)
	assert.Empty(t, matrix.Section(two, rows(2, 500, 100, 2, 0.01, 1, 0.8)).Figures, "nothing to draw")
}

func TestChatAnswers(t *testing.T) {
	cell := func(rounds int, mapping string, spread, rate float64) bench.Results {
		return withDetail(t, madeUp(chat, "1 "+mapping, rounds, spread, placed{bench.Normal, rate}), chatwork.Result{Heard: 10})
	}
	all := func(rounds int, spread, aggregate, pack float64) []bench.Results {
		return []bench.Results{cell(rounds, "kernel", spread, 1000), cell(rounds, "aggregate", spread*0.9, aggregate), cell(rounds, "pack", spread*0.8, pack), cell(rounds, "spread", spread, 1000)}
	}
	then := "Published: running threads of one address space together gave 63 to 157 % more speed. "
	answers(t, chat, two, map[string][]bench.Results{
		then + "Today: 20 to 50 % more messages/s.":                                                                        all(8, 0.01, 1200, 1500),
		then + "Today: 10 % fewer messages/s.":                                                                             all(8, 0.01, 900, 900),
		then + "Today: no difference (±0.58 %).":                                                                           all(8, 0.01, 1000, 1000),
		then + "Today: 20 % more messages/s for aggregate, no difference (±0.53 %) for pack.":                              all(8, 0.01, 1200, 1000),
		then + "Today: not enough evidence (an effect under 69 % would not be seen).":                                      all(8, 0.9, 1000, 1000),
		then + "Today: too few runs.":                                                                                      all(3, 0.01, 1200, 1500),
		"Published: running threads of one address space together gave 49 to 157 % more speed. Nothing was measured here.": nil,
	})
}

func TestStripAnswers(t *testing.T) {
	cell := func(key string, spread, rate float64) bench.Results {
		return withDetail(t, madeUp(stripio, key, 8, spread, placed{bench.Normal, rate}), stripiowork.Result{CPUPercent: 50})
	}
	all := func(spread, one, many float64) (out []bench.Results) {
		for apps := 1; apps <= 4; apps++ {
			rate := many
			if apps == 1 {
				rate = one
			}
			out = append(out, cell(fmt.Sprint(apps, " processes"), spread, 1000), cell(fmt.Sprint(apps, " threads"), spread*0.9, rate))
		}
		return out
	}
	then := "Published: threads of one process read up to 53.2 % more than processes where there were fewer applications than cores, and no more from there on. "
	answers(t, stripio, two, map[string][]bench.Results{
		then + "Today, with fewer: 40 % more; from there on: no difference (±0.58 %).":                                                                                         all(0.01, 1400, 1000),
		then + "Today, with fewer: no difference (±0.58 %); from there on: 10 % less.":                                                                                         all(0.01, 1000, 900),
		then + "Today, with fewer: not enough evidence (an effect under 40 % would not be seen); from there on: not enough evidence (an effect under 40 % would not be seen).": all(0.6, 1000, 1000),
		then + "Today, with fewer: 40 % more; from there on: not measured.":                                                                                                    all(0.01, 1400, 1000)[:2],
		then + "Nothing was measured here.": nil,
	})
}

func TestStreamAnswers(t *testing.T) {
	grid := func(verdict string, nodes int) []bench.Results {
		r := streamwork.Result{}
		for n := range nodes {
			for cpu := range 2 {
				r.Cells = append(r.Cells, streamwork.Cell{FromCPU: cpu, MemoryNode: n, Distance: 10 + 6*n, Ops: []streamwork.Op{{}, {}, {}, {MedianMBs: 11000 + 500*float64(cpu)}}})
			}
		}
		if verdict != "" {
			r.Fit = &streamwork.Fit{Verdict: verdict}
		}
		return []bench.Results{withDetail(t, madeUp(stream, "grid", 3, 0.01, placed{bench.Normal, 1}), r)}
	}
	then := "Published: at equal distances triad's bandwidth differed by 41 % (3014 to 4236 MB/s), so distances did not predict it. "
	answers(t, stream, two, map[string][]bench.Results{
		then + "Today: one node, so there are no distances to compare; triad reaches 11,000 to 11,500 MB/s.": grid("all distances are 10", 1),
		then + "Today: distance predicts bandwidth: 12 MB/s less for each unit, r² 0.99.":                    grid("distance predicts bandwidth: 12 MB/s less for each unit, r² 0.99", 2),
		then + "Today: distances were not compared.":                                                         grid("", 2),
		then + "Nothing was measured here.":                                                                  nil,
	})
}

func TestActivityAnswers(t *testing.T) {
	cell := func(key string, share float64) bench.Results {
		return withDetail(t, madeUp(activity, key, 3, 0.01, placed{leastLoaded, 1}), activitywork.Result{Share: share, MeanActiveNs: 4e6, CounterHz: 2e9})
	}
	then := "Published: 0.225 % of a CPU's time was lost to others, every 2.89 ms. "
	answers(t, activity, two, map[string][]bench.Results{
		then + "Today, quiet: 0.12 %, every 4 ms. Under load: 50 %, every 4 ms.": {beside(cell("quiet", 0.0012), 0), under(cell("noise", 0.5))},
		then + "Today: 0.12 %, every 4 ms. Under load: not measured.":            {cell("quiet", 0.0012)},
		then + "Today: not measured. Under load: 50 %, every 4 ms.":              {under(cell("noise", 0.5))},
		then + "Nothing was measured here.":                                      nil,
	})
}

func TestCtxswitchAnswers(t *testing.T) {
	turns := withDetail(t, madeUp(ctxswitch, "turns", 6, 0.01, placed{bench.Normal, 1}), ctxswitchwork.Result{Turn: &ctxswitchwork.Turn{MeanTurnUs: 3000, Turns: 7, WindowMs: 20}})
	pipe, futex := madeUp(ctxswitch, "pipe 0", 6, 0, placed{bench.Normal, 1.2}), madeUp(ctxswitch, "futex 0", 6, 0, placed{bench.Normal, 0.9})
	then := "Published: two busy processes on one CPU had turns of 2.54 ms, and a switch took 1.77 µs (3298 cycles, Core 2 Duo). "
	answers(t, ctxswitch, two, map[string][]bench.Results{
		then + "Today: turns of 3 ms, and a switch takes 1.20 µs by pipe and 900 ns by futex.":                     {turns, pipe, futex},
		then + "Today: turns were not measured, and a switch takes 1.20 µs by pipe and was not measured by futex.": {pipe},
		then + "Nothing was measured here.": nil,
	})
}

func TestMemlatAnswers(t *testing.T) {
	curve := func(levels ...memlatwork.Level) []bench.Results {
		return []bench.Results{withDetail(t, madeUp(memlat, "curve", 3, 0.01, placed{leastLoaded, 1}), memlatwork.Result{Curves: []memlatwork.Curve{{Levels: levels}}})}
	}
	first, memory := memlatwork.Level{Name: "L1", Ns: 1.6, Cycles: 5}, memlatwork.Level{Name: "memory", Ns: 80, Cycles: 250}
	then := "Published: a load from memory took 115 to 157 cycles, 50 to 58 times as long as one from L1. "
	answers(t, memlat, two, map[string][]bench.Results{
		then + "Today: 250 cycles (80 ns), 50 times as long as from L1.": curve(first, memory),
		then + "Today: 80 ns.":                  curve(memlatwork.Level{Name: "memory", Ns: 80}),
		then + "Today: memory was not reached.": curve(first),
		then + "Nothing was measured here.":     nil,
	})
}

func TestSaisAnswers(t *testing.T) {
	then := "Published: source-aware delivery of packets gave 6.05 % (1 Gb/s) to 23.6 % (3 Gb/s) more bandwidth. "
	answers(t, sais, two, map[string][]bench.Results{then + "Nothing was measured here.": nil})
	arms := func(request, rfs float64) *fakeDeliverer {
		return &fakeDeliverer{mbs: func(arm string) float64 {
			if rate, ok := map[string]float64{"request": request, "rfs": rfs}[arm]; ok {
				return rate
			}
			return 1000
		}}
	}
	without := arms(1, 1200)
	without.left = map[string]string{"request": "not supported here"}
	for want, f := range map[string]*fakeDeliverer{
		"Today, saturated: by XDP 40 % more, by the kernel 20 % less.":            arms(1400, 800),
		"Today, saturated: by XDP no difference (±0 %), by the kernel 20 % more.": arms(1000, 1200),
		"Today, saturated: by XDP not measured, by the kernel 20 % more.":         without,
	} {
		s, _ := saisOf(t, f, time.Minute)
		assert.Equal(t, then+want, s.Answer)
	}
	for want, f := range map[string]finding{
		"not enough evidence (an effect under 43 % would not be seen)": gained("", 0.05, -0.25, 0.35, true),
		"too few runs": gained("", 0.05, 0, 0, false),
		"not measured": ratioOf("", nil),
	} {
		assert.Equal(t, want, words{"more", "less"}.sum([]finding{f}))
	}
}

func TestAutomaticAnswers(t *testing.T) {
	cell := func(key string, kept, rounds int, kernels, best, kepts float64) bench.Results {
		d := searched{Candidates: []searchedCandidate{{Name: auto.Kernel}, {Name: "cpu 0"}, {Name: "cpu 1"}}, Manual: 1, Kept: kept}
		detail, err := json.Marshal(d)
		require.NoError(t, err)
		r := madeUp(automatic, key, rounds, 0, placed{bench.Normal, kernels}, placed{manualBest, best})
		if kept == 2 {
			r = madeUp(automatic, key, rounds, 0, placed{bench.Normal, kernels}, placed{manualBest, best}, placed{byAuto, kepts})
		}
		r.Runs = append(r.Runs, bench.RunResult{Placement: byAuto, Index: bench.WarmupIndex, Detail: detail})
		return r
	}
	answers(t, automatic, two, map[string][]bench.Results{
		"Without load, piton auto compared with the kernel's placement: 25 % more work; with the best of all candidates: the same placement.": {
			cell("nqueens quiet", 1, 8, 100, 125, 0)},
		"Without load, piton auto compared with the kernel's placement: 10 % more work; with the best of all candidates: 12 % less work.": {
			cell("nqueens quiet", 2, 8, 100, 125, 110)},
		"Without load, piton auto compared with the kernel's placement: 25 % more work for nqueens, the same placement for chat; with the best of all candidates: 25 % more work for chat, the same placement for nqueens. Under load, piton auto compared with the kernel's placement: the same placement; with the best of all candidates: 25 % more work.": {
			cell("nqueens quiet", 1, 8, 100, 125, 0), cell("chat quiet", 0, 8, 100, 80, 0), cell("chat noisy", 0, 8, 100, 80, 0)},
		"Without load, piton auto compared with the kernel's placement: too few runs; with the best of all candidates: the same placement.": {
			cell("nqueens quiet", 1, 2, 100, 125, 0)},
		"Nothing was measured here.": nil,
	})
}

// TestQueensPage is what a reader gets: the answer, the picture, the table and what was not run.
func TestQueensPage(t *testing.T) {
	all := []bench.Results{beside(queensCell("16 quiet", 6, 0.01, 0, 0.001), 0.01), under(queensCell("16 noise", 6, 0.01, 0.7, 0.71)),
		beside(queensCell("15 quiet", 8, 0.02, 0.02, 0.03), 0.02), under(queensCell("15 noise", 8, 0.02, 0.69, 0.7))}
	var out bytes.Buffer
	require.NoError(t, report.Text(&out, nqueens.Section(two, all), 100))
	tables := paper.Sections(registered()[:2], two, all)[1].Tables
	assert.Equal(t, "Conditions", tables[len(tables)-1].Title)
	assert.True(t, tables[len(tables)-1].Folded)
	assert.Equal(t, strings.TrimPrefix(queensPage, "\n"), regexp.MustCompile(` +\n`).ReplaceAllString(out.String(), "\n"))
}

const queensPage = `
N-Queens: pinned and real-time (PI-Tool)
Published: pinning with FIFO or RR saved 2.3 to 8.4 % for 15 and 16 queens. Today, quiet: 15 queens:
2.2 to 3.0 % saved; 16 queens: no difference (±0.72 %). Under load: 69 to 71 % saved, because FIFO
and RR run before the load, which waits.
Published 2014: Intel Core i7-4770K, 4 cores, 8 threads, 3.5 GHz, Linux 3.14; FIFO and RR at
priority 6, pinned to one CPU.
Load: 2 busy processes, which the kernel may put on any CPU.

Time saved compared with normal
                       2.8 % slower       0            2 %          4 %           6 %         faster
16 queens, piton FIFO                  ├──●───┤                                 ○
16 queens, piton RR                     ├──●──┤                                                    ○
15 queens, piton FIFO                     │        ├─────●○──┤
15 queens, piton RR                       │               ├───●─○───┤
● estimate, ├─┤ its 95 % interval, ○ published

Time saved compared with normal, under load
                       24 % slower        0             20 %            40 %            60 %  faster
16 queens, piton FIFO                     │                                                       ●
16 queens, piton RR                       │                                                        ●
15 queens, piton FIFO                     │                                                      ●
15 queens, piton RR                       │                                                       ●
● estimate, ├─┤ its 95 % interval

Published and today
queens  placement   published   saved   today                      saved  under load  saved
    16  normal       05:02:57       –     6 s                          –         6 s      –
    16  piton FIFO   04:46:00  +5.6 %  5.99 s   0.00 % (−0.44 to 0.55 %)      1.80 s  +70 %
    16  piton RR     04:37:30  +8.4 %  5.99 s  +0.21 % (−0.23 to 0.65 %)      1.74 s  +71 %
    15  normal       00:40:35       –     6 s                          –         6 s      –
    15  piton FIFO   00:39:39  +2.3 %  5.87 s      +2.2 % (1.3 to 2.9 %)      1.86 s  +69 %
    15  piton RR     00:39:15  +3.3 %  5.82 s      +3.0 % (2.3 to 3.9 %)      1.80 s  +70 %
note: not run here: 13 and 14 queens; tuna, which is not installed
`

// TestGainRulesOutItsInterval: a share of the time that is saved is a larger one of what is left.
func TestGainRulesOutItsInterval(t *testing.T) {
	f := finding{EffectRow: chart.EffectRow{Value: 0.05, Low: -0.01, High: 0.09, HaveInterval: true}, kind: same, bound: 0.09}.gain()
	assert.InDelta(t, 0.09/0.91, f.High, 1e-9)
	assert.InDelta(t, f.High, f.bound, 1e-9)
}
