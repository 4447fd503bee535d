package race

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/auto"
	"piton/internal/cpuset"
	"piton/internal/search"
	"piton/internal/tui/theme"
	"piton/internal/tuitest"
	"piton/internal/tuitest/golden"
)

var plain = theme.New(theme.Options{Depth: theme.Mono})

// searched is a search before its first period.
func searched() auto.State {
	s := auto.State{Metric: "instructions", Caveat: "Judged by instructions, which was not named: a process that waits in a loop runs more of them, and does no more."}
	for _, c := range []struct {
		name   string
		cpus   cpuset.Set
		reason string
	}{
		{auto.Kernel, cpuset.Of(0, 1, 2, 3, 4, 5, 6, 7), "as it is now"}, {"least-loaded", cpuset.Of(5), "cpu 5: 99 % of a CPU expected (others use 1 %); next cpu 7 (96 %)"},
		{"llc", cpuset.Of(4, 5, 6, 7), "L3 1: 3.9 CPUs free"}, {"node", cpuset.Of(0, 1, 2, 3), "node 0: 7.1 CPUs free"}, {"with 3650", cpuset.Of(2), "the two exchange 5,012 wakeups a second"},
		{"spread", cpuset.Of(0, 4), "a core each"},
	} {
		s.Candidates = append(s.Candidates, auto.Candidate{Name: c.name, CPUs: c.cpus, Reason: c.reason})
	}
	s.Left = []auto.Candidate{{Name: "pack", Reason: "the same as llc"}, {Name: "sibling-free", Reason: "the same as least-loaded"}}
	return s
}

// rates are those of the candidates; each period is off by up to 4 %.
var rates = []float64{100, 112, 109, 96, 61, 88}

// after is the state after so many periods of a search with those rates, or its end.
func after(t *testing.T, periods int) auto.State {
	t.Helper()
	s := searched()
	last := errors.New("enough")
	n := 0
	var names []string
	for _, c := range s.Candidates {
		names = append(names, c.Name)
	}
	r, err := search.Run(t.Context(), len(s.Candidates), search.Options{Seed: 7, Names: names}, func(_ context.Context, c int) (search.Reading, error) {
		if n++; n > periods {
			return search.Reading{}, last
		}
		return search.Reading{Rate: 1e6 * rates[c] * (1 + 0.04*float64(n*7%11-5)/5)}, nil
	}, func(e search.Event) {
		if e.Kind != search.Decided {
			s.Now = e.Now
		}
	})
	if err == nil {
		s.Found = &auto.Found{Result: r, Kept: s.Candidates[r.Kept], Took: 19 * time.Second}
	}
	return s
}

// shown is the screen of a search in such a state.
func shown(s auto.State) *View {
	v := New()
	v.Begin("nqueens (3641)", nil, nil)
	v.show(s)
	if s.Found != nil {
		v.Take(s, nil)
	}
	return v
}

func text(v *View, width, height int) string { return ansi.Strip(v.Render(width, height, plain)) }

func TestGolden(t *testing.T) {
	for name, s := range map[string]auto.State{"look": {}, "candidates": searched(), "lead": after(t, 3), "race": after(t, 28), "confirmation": after(t, 42), "end": after(t, 1000)} {
		for _, size := range [][2]int{{80, 20}, {120, 30}, {200, 40}} {
			golden.Check(t, fmt.Sprintf("%s-%dx%d", name, size[0], size[1]), text(shown(s), size[0], size[1]), size[0], size[1])
		}
	}
	ascii := theme.New(theme.Options{Depth: theme.Mono, ASCII: true})
	golden.Check(t, "race-ascii", shown(after(t, 28)).Render(100, 20, ascii), 100, 20)
}

func TestWhatIsOutIsDimAndSaysSo(t *testing.T) {
	th := theme.New(theme.Options{Depth: theme.Colors256})
	v := shown(after(t, 42))
	out := v.Now.Candidates[4]
	require.Equal(t, search.Out, out.State)
	for l := range strings.SplitSeq(v.Render(200, 30, th), "\n") {
		if strings.Contains(l, "with 3650") {
			assert.True(t, strings.HasPrefix(l, strings.SplitN(th.Dim.Render("x"), "x", 2)[0]), l)
			assert.Contains(t, l, "out: "+out.Reason[:20])
		}
	}
	v.Select(4)
	assert.Contains(t, strings.Join(strings.Fields(text(v, 80, 24)), " "), "wakeups a second; out: "+out.Reason, "all of it is below")
}

func TestCursorFollowsTheLeaderUntilItIsMoved(t *testing.T) {
	v := shown(after(t, 3))
	assert.Zero(t, v.At(), "nothing leads yet")
	assert.Contains(t, v.Keep(), "no candidate leads")
	v.show(after(t, 30))
	led := v.leads
	assert.NotZero(t, led)
	assert.Equal(t, led, v.At())
	v.End()
	v.show(after(t, 34))
	assert.Equal(t, 5, v.At())
	v.Select(v.leads)
	v.show(after(t, 42))
	assert.Equal(t, v.leads, v.At())
}

func TestEveryWidthAndHeight(t *testing.T) {
	v := shown(after(t, 60))
	for w := 1; w < 220; w += 9 {
		for h := 1; h < 60; h += 3 {
			lines := strings.Split(v.Render(w, h, plain), "\n")
			assert.LessOrEqual(t, len(lines), h)
			for _, l := range lines {
				assert.LessOrEqual(t, ansi.StringWidth(l), w, "%dx%d", w, h)
			}
		}
	}
}

// TestHands presses what ends a search: each time its context says why.
func TestHands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, c := range map[string]struct {
			press func(*View)
			cause error
		}{
			"keep":    {func(v *View) { assert.Empty(t, v.Keep()) }, auto.KeepNow{Candidate: 1}},
			"restore": {(*View).Restore, context.Canceled},
			"stop":    {(*View).Stop, context.Canceled},
		} {
			v := New()
			loop := tuitest.NewLoop(func(msg tea.Msg) tea.Cmd {
				switch do := msg.(type) {
				case Step:
					return do()
				case func() tea.Cmd:
					return do()
				}
				return nil
			})
			loop.Run(v.Begin("nqueens (3641)", func(ctx context.Context, tell func(auto.State)) (auto.State, error) {
				s := after(t, 30)
				tell(searched())
				tell(s)
				<-ctx.Done()
				return s, context.Cause(ctx)
			}, func(s auto.State, err error) tea.Msg {
				return func() tea.Cmd { v.Take(s, err); return nil }
			}))
			loop.Settle()
			require.True(t, v.Running(), name)
			assert.Equal(t, "30 of 130 periods", v.Progress())
			v.Select(1)
			c.press(v)
			loop.Settle()
			assert.False(t, v.Running(), name)
			assert.Equal(t, c.cause, v.err, name)
		}
	})
}

func TestStoppedBeforeItBegan(t *testing.T) {
	v := New()
	v.Stop()
	v.Begin("nqueens (3641)", nil, func(auto.State, error) tea.Msg { return nil })
	v.Stop()
	v.job.Work(func(context.Context, func(auto.State)) { t.Error("it has begun") })
}
