package whyview

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/change"
	"piton/internal/kernel"
	"piton/internal/tui/theme"
	"piton/internal/tuitest"
	"piton/internal/tuitest/golden"
	"piton/internal/watch"
	"piton/internal/why"
	"piton/internal/why/whytest"
)

var plain = theme.New(theme.Options{})

// fake is a session of a made-up target.
type fake struct {
	lacking string
	err     error
	left    int // looks until no thread is left
	looks   int
	closed  int
	opened  []watch.Targets
	openErr error
}

func (f *fake) Look() (bool, error) { f.looks++; return f.looks < f.left, f.err }
func (f *fake) Close()              { f.closed++ }

func (f *fake) Take() (why.Observation, *why.Target, error) {
	o, t := whytest.Observation(), whytest.Target()
	if t.Lacking = f.lacking; t.Lacking != "" {
		o = why.Observation{Span: o.Span, Threads: o.Threads, Ran: o.Ran, Waited: o.Waited}
	}
	o.Span, o.Ran, o.Waited = o.Span/10, o.Ran/10, o.Waited/10
	return o, t, nil
}

func (f *fake) view(targets ...change.Target) *View {
	v := New(Options{Open: func(t watch.Targets) (Session, error) {
		f.opened = append(f.opened, t)
		return f, f.openErr
	}})
	v.Choose(targets, "nginx (812)")
	return v
}

// on runs a test on a view that is shown.
func on(t *testing.T, f *fake, do func(v *View, l *tuitest.Loop)) {
	synctest.Test(t, func(t *testing.T) {
		v := f.view(change.Target{TID: 812})
		l := tuitest.NewLoop(func(msg tea.Msg) tea.Cmd { return msg.(func() tea.Cmd)() })
		l.Run(v.Open())
		do(v, l)
		v.Stop()
		l.Settle()
	})
}

func wait(l *tuitest.Loop, d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		time.Sleep(100 * time.Millisecond)
		l.Settle()
	}
}

// shown is a view of one span of whytest's target.
func shown(lacking string) *View {
	f := &fake{lacking: lacking}
	v := f.view(change.Target{TID: 812, StartTicks: 7})
	o, t, _ := f.Take()
	o.Span, o.Ran, o.Waited = 10*o.Span, 10*o.Ran, 10*o.Waited
	v.take(seen{spans: []span{{why.Span{Observation: o, Target: t}, time.Time{}}}})
	return v
}

func text(v *View, w, h int) string { return ansi.Strip(v.Render(w, h, plain)) }

func TestLooks(t *testing.T) {
	v := shown("")
	sizes := map[string][2]int{"80x24": {80, 20}, "120x40": {120, 32}, "200x50": {200, 42}, "20x5": {20, 3}}
	for name, s := range sizes {
		golden.Check(t, name, v.Render(s[0], s[1], plain), s[0], s[1])
	}
	golden.Check(t, "files-80x24", shown("it needs CAP_BPF and CAP_PERFMON").Render(80, 20, plain), 80, 20)
	ascii := theme.New(theme.Options{ASCII: true})
	golden.Check(t, "ascii-80x24", v.Render(80, 20, ascii), 80, 20)
	v.trial = &trial{what: "piton weight cgroup:build.slice 20", before: spread(20, 2e-3, 3e-3), after: spread(20, 0.5e-3, 1e-3), at: time.Now()}
	v.trial.judge()
	golden.Check(t, "trial-80x24", v.Render(80, 20, plain), 80, 20)
	golden.Check(t, "trial-120x40", v.Render(120, 32, plain), 120, 32)
	for w := 1; w < 60; w += 7 {
		for h := 1; h < 12; h++ {
			out := strings.Split(v.Render(w, h, ascii), "\n")
			assert.LessOrEqual(t, len(out), h)
			for _, l := range out {
				assert.LessOrEqual(t, ansi.StringWidth(l), w)
			}
		}
	}
	for _, r := range ansi.Strip(v.Render(140, 40, ascii)) {
		require.LessOrEqual(t, r, '~', "on an ASCII terminal")
	}
}

