package benchview

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"piton/internal/bench"
	"piton/internal/tui/dialog"
	"piton/internal/tui/rows"
	"piton/workloads/workload"
)

// offered are the placements that the form has tick boxes for; any other can be
// typed.
var offered = []struct {
	placement bench.Placement
	help      string
}{
	{bench.Normal, "unchanged: the base of the comparison"},
	{"least-loaded", "pinned to the CPU with the least load"},
	{"fifo:10", "SCHED_FIFO at priority 10, not pinned"},
	{"rr:10", "SCHED_RR at priority 10, not pinned"},
	{"least-loaded+fifo:10", "pinned and SCHED_FIFO"},
	{"batch", "SCHED_BATCH: no preemption on wake-up"},
	{"pack", "threads on one core or cache"},
	{"spread", "threads far apart"},
	{"llc", "threads on the CPUs of one cache"},
}

// Form asks for a study; the value is a bench.Study that is valid.
type Form struct {
	dialog.Titled
	workloads []workload.Workload
	workload  int
	fields    []field // of the chosen workload, then those of every study
	list      rows.Scroll
	wrong     bool // Enter was pressed on what cannot start
	// Forecast estimates the time of a study; may be nil.
	Forecast func(bench.Study) (bench.Forecast, bool)
	// Try is a command that makes a trial run and calls tried; may be nil.
	Try    func(bench.Study) tea.Cmd
	usual  func(workload.Workload) bench.Study
	trying string // the workload of a trial that runs
	cursor *tea.Cursor
}

// field is one row of the form: a value that is typed, one of some words, or a box to
// tick for what its label says.
type field struct {
	label, help string
	input       *dialog.Input
	room        int      // cells for what is typed
	words       []string // that left and right go through
	word        int
	ticked      bool
	// set puts the value into the study, or into those of the workload.
	set func(value string, s *bench.Study, values workload.Values) error
}

func (f *field) isTick() bool { return f.input == nil && f.words == nil }

func (f *field) value() string {
	switch {
	case f.input != nil:
		return strings.TrimSpace(f.input.Value())
	case f.words != nil:
		return f.words[f.word]
	case f.ticked:
		return f.label
	}
	return ""
}

// NewForm starts from a study, or from the usual one of the first workload. Another workload
// that is chosen has its usual one.
func NewForm(workloads []workload.Workload, from bench.Study, usual func(workload.Workload) bench.Study) *Form {
	f := &Form{Titled: "Start a study", workloads: workloads, usual: usual}
	f.workload = slices.IndexFunc(workloads, func(w workload.Workload) bool { return w.Name == from.Workload })
	if f.workload < 0 && len(workloads) > 0 {
		from = usual(workloads[0])
	}
	f.workload = max(f.workload, 0)
	f.show(from)
	return f
}

// show fills the fields from a study.
func (f *Form) show(s bench.Study) {
	var values workload.Values
	if len(f.workloads) > 0 {
		values, _ = f.workloads[f.workload].Parse(s.Args) // without them the form shows the defaults
	}
	f.fields = append(f.workFields(values), studyFields(s)...)
}

// Start makes a trial run where nothing is known of how long a run takes.
func (f *Form) Start() tea.Cmd {
	s, err := f.study()
	if err != nil || f.Try == nil || f.Forecast == nil {
		return nil
	}
	if _, known := f.Forecast(s); known {
		return nil
	}
	f.trying = s.Workload
	return f.Try(s)
}

// tried takes the end of a trial. What was typed meanwhile stays.
func (f *Form) tried(s bench.Study, err error) {
	now, wrong := f.study()
	if f.trying == s.Workload {
		f.trying = ""
	}
	if err == nil && wrong == nil && now.Workload == s.Workload && slices.Equal(now.Args, s.Args) {
		usual := f.usual(f.workloads[f.workload])
		now.Args = usual.Args
		f.show(now)
	}
}

// workFields are the workload's name and its parameters.
func (f *Form) workFields(values workload.Values) []field {
	out := []field{{label: "workload", words: []string{}, word: f.workload}}
	for _, w := range f.workloads {
		out[0].words = append(out[0].words, w.Name)
	}
	if len(f.workloads) == 0 {
		return out
	}
	out[0].help = f.workloads[f.workload].Help
	for _, p := range f.workloads[f.workload].Params {
		value := cmp.Or(values[p.Name], p.Default)
		fd := field{label: p.Name, help: p.Help, words: p.Choices, word: max(slices.Index(p.Choices, value), 0)}
		if p.Choices == nil {
			fd = typed(p.Name, value, fmt.Sprintf("%s, %d to %d", p.Help, p.Min, p.Max), nil)
		}
		fd.set = func(value string, _ *bench.Study, values workload.Values) error {
			values[p.Name] = value
			return p.Validate(value)
		}
		out = append(out, fd)
	}
	return out
}

