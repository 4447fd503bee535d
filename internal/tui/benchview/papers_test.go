package benchview

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	_ "piton/internal/lab/study"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/bench"
	"piton/internal/bench/store"
	"piton/internal/paper"
	"piton/internal/tui/dialog"
	"piton/internal/tui/theme"
	"piton/internal/tuitest/golden"
)

var twoCPUs = paper.Machine{CPUs: []int{0, 1}, Nodes: 1, Tuna: true}

// fakePapers measures nothing: its cells get figures that are the same each time.
type fakePapers struct {
	asked  []string
	budget time.Duration
	hang   bool
}

func (f *fakePapers) Run(ctx context.Context, chosen []paper.Paper, budget time.Duration, on func(paper.Progress)) (bench.Grid, []bench.Results, string, error) {
	f.budget = budget
	for _, p := range chosen {
		f.asked = append(f.asked, p.Name)
	}
	g := bench.Grid{ID: "20261120T140200Z-0a0b0c0d", Papers: f.asked, Started: time.Date(2026, 11, 20, 14, 2, 0, 0, time.UTC)}
	all := queensCells(g.ID, 2)
	on(paper.Progress{Grid: g, Paper: "nqueens", Cell: "14 noise", Round: 2, Cells: 2, Of: 8, Left: 83 * time.Second, Result: all,
		Run: bench.RunResult{PID: 3641, Placement: "least-loaded+fifo:6"}})
	if f.hang {
		<-ctx.Done()
		return g, all, "", ctx.Err()
	}
	return g, queensCells(g.ID, 6), "", nil
}

// queensCells are cells of the N-Queens table with so many rounds.
func queensCells(grid string, rounds int) []bench.Results {
	var out []bench.Results
	for i, key := range []string{"14 quiet", "14 quiet tuna", "14 noise", "14 noise tuna"} {
		s := bench.Study{Workload: "nqueens", Args: []string{"-n", "14", "--threads", "1"}, Runs: 10, Noise: 2 * (i / 2), Grid: grid, Cell: "nqueens " + key,
			Placements: []bench.Placement{"normal", "least-loaded", "least-loaded+fifo:6", "least-loaded+rr:6"}}
		if strings.HasSuffix(key, "tuna") {
			s.Placements = []bench.Placement{"cpu:0+fifo:6", "cpu:0+rr:6"}
		}
		r := bench.Results{ID: fmt.Sprint(grid, i), Started: time.Date(2026, 11, 20, 14, 2, i, 0, time.UTC), Study: s,
			Conditions: bench.Conditions{Host: "web-07", Kernel: "6.18.5", Governor: "performance"}}
		for round := range rounds {
			for k, p := range s.Placements {
				seconds := 0.151 + 0.002*float64(k) + 0.1*float64(i/2) + 0.001*float64((round*3+k)%5)
				r.Runs = append(r.Runs, bench.RunResult{Workload: "nqueens", Placement: p, Index: round, Answer: "365596", Seconds: seconds, Metric: seconds,
					Wall: 150 * time.Millisecond, Detail: json.RawMessage(`{}`)})
			}
		}
		out = append(out, r)
	}
	return out
}

func newPapersPilot(t *testing.T, f *fakePapers, s Store) *pilot {
	p := newPilot(t, &fakeRunner{}, s)
	p.view.o.Papers, p.view.o.Machine, p.view.o.Reports = f, twoCPUs, t.TempDir()
	return p
}

func TestAPaperFromMenuToTable(t *testing.T) {
	f := &fakePapers{}
	kept := &fakeStore{}
	p := mustOpen(t, newPapersPilot(t, f, kept))
	assert.Contains(t, text(p.view, 100, 24), "p reproduce a published study")
	g := bench.Grid{ID: "20261120T140200Z-0a0b0c0d", Papers: []string{"nqueens"}, Started: time.Date(2026, 11, 20, 14, 2, 0, 0, time.UTC), Ended: time.Date(2026, 11, 20, 14, 3, 0, 0, time.UTC)}
	kept.history = store.History{Studies: queensCells(g.ID, 6), Grids: []bench.Grid{g}}
	p.press("p enter") // the first paper
	p.press("up enter")
	assert.Equal(t, []string{"nqueens"}, f.asked)
	assert.Equal(t, time.Minute, f.budget)
	assert.False(t, p.view.Running())
	out := text(p.view, 140, 60)
	for _, want := range []string{"Reproduced studies: nqueens", "done", "Published: pinning with FIFO or RR saved 3.5 to 4.6 % for 14 queens. Today: ", "tuna FIFO", "00:05:33", "157 ms", "piton least-loaded", "not run here: 13, 15 and 16 queens"} {
		assert.Contains(t, out, want)
	}
	require.Len(t, p.view.Rows(), 1, "cells are one line")
	assert.Contains(t, out, "72 of 72 runs right")

	p.press("enter") // the same from the history
	assert.Contains(t, text(p.view, 140, 60), "2026-11-20 14:02")
	p.press("v")
	shown := ansi.Strip(p.open.Top().Render(100, 200, plain))
	assert.Contains(t, shown, "Time saved compared with normal, under load")
	assert.Regexp(t, `14 queens, piton FIFO +├─+●`, shown)
	p.press("esc w")
	wrote := ansi.Strip(p.open.Top().Render(200, 9, plain))
	html := filepath.Join(p.view.o.Reports, "report-20261120T140200Z-0a0b0c0d.html")
	assert.Contains(t, wrote, html)
	content, err := os.ReadFile(html)
	require.NoError(t, err)
	assert.Contains(t, string(content), "<figure><svg")
	_, err = os.Stat(strings.TrimSuffix(html, "html") + "svg")
	assert.NoError(t, err)
}

func TestPapersAreCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakePapers{hang: true}
		p := newPapersPilot(t, f, &fakeStore{})
		cmd := p.view.startPapers(paper.Papers, 10*time.Minute)
		ended := make(chan struct{})
		go func() { p.run(cmd); close(ended) }()
		synctest.Wait()
		assert.True(t, p.view.Running())
		assert.EqualValues(t, 3641, p.view.PID())
		p.press("n")
		assert.Contains(t, ansi.Strip(p.open.Top().Render(60, 9, plain)), "A study is running; ")
		p.press("enter p")
		assert.Contains(t, ansi.Strip(p.open.Top().Render(60, 9, plain)), "A study is running; ")
		p.press("enter x y")
		<-ended
		assert.False(t, p.view.Running())
		assert.Contains(t, text(p.view, 120, 30), "p with the same study resumes it")
		p.run(p.view.start(sampleStudy()))
		assert.NotContains(t, text(p.view, 120, 30), "Reproduced studies: all", "a study takes its place")
	})
}

func TestStopWaitsForPapers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPapersPilot(t, &fakePapers{hang: true}, &fakeStore{})
		cmd := p.view.startPapers(paper.Papers[:1], time.Minute)
		go p.run(cmd)
		synctest.Wait()
		p.view.Stop()
		_, more := p.view.run.job.Next()
		assert.False(t, more, "it has ended")
		synctest.Wait()
	})
}

func TestOtherConditionsAreWarnedOf(t *testing.T) {
	s := sampleStore()
	s.history.Studies[8].Conditions.Kernel = "6.19.0"
	for i := range s.history.Studies[8].Runs {
		s.history.Studies[8].Runs[i].Metric *= 1.1
	}
	p := mustOpen(t, newPilot(t, nil, s))
	p.press("enter")
	assert.Contains(t, strings.Join(strings.Fields(text(p.view, 120, 40)), " "), "but conditions differ: kernel 6.19.0, then 6.18.5")
	p.press("down down down enter")
	assert.NotContains(t, text(p.view, 120, 40), "compared with", "it does not differ")
}

func TestPicturesOfStudies(t *testing.T) {
	p := mustOpen(t, newPilot(t, nil, sampleStore()))
	p.press("v")
	assert.Contains(t, ansi.Strip(p.open.Top().Render(60, 9, plain)), "No results yet.")
	p.press("enter w")
	assert.Contains(t, ansi.Strip(p.open.Top().Render(60, 9, plain)), "No results yet.")
	p.press("enter enter w")
	assert.Contains(t, ansi.Strip(p.open.Top().Render(80, 9, plain)), "No report written: neither")
	p.press("enter v")
	assert.Contains(t, ansi.Strip(p.open.Top().Render(80, 30, plain)), "RUN BY RUN, 2")
	p.press("space down x")
	assert.True(t, p.open.Empty())
}

func TestPapersLook(t *testing.T) {
	running := func(t *testing.T) *View {
		p := newPapersPilot(t, &fakePapers{}, sampleStore())
		p.run(p.view.Open())
		p.view.startPapers(paper.Papers[:2], 5*time.Minute)
		p.view.run.step = papersStep(paper.Progress{Paper: "nqueens", Cell: "14 noise", Round: 2, Cells: 2, Of: 8, Left: 83 * time.Second, Result: queensCells("g", 2),
			Run: bench.RunResult{PID: 3641, Placement: "least-loaded+fifo:6"}}, paper.Papers[:2], twoCPUs, 5*time.Minute)
		return p.view
	}
	v := running(t)
	for _, s := range screens {
		golden.Check(t, "papers-"+s.name, v.Render(s.width, s.height, plain), s.width, s.height)
	}
	for w := 1; w < 40; w += 3 {
		for h := range 15 {
			for l := range strings.SplitSeq(v.Render(w, h, plain), "\n") {
				assert.LessOrEqual(t, ansi.StringWidth(l), w, "%d×%d", w, h)
			}
		}
	}
	pager := dialog.NewPager("nqueens", func(width int, th *theme.Theme) []string {
		return drawn(wholePaper(paper.Papers[:1], twoCPUs, queensCells("g", 6), width), width, th)
	})
	golden.Check(t, "picture-100x30", pager.Render(100, 30, plain), 100, 30)
	for _, r := range ansi.Strip(pager.Render(100, 60, theme.New(theme.Options{ASCII: true}))) {
		if r > 126 {
			t.Fatalf("%q on an ASCII terminal", r)
		}
	}
}
