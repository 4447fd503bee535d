package benchview

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/bench"
	"piton/internal/bench/store"
	"piton/internal/kernel"
	"piton/internal/tui/live"
	"piton/internal/tui/theme"
	"piton/internal/tuitest/golden"
)

func text(v *View, width, height int) string { return ansi.Strip(v.Render(width, height, plain)) }

func TestAStudyFromFormToVerdict(t *testing.T) {
	r := &fakeRunner{}
	store := &fakeStore{}
	p := mustOpen(t, newPilot(t, r, store))
	assert.Contains(t, text(p.view, 80, 20), "start a study")

	var seen []kernel.TID
	r.each = func(e bench.Event) {
		if e.Ended && e.Done == 20 {
			store.history.Studies = append(store.history.Studies, sampleResults("20261120T140200Z-0a0b0c0d", sampleStudy()))
		}
		seen = append(seen, e.Run.PID)
	}
	p.press("n down backspace 4 enter")
	require.Len(t, r.started, 1)
	assert.Equal(t, sampleStudy(), r.started[0])
	assert.False(t, p.view.Running())
	assert.Zero(t, p.view.PID())
	assert.Len(t, seen, 88)

	out := text(p.view, 150, 30)
	assert.Contains(t, out, "done")
	assert.Contains(t, out, "242 ms")
	assert.Contains(t, out, "% faster than normal (")
	assert.Contains(t, out, "no difference ±")
	assert.Contains(t, out, "44 of 44 right")
	assert.Len(t, p.view.Rows(), 1, "the history was read anew")

	p.press("n")
	assert.Equal(t, sampleStudy(), mustStudy(t, p), "the form starts from the last study")
}

// TestPlacementsInAnotherSpelling: the runner knows one spelling only, so while
// the study runs its figures must be found under that one.
func TestPlacementsInAnotherSpelling(t *testing.T) {
	p := newPilot(t, &fakeRunner{}, &fakeStore{})
	study := sampleStudy()
	study.Placements = []bench.Placement{"Normal", "FIFO:10"}
	p.view.start(study)
	assert.Equal(t, []bench.Placement{"normal", "fifo:10"}, p.view.run.results.Study.Placements)
	p.view.Stop()
}

func mustStudy(t *testing.T, p *pilot) bench.Study {
	t.Helper()
	s, _, err := p.open.Top().(*Form).Read()
	require.NoError(t, err)
	return s.(bench.Study)
}

func TestProgressAndCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPilot(t, &fakeRunner{hang: true}, &fakeStore{})
		p.press("n")
		cmd := p.open.Update(stroke("enter"))
		ended := make(chan struct{})
		go func() { p.run(cmd); close(ended) }()
		synctest.Wait()
		assert.True(t, p.view.Running())
		assert.Equal(t, kernel.TID(3601), p.view.PID())
		out := text(p.view, 100, 30)
		assert.Contains(t, out, "run 1 of 44 · about 38 s left")
		assert.Contains(t, out, "now  normal warm-up · PID 3601")

		p.press("n")
		assert.Contains(t, ansi.Strip(p.open.Top().Render(60, 9, plain)), "A study is running; ")
		p.press("enter x n")
		synctest.Wait()
		assert.True(t, p.view.Running(), "not canceled")
		p.press("x y")
		synctest.Wait()
		<-ended
		assert.False(t, p.view.Running())
		assert.Contains(t, text(p.view, 100, 30), "canceled; results so far")
		p.press("x")
		assert.True(t, p.open.Empty(), "nothing to cancel")
	})
}

func TestStopWaitsForTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPilot(t, &fakeRunner{hang: true}, &fakeStore{})
		p.view.Stop()
		cmd := p.view.start(sampleStudy())
		go p.run(cmd)
		synctest.Wait()
		p.view.Stop()
		_, open := p.view.run.job.Next()
		assert.False(t, open)
		synctest.Wait()
	})
}

func TestStopBeforeTheCommandRan(t *testing.T) {
	r := &fakeRunner{}
	p := newPilot(t, r, &fakeStore{})
	cmd := p.view.start(sampleStudy())
	p.view.Stop()
	p.run(cmd)
	assert.Empty(t, r.started)
}

func TestMessagesOfAnEarlierStudyAreDropped(t *testing.T) {
	p := newPilot(t, &fakeRunner{}, &fakeStore{})
	p.run(p.view.start(sampleStudy()))
	before := p.view.run.report
	other := live.New[func() step]()
	other.Work(func(_ context.Context, tell func(func() step)) { tell(func() step { return step{} }) })
	p.run(p.view.next(other))
	assert.Nil(t, p.view.end(other, step{}, errStore))
	assert.Equal(t, before, p.view.run.report)
	assert.Empty(t, p.view.run.failure)
}