// spread are figures from one to another.
func spread(n int, from, to float64) (out []figures) {
	for i := range n {
		v := from + (to-from)*float64(i)/float64(n)
		out = append(out, figures{of: [len(metrics)]float64{v, 10 * v, 1e4 * v}})
	}
	return out
}

func TestObservesWhileShown(t *testing.T) {
	f := &fake{left: 1000}
	on(t, f, func(v *View, l *tuitest.Loop) {
		assert.Contains(t, text(v, 100, 20), "nginx (812)")
		assert.Contains(t, text(v, 100, 20), "observing")
		wait(l, 2100*time.Millisecond)
		assert.Contains(t, text(v, 100, 20), "last 2.0 s, exact (eBPF)")
		wait(l, 20*time.Second)
		assert.Contains(t, text(v, 100, 20), "last 10 s, exact (eBPF)")
		assert.Equal(t, 88, f.looks, "each quarter of a second")
		assert.Equal(t, []watch.Targets{{IDs: []kernel.TID{812}}}, f.opened)
		v.Leave()
		wait(l, time.Second)
		assert.Equal(t, 1, f.closed)
		assert.Equal(t, 88, f.looks)
		l.Run(v.Open())
		l.Settle()
		assert.Contains(t, text(v, 100, 20), "observing", "what was seen earlier is forgotten")
	})
	assert.Equal(t, 2, f.closed)
}

func TestEnds(t *testing.T) {
	f := &fake{left: 6}
	on(t, f, func(v *View, l *tuitest.Loop) {
		wait(l, 5*time.Second)
		assert.Equal(t, 6, f.looks)
		assert.Contains(t, text(v, 100, 20), "ended, last 2.0 s", "with the answer so far")
		assert.Equal(t, 1, f.closed)
	})
	f = &fake{openErr: errors.New("no such file")}
	on(t, f, func(v *View, l *tuitest.Loop) {
		wait(l, time.Second)
		assert.Contains(t, text(v, 100, 20), "no such file")
		assert.Zero(t, f.closed)
	})
	f = &fake{left: 1000, err: errors.New("permission denied")}
	on(t, f, func(v *View, l *tuitest.Loop) {
		wait(l, 2*time.Second)
		assert.Contains(t, text(v, 100, 20), "permission denied")
		assert.Equal(t, 1, f.closed)
	})
	v := New(Options{})
	v.Choose([]change.Target{{TID: 1}}, "init (1)")
	assert.Nil(t, v.Open())
	assert.Contains(t, text(v, 100, 20), "Only the machine that piton runs on")
	v.Stop()
	v.Leave()
}

// A change is judged by what came after it, which the answer is about from then on.
func TestChanges(t *testing.T) {
	on(t, &fake{left: 1000}, func(v *View, l *tuitest.Loop) {
		wait(l, 7*time.Second)
		v.Changed("piton nice 901 10")
		wait(l, 2500*time.Millisecond)
		assert.Contains(t, text(v, 120, 40), "last 2.0 s")
		assert.Contains(t, text(v, 120, 40), "before | after, 2 of 20 s")
		wait(l, 20*time.Second)
		assert.Contains(t, text(v, 120, 40), "p99 2.88 ms | 2.88 ms: no difference ±25 %")
		v.Changed("undo")
		assert.Len(t, v.trial.before, 20, "those after the change")
		wait(l, 30*time.Second)
		assert.Contains(t, text(v, 120, 40), "effect     undo: before | after")
	})
}

func TestVerdicts(t *testing.T) {
	for name, c := range map[string]struct {
		before, after []figures
		want          string
	}{
		"less":      {spread(20, 2e-3, 3e-3), spread(20, 0.5e-3, 1e-3), "70 % shorter (67 to 74 %, p < 0.001)"},
		"more":      {spread(20, 0.5e-3, 1e-3), spread(20, 2e-3, 3e-3), "236 % longer (200 to 283 %, p < 0.001)"},
		"the same":  {spread(20, 2e-3, 2e-3), spread(20, 2e-3, 2e-3), "no difference ±25 %"},
		"varies":    {spread(20, 1e-3, 2e-3), spread(20, 1e-3, 2e-3), "not enough evidence (under 25 % is not seen)"},
		"very much": {spread(10, 1e-6, 5e-2), spread(20, 1e-6, 5e-2), "not enough evidence: it varies too much"},
		"few":       {spread(4, 2e-3, 3e-3), spread(20, 0.5e-3, 1e-3), "too few seconds to judge"},
		"none":      {nil, spread(20, 0.5e-3, 1e-3), "too few seconds to judge"},
	} {
		tr := &trial{before: c.before, after: c.after}
		assert.Equal(t, c.want, tr.verdict(0), name)
	}
}

