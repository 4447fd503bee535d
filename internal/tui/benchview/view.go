// Package benchview is the results pane: a form that starts a study, its progress,
// its table, and past studies.
//
// The study runs in a command, and its steps come back as messages: the screen
// stays responsive, and the workload's process can be tuned by hand. Start at View.
package benchview

import (
	"context"
	"slices"

	tea "charm.land/bubbletea/v2"

	"piton/internal/bench"
	"piton/internal/bench/store"
	"piton/internal/kernel"
	"piton/internal/paper"
	"piton/internal/report"
	"piton/internal/tui/dialog"
	"piton/internal/tui/list"
	"piton/workloads/workload"
)

// Runner runs one study; bench.Runner is the real one.
type Runner interface {
	Run(ctx context.Context, study bench.Study, on func(bench.Event)) (bench.Results, error)
	// Extend adds runs to a study until its intervals are narrow.
	Extend(ctx context.Context, r bench.Results, on func(bench.Event)) (bench.Results, error)
	// Trial makes a few runs that are not kept.
	Trial(ctx context.Context, study bench.Study) (bench.Results, error)
}

// Store has the results of the past; bench.Store is the real one.
type Store interface{ Read() (store.History, error) }

// Options is what the view works with.
type Options struct {
	Runner    Runner
	Store     Store  // nil: results are not stored
	Host      string // trend and forecasts are of this host only
	Workloads []workload.Workload
	// Refused is why no study can be run here, "" where one can.
	Refused string
	// RealTime ticks FIFO and RR in the first form: this user may use them.
	RealTime bool
	Papers   Papers        // nil: no published studies
	Machine  paper.Machine // that papers' tables are laid out for
	Reports  string        // where pages are written; "" = nowhere
}

// View is the results pane; its list is of past studies, by their study.id.
type View struct {
	*list.List[string, study]
	o        Options
	dialogs  *dialog.Stack
	run      *run             // what runs, or ran last in this session; nil before
	sections []report.Section // of the published studies of the past that are shown
	stored   store.History    // what the list was made from
	notes    []string         // what was wrong with the file of results
	shown    string           // id of the study of the past that is shown, "" for run
	marked   string           // id of the study of the past that another is compared with
	trials   []bench.Results  // of this session
	last     bench.Study      // what the form starts from; no workload before the first study
	roomy    bool             // there is room for blank lines
	tall     bool             // and for lists of what there is
	drawn    picture          // the last one in the pane
}

// New returns the pane, whose form and questions open among dialogs; call Open when it is
// shown for the first time.
func New(o Options, dialogs *dialog.Stack) *View {
	v := &View{o: o, dialogs: dialogs}
	v.List = list.New(study.id, "when", v.pastColumns()...)
	return v
}

// Open reads the results of the past.
func (v *View) Open() tea.Cmd { return v.read }

// Running reports whether a study is running.
func (v *View) Running() bool { return v.run != nil && !v.run.ended }

// PID is the process that runs now, 0 when none does.
func (v *View) PID() kernel.TID {
	if !v.Running() {
		return 0
	}
	return v.run.now.PID
}

// ShowSelected shows the past study under the cursor. Where there is none, it asks
// for the first one.
func (v *View) ShowSelected() tea.Cmd {
	p, ok := v.Selected()
	switch {
	case ok:
		v.shown, v.sections = p.id(), paper.Sections(p.chosen, v.o.Machine, p.cells)
	case v.run == nil:
		return v.StartStudy()
	}
	return nil
}

// Back returns from a past study to that of this session; false when none was shown.
func (v *View) Back() bool {
	was := v.shown != ""
	v.shown = ""
	return was
}

// StartStudy asks for a study and starts it. One study runs at a time: two would
// disturb each other.
func (v *View) StartStudy() tea.Cmd {
	switch {
	case v.o.Refused != "":
		return v.say("Bench", v.o.Refused)
	case v.Running():
		return v.refuseSecond()
	}
	form := NewForm(v.o.Workloads, v.last, func(w workload.Workload) bench.Study {
		s, _ := bench.DefaultStudy(w, v.o.RealTime).Fitted(v.known())
		return s
	})
	form.Forecast = func(s bench.Study) (bench.Forecast, bool) { return s.Forecast(v.known()) }
	if v.o.Runner != nil {
		form.Try = func(s bench.Study) tea.Cmd { return v.try(form, s) }
	}
	return v.dialogs.Push(form, dialog.Answered(v.start))
}

// known is what is known of how long runs take.
func (v *View) known() []bench.Results {
	return append(slices.Clone(v.trials), v.stored.On(v.o.Host)...)
}

// try makes a trial run in a command, and tells the form.
func (v *View) try(form *Form, s bench.Study) tea.Cmd {
	runner := v.o.Runner
	return func() tea.Msg {
		r, err := runner.Trial(context.Background(), s)
		return func() tea.Cmd {
			if err == nil {
				v.trials = append(v.trials, r)
			}
			form.tried(s, err)
			return nil
		}
	}
}

func (v *View) refuseSecond() tea.Cmd {
	return v.say("Bench", "A study is running; a second one would disturb it. Cancel it first (x).")
}

// CancelStudy asks whether to cancel the study that runs.
func (v *View) CancelStudy() tea.Cmd {
	if !v.Running() {
		return nil
	}
	run := v.run
	lines := []dialog.Line{{Tone: dialog.Plain, Text: "The current run is stopped. Results so far are kept."}}
	ask := dialog.NewConfirm("Cancel the study?", lines, "cancel the study", "continue")
	return v.dialogs.Push(ask, func(out dialog.Outcome) tea.Cmd {
		if !out.Canceled {
			run.job.End(nil)
		}
		return nil
	})
}