// studyFields are the placements and the numbers of runs.
func studyFields(from bench.Study) []field {
	var out []field
	var others []string
	for _, o := range offered {
		out = append(out, field{label: string(o.placement), help: o.help, set: addPlacements, ticked: slices.Contains(from.Placements, o.placement)})
	}
	for _, p := range from.Placements {
		if !slices.ContainsFunc(out, func(f field) bool { return f.label == string(p) }) {
			others = append(others, string(p))
		}
	}
	other := typed("others", strings.Join(others, " "), "more, such as cpu:3 nice:-5 llc+rr:50", addPlacements)
	other.room = otherWidth
	return append(out, other,
		number("runs", from.Runs, "measured runs per placement", func(s *bench.Study) *int { return &s.Runs }),
		number("warm-up", from.Warmup, "runs per placement before them that do not count", func(s *bench.Study) *int { return &s.Warmup }),
		number("noise", from.Noise, "busy background processes, on any CPU", func(s *bench.Study) *int { return &s.Noise }))
}

func addPlacements(value string, s *bench.Study, _ workload.Values) error {
	for p := range strings.FieldsSeq(value) {
		s.Placements = append(s.Placements, bench.Placement(p))
	}
	return nil
}

func typed(label, value, help string, set func(string, *bench.Study, workload.Values) error) field {
	input := dialog.NewInput(value)
	return field{label: label, help: help, input: &input, room: valueWidth, set: set}
}

func number(label string, value int, help string, of func(*bench.Study) *int) field {
	return typed(label, strconv.Itoa(value), help, func(value string, s *bench.Study, _ workload.Values) error {
		n, err := strconv.Atoi(value)
		if err != nil {
			return fmt.Errorf("%s must be a number, not %q", label, value)
		}
		*of(s) = n
		return nil
	})
}

// Update moves, ticks, types; Enter starts.
func (f *Form) Update(msg tea.Msg) dialog.Outcome {
	at := &f.fields[f.list.Cursor]
	k, ok := msg.(tea.KeyPressMsg)
	switch key := k.String(); {
	case !ok && at.input != nil:
		at.input.Update(msg)
	case !ok:
	case key == "esc" || key == "ctrl+c" || key == "ctrl+g":
		return dialog.Outcome{Done: true, Canceled: true}
	case key == "enter":
		study, err := f.study()
		f.wrong = err != nil
		return dialog.Outcome{Done: !f.wrong, Value: study}
	case key == "tab":
		f.list.Cursor = (f.list.Cursor + 1) % len(f.fields)
	case key == "shift+tab":
		f.list.Cursor = (f.list.Cursor + len(f.fields) - 1) % len(f.fields)
	case (at.input == nil || key != "home" && key != "end") && f.list.Key(k, len(f.fields), false):
	case at.input != nil:
		at.input.Update(k)
	case at.words != nil:
		return dialog.Outcome{Cmd: f.choose(at, key)}
	case key == "space" || key == "x":
		at.ticked = !at.ticked
	}
	return dialog.Outcome{}
}

// choose goes to another word. Another workload has other parameters and placements.
func (f *Form) choose(at *field, key string) tea.Cmd {
	n := len(at.words)
	switch {
	case n == 0:
	case key == "left":
		at.word = (at.word + n - 1) % n
	case key == "right" || key == "space":
		at.word = (at.word + 1) % n
	}
	if f.list.Cursor == 0 && at.word != f.workload {
		f.workload = at.word
		f.show(f.usual(f.workloads[f.workload]))
		return f.Start()
	}
	return nil
}

// study reads the fields. The error says in one sentence what is wrong.
func (f *Form) study() (bench.Study, error) {
	if len(f.workloads) == 0 {
		return bench.Study{}, errors.New("no workload")
	}
	w := f.workloads[f.workload]
	s, values := bench.Study{Workload: w.Name, Timeout: bench.DefaultTimeout}, workload.Values{}
	for i := range f.fields[1:] {
		fd := &f.fields[i+1]
		if err := fd.set(fd.value(), &s, values); err != nil {
			return bench.Study{}, err
		}
	}
	s.Args = w.Args(values)
	return s, s.Validate()
}
