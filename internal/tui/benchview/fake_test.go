package benchview

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/stretchr/testify/require"

	"piton/internal/bench"
	"piton/internal/bench/store"
	"piton/internal/kernel"
	"piton/internal/tui/dialog"
	"piton/internal/tui/theme"
	"piton/workloads"
)

var plain = theme.New(theme.Options{})

// Golden frames show local times; they must be the same everywhere.
func init() { time.Local = time.UTC }

// stroke is a key by its name.
func stroke(name string) tea.KeyPressMsg {
	special := map[string]rune{"enter": tea.KeyEnter, "esc": tea.KeyEscape, "up": tea.KeyUp, "down": tea.KeyDown, "left": tea.KeyLeft,
		"right": tea.KeyRight, "backspace": tea.KeyBackspace, "tab": tea.KeyTab, "home": tea.KeyHome, "end": tea.KeyEnd}
	if c, ok := special[name]; ok {
		return tea.KeyPressMsg{Code: c}
	}
	if name == "space" {
		return tea.KeyPressMsg{Code: tea.KeySpace, Text: " "}
	}
	return tea.KeyPressMsg{Code: []rune(name)[0], Text: name}
}

// pilot plays Bubble Tea: it runs commands and feeds their messages back.
type pilot struct {
	t    *testing.T
	view *View
	open dialog.Stack
}

func newPilot(t *testing.T, r Runner, s Store) *pilot {
	p := &pilot{t: t}
	p.view = New(Options{Runner: r, Store: s, Host: "web-07", Workloads: workloads.All[:8], RealTime: true}, &p.open) // those of the golden frames
	return p
}

// press gives keys to the dialog that is open, else to the view, and does what follows.
func (p *pilot) press(keys string) {
	for k := range strings.FieldsSeq(keys) {
		if !p.open.Empty() {
			p.run(p.open.Update(stroke(k)))
			continue
		}
		v := p.view
		verb := map[string]func() tea.Cmd{"n": v.StartStudy, "p": v.Reproduce, "v": v.ShowPicture, "w": v.WriteReport, "e": v.ExtendStudy, "c": v.CompareStudies, "x": v.CancelStudy,
			"enter": v.ShowSelected, "up": p.moves(-1), "down": p.moves(1)}[k]
		require.NotNil(p.t, verb, k)
		p.run(verb())
	}
}

func (p *pilot) moves(by int) func() tea.Cmd {
	return func() tea.Cmd { p.view.Move(by); return nil }
}

// run performs a command and all that follow from it, the parts of a batch side
// by side as Bubble Tea does.
func (p *pilot) run(cmd tea.Cmd) {
	msgs := make(chan tea.Msg)
	busy := 0
	launch := func(c tea.Cmd) {
		if c != nil {
			busy++
			go func() { msgs <- c() }()
		}
	}
	for launch(cmd); busy > 0; {
		msg := <-msgs
		busy--
		if batch, ok := msg.(tea.BatchMsg); ok {
			for _, c := range batch {
				launch(c)
			}
		} else if msg != nil {
			launch(msg.(func() tea.Cmd)())
		}
	}
}

// fakeRunner makes runs without processes: each placement has its own speed.
type fakeRunner struct {
	started  []bench.Study
	tried    []bench.Study
	extended []bench.Results
	broken   error
	each     func(bench.Event) // called after each event
	hang     bool              // wait for the context after the first run began
}

var speeds = map[bench.Placement]float64{"normal": 0.241, "least-loaded": 0.233, "fifo:10": 0.232, "rr:10": 0.240}

func (f *fakeRunner) Run(ctx context.Context, s bench.Study, on func(bench.Event)) (bench.Results, error) {
	f.started = append(f.started, s)
	if f.broken != nil {
		return bench.Results{}, f.broken
	}
	out := sampleResults("20261120T140200Z-0a0b0c0d", s)
	full := out.Runs
	out.Runs = nil
	for i, run := range full {
		e := bench.Event{Study: out.ID, Run: bench.RunResult{PID: run.PID, Placement: run.Placement, Index: run.Index, CPUs: run.CPUs},
			Done: i, Total: len(full), Left: time.Duration(len(full)-i) * time.Second, HaveLeft: i > 0}
		f.emit(e, on)
		if f.hang {
			<-ctx.Done()
			return out, fmt.Errorf("run the study: %w", ctx.Err())
		}
		out.Runs = append(out.Runs, run)
		e.Ended, e.Run, e.Done = true, run, i+1
		f.emit(e, on)
	}
	return out, nil
}