func TestFailuresAreShown(t *testing.T) {
	p := mustOpen(t, newPilot(t, &fakeRunner{broken: errors.New("start nqueens: no such file")}, &fakeStore{err: errStore}))
	p.run(p.view.start(sampleStudy()))
	out := text(p.view, 100, 30)
	assert.Contains(t, out, "start nqueens: no such file")
	assert.Contains(t, out, "read results: permission denied")

	r := sampleResults("a", sampleStudy())
	for i := range 8 {
		r.Runs[10+i].Err = fmt.Sprintf("wrong answer %d", i)
	}
	r.Runs[30].Touched, r.Runs[30].TouchedWhat = true, "affinity of thread 123 is 0-1, was 1"
	r.StoreErr = errors.New("store results: disk full")
	p = mustOpen(t, newPilot(t, nil, &fakeStore{history: store.History{Studies: []bench.Results{r}, Notes: []string{"1 line of results.jsonl cannot be read and moved aside"}}}))
	p.press("enter")
	out = text(p.view, 100, 40)
	for _, want := range []string{"normal: 2 runs failed and left out: wrong answer 2",
		"1 line of results.jsonl cannot be read", "results not stored: store results: disk full"} {
		assert.Contains(t, out, want)
	}
	assert.NotContains(t, out, "changed by someone else", "two notes are shown")
	p.press("v")
	assert.Contains(t, strings.Join(strings.Fields(ansi.Strip(p.open.Top().Render(160, 60, plain))), " "), "changed by someone else while running and left out: affinity of thread 123 is 0-1, was 1")
}

// TestAStudyWithoutARunIsNotListed: it was canceled before its first one.
func TestAStudyWithoutARunIsNotListed(t *testing.T) {
	s := sampleStore()
	s.history.Studies = append(s.history.Studies, bench.Results{ID: "none", Study: sampleStudy()})
	p := mustOpen(t, newPilot(t, nil, s))
	assert.Len(t, p.view.Rows(), 9)
	assert.NotContains(t, text(p.view, 120, 40), "no run")
}

// TestMoreRuns: e adds runs to the study that is shown, by how wide its intervals are.
func TestMoreRuns(t *testing.T) {
	r := &fakeRunner{}
	p := mustOpen(t, newPilot(t, r, sampleStore()))
	p.press("e")
	assert.Contains(t, ansi.Strip(p.open.Top().Render(70, 9, plain)), "No study is shown")
	p.press("enter enter e")
	require.Len(t, r.extended, 1)
	is := r.extended[0]
	assert.Equal(t, "20261118T090000Z-00000000", is.ID, "the same study")
	assert.InDelta(t, 0.01, is.Study.Until, 1e-9)
	assert.Equal(t, narrowBudget, is.Study.Budget)
	out := text(p.view, 120, 34)
	assert.Contains(t, out, "done")
	assert.Contains(t, out, "40 of 40 right", "with those that it had")

	narrow := sampleResults("narrow", sampleStudy())
	for i := range narrow.Runs {
		narrow.Runs[i].Metric = 0.24
	}
	p = mustOpen(t, newPilot(t, r, &fakeStore{history: store.History{Studies: []bench.Results{narrow}}}))
	p.press("enter e")
	assert.Contains(t, ansi.Strip(p.open.Top().Render(70, 9, plain)), "within 1 % of its median already")
	for i := range narrow.Runs {
		narrow.Runs[i].Seconds = 0.01
	}
	p = mustOpen(t, newPilot(t, r, &fakeStore{history: store.History{Studies: []bench.Results{narrow}}}))
	p.press("enter e")
	assert.Contains(t, ansi.Strip(p.open.Top().Render(70, 9, plain)), "No run added: more of them give no verdict. Runs of 10 ms")
	for i := range narrow.Runs {
		narrow.Runs[i].Seconds = 0.24
	}
	narrow.Conditions.Host = "web-08"
	p = mustOpen(t, newPilot(t, r, &fakeStore{history: store.History{Studies: []bench.Results{narrow}}}))
	p.press("enter e")
	assert.Contains(t, ansi.Strip(p.open.Top().Render(70, 9, plain)), "The study was made on web-08")
	assert.Len(t, r.extended, 1)
}