func TestRemedies(t *testing.T) {
	v := shown("")
	assert.Equal(t, "affinity 0-3 of 4711", all(t, v)["real time"])
	assert.Equal(t, "there is no command against it: 5 threads on 4 allowed CPUs", all(t, v)["self"])
	v.spans[0].Target.Groups = nil // no limit is the wall
	v.take(v.seen)
	assert.Equal(t, map[string]string{
		"neighbour": "weight 20 of cgroup:build.slice", "self": "affinity 0-7 of 812", "limit": "there is no command against it",
		"real time": "affinity 0-3 of 4711", "kernel": "irq-affinity 0-3 of 132", "waking": "there is no command against it",
		"avoidable unknown": "affinity 0-7 of 812"}, all(t, v))
	_, _, none := New(Options{}).Remedy()
	assert.Equal(t, "no cause is selected", none)
	v.targets[0].Scope = change.ScopeThread
	v.take(v.seen)
	v.End()
	assert.Contains(t, text(v, 80, 40), " Enter      piton pin 812 --cpu 0-7 --thread")
	v.o.ReadOnly = true
	assert.Contains(t, text(v, 80, 40), "            piton pin")
}

// all is what each row's remedy asks for, or why there is none.
func all(t *testing.T, v *View) map[string]string {
	got := map[string]string{}
	v.Home()
	for range v.Rows() {
		row, _ := v.Selected()
		r, _, none := v.Remedy()
		if none == "" {
			none = r.Attribute + " " + r.Value + " of " + strings.Join(r.On, " ")
			assert.Equal(t, []change.Target{{TID: 812, StartTicks: 7}}, r.Targets)
			assert.Contains(t, r.Reason, "nginx (812) waits: ")
		}
		got[strings.TrimSpace(row.Kind+" "+row.Cause.String())] = none
		v.Move(1)
	}
	return got
}

func TestTheCursorFollowsItsCause(t *testing.T) {
	v := shown("")
	v.Move(1)
	s := v.seen
	for i := range s.spans[0].By {
		if w := &s.spans[0].By[i]; w.Cause == why.Self {
			w.Time *= 5
		}
	}
	v.take(s)
	row, _ := v.Selected()
	assert.Equal(t, why.Self, row.Cause)
	assert.Equal(t, "1/6", v.Position())
	at := slices.IndexFunc(strings.Split(text(v, 80, 20), "\n"), func(l string) bool { return strings.HasPrefix(l, "▌self") })
	assert.Positive(t, at)
	assert.True(t, v.Click(3, at+2))
	assert.Equal(t, "3/6", v.Position())
	assert.False(t, v.Click(3, 0))
}

// Where rows are many, the rest of them is one, and the figures above stay.
func TestManyRows(t *testing.T) {
	v := shown("")
	o := &v.seen.spans[0].Observation
	for pid := range kernel.TID(30) {
		w := o.By[2]
		w.Group, w.Command, w.PID = "", fmt.Sprint("cc", pid), 2000+pid
		o.By = append(o.By, w)
	}
	v.take(v.seen)
	drawn := text(v, 80, 20)
	assert.Contains(t, drawn, " ran ")
	assert.Contains(t, drawn, " waits: p50")
	assert.Regexp(t, `others +\d+ more`, drawn)
	assert.Equal(t, "1/9", v.Position())
	text(v, 80, 14)
	assert.Equal(t, "1/5", v.Position())
	text(v, 200, 60)
	assert.Equal(t, "1/12", v.Position())
}