func (f *fakeRunner) Extend(ctx context.Context, r bench.Results, on func(bench.Event)) (bench.Results, error) {
	f.extended = append(f.extended, r)
	more, err := f.Run(ctx, r.Study, on)
	for _, run := range more.Runs {
		run.Index += r.Study.Runs
		r.Runs = append(r.Runs, run)
	}
	return r, err
}

func (f *fakeRunner) Trial(_ context.Context, s bench.Study) (bench.Results, error) {
	f.tried = append(f.tried, s)
	return bench.Results{Study: s.Canonical(), Runs: []bench.RunResult{{Placement: "normal", Seconds: 0.025}}}, f.broken
}

func (f *fakeRunner) emit(e bench.Event, on func(bench.Event)) {
	on(e)
	if f.each != nil {
		f.each(e)
	}
}

// sampleResults invents the runs of a study; figures wobble a little but are the
// same each time.
func sampleResults(id string, s bench.Study) bench.Results {
	out := bench.Results{ID: id, Started: time.Date(2026, 11, 20, 14, 2, 0, 0, time.UTC), Study: s,
		Conditions: bench.Conditions{Host: "web-07", Kernel: "6.18.5", Governor: "performance"}}
	pid := kernel.TID(3600)
	for round := range s.Runs + s.Warmup {
		for i, p := range s.Placements {
			pid++
			seconds := speeds[p]
			if seconds == 0 {
				seconds = 0.25
			}
			seconds += 0.004 * math.Sin(float64(7*round+3*i))
			run := bench.RunResult{Workload: s.Workload, Placement: p, Index: max(round-s.Warmup, bench.WarmupIndex), PID: pid, Started: out.Started,
				Metric: seconds, Wall: time.Duration(seconds * 1e9), Migrations: uint64(12 + 40*(i%2)), MigrationSource: "sched",
				RunDelay: time.Duration(4+3*i) * time.Millisecond, HaveRunDelay: true, Answer: "365596", Others: 0.012, HaveOthers: true}
			if p == "least-loaded" {
				run.CPUs = "5"
			}
			out.Runs = append(out.Runs, run)
		}
	}
	return out
}

// fakeStore is a file of results in memory.
type fakeStore struct {
	history store.History
	err     error
}

func (f *fakeStore) Read() (store.History, error) { return f.history, f.err }

func sampleStudy() bench.Study {
	return bench.Study{Workload: "nqueens", Args: []string{"-n", "14", "--threads", "1"}, Runs: 10, Warmup: 1, Timeout: bench.DefaultTimeout,
		Placements: []bench.Placement{"normal", "least-loaded", "fifo:10", "rr:10"}}
}

func sampleStore() *fakeStore {
	s := &fakeStore{}
	for day := range 9 {
		study := sampleStudy()
		if day%3 == 2 {
			study = bench.Study{Workload: "matrix", Args: []string{"-n", "500", "--threads", "100"}, Runs: 10, Placements: []bench.Placement{"normal", "spread"}}
		}
		r := sampleResults(fmt.Sprintf("202611%02dT090000Z-00000000", 10+day), study)
		r.Started = time.Date(2026, 11, 10+day, 9, 0, 0, 0, time.UTC)
		for i := range r.Runs {
			r.Runs[i].Metric += 0.002 * float64(day%4)
		}
		s.history.Studies = append(s.history.Studies, r)
	}
	return s
}

var errStore = errors.New("read results: permission denied")

func mustOpen(t *testing.T, p *pilot) *pilot {
	t.Helper()
	require.NotNil(t, p.view.Open())
	p.run(p.view.Open())
	return p
}