// TestNoStudyWhereItIsRefused, as below another machine's root: benchmarks run on this one.
func TestNoStudyWhereItIsRefused(t *testing.T) {
	f := &fakeRunner{}
	p := newPilot(t, f, nil)
	p.view.o.Refused = "Benchmarks run on this machine only."
	for _, key := range []string{"n", "e", "p"} {
		p.press(key)
		assert.Nil(t, p.view.run, key)
		if !p.open.Empty() {
			p.press("esc")
		}
	}
	p.press("n")
	assert.Contains(t, ansi.Strip(p.open.Top().Render(70, 9, plain)), "on this machine only")
}

// TestTwoStudiesAreCompared: c marks one of the history, and compares it with the other.
func TestTwoStudiesAreCompared(t *testing.T) {
	p := mustOpen(t, newPilot(t, nil, sampleStore()))
	p.press("down down c")
	assert.Contains(t, text(p.view, 120, 34), "c: nqueens 14", "which one is marked can be seen")
	p.press("down down c")
	shown := ansi.Strip(p.open.Top().Render(100, 30, plain))
	for _, want := range []string{"2026-11-16 09:00 against 2026-11-14 09:00", "normal: 1.7 % slower (0.5 to 2.8 %", "rr:10: ", "●"} {
		assert.Contains(t, shown, want)
	}
	p.press("esc c")
	p.press("up c")
	assert.Contains(t, ansi.Strip(p.open.Top().Render(100, 30, plain)), "matrix 500 are not the same work")
	p.press("enter c c")
	assert.True(t, p.open.Empty(), "the same one again is no longer marked")
	assert.NotContains(t, text(p.view, 120, 34), "c: ")
}

func TestWithoutAStore(t *testing.T) {
	p := mustOpen(t, newPilot(t, &fakeRunner{}, nil))
	p.run(p.view.start(sampleStudy()))
	assert.Contains(t, text(p.view, 100, 30), "done")
}

func TestHistoryShowsOneStudy(t *testing.T) {
	p := mustOpen(t, newPilot(t, &fakeRunner{}, sampleStore()))
	assert.Contains(t, text(p.view, 120, 30), "start a study")
	p.press("down down down enter")
	out := text(p.view, 120, 30)
	assert.Contains(t, out, "20 of 20 right")
	assert.NotContains(t, out, "start a study")
	p.press("up enter")
	assert.Contains(t, text(p.view, 120, 30), "fifo:10 is 3.8 % faster than normal")
	assert.True(t, p.view.Back())
	assert.False(t, p.view.Back(), "nothing is left to close")
}

var screens = []struct {
	name          string
	width, height int
}{{"80x24", 80, 20}, {"100x30", 100, 24}, {"120x40", 120, 34}, {"200x50", 200, 44}}

func TestLooks(t *testing.T) {
	running := func(t *testing.T) *View {
		p := mustOpen(t, newPilot(t, &fakeRunner{}, sampleStore()))
		p.view.start(sampleStudy())
		r := sampleResults("x", sampleStudy())
		r.Runs = r.Runs[:30]
		p.view.run.step = studyStep(r, bench.Event{Done: 30, Total: 44, Left: 98 * time.Second, HaveLeft: true,
			Run: bench.RunResult{Placement: "fifo:10", Index: 6, PID: 3641, CPUs: "5", Reason: "cpu 5: 99 % of a CPU expected (1 % busy, sibling 13 idle)"}}, "")
		return p.view
	}
	shown := func(t *testing.T) *View {
		p := mustOpen(t, newPilot(t, &fakeRunner{}, sampleStore()))
		p.press("down down enter")
		return p.view
	}
	empty := func(t *testing.T) *View { return mustOpen(t, newPilot(t, nil, &fakeStore{})).view }
	for name, view := range map[string]func(*testing.T) *View{"running": running, "shown": shown, "empty": empty} {
		v := view(t)
		for _, s := range screens {
			golden.Check(t, name+"-"+s.name, v.Render(s.width, s.height, plain), s.width, s.height)
		}
		for w := 1; w < 40; w += 3 {
			for h := range 15 {
				lines := strings.Split(v.Render(w, h, plain), "\n")
				assert.LessOrEqual(t, len(lines), max(h, 1))
				for _, l := range lines {
					assert.LessOrEqual(t, ansi.StringWidth(l), w, "%s at %d×%d", name, w, h)
				}
			}
		}
	}
	v := running(t)
	golden.Check(t, "running-ascii", v.Render(120, 34, theme.New(theme.Options{ASCII: true})), 120, 34)
	for _, r := range ansi.Strip(v.Render(120, 34, theme.New(theme.Options{ASCII: true}))) {
		if r > 126 {
			t.Fatalf("%q on an ASCII terminal", r)
		}
	}
}
