package benchview

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"piton/internal/bench"
	"piton/internal/tui/dialog"
	"piton/internal/tui/rows"
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
}

// defaultRuns is enough for an interval of the median and the rank test.
const defaultRuns = 10

// defaultStudy is what the first form shows.
func defaultStudy(o Options) bench.Study {
	s := bench.Study{Runs: defaultRuns, Warmup: 1, Placements: []bench.Placement{bench.Normal, "least-loaded"}}
	if o.RealTime {
		s.Placements = append(s.Placements, "fifo:10", "rr:10")
	}
	if len(o.Workloads) > 0 {
		s.Workload = o.Workloads[0].Name
	}
	return s
}

// Form asks for a study; the value is a bench.Study that is valid.
type Form struct {
	workloads []bench.Workload
	workload  int
	fields    []field // of the chosen workload, then those of every study
	list      rows.Scroll
	problem   string // why the study cannot start
	tried     bool   // Enter was pressed on it
	// Forecast estimates the time of a study; may be nil.
	Forecast func(bench.Study) (bench.Forecast, bool)
	inputX   int
	inputY   int
}

type fieldKind uint8

const (
	chooseField fieldKind = iota // left and right go through words
	textField
	tickField
)

// field is one row of the form.
type field struct {
	kind   fieldKind
	label  string
	help   string
	words  []string // of a chooseField
	word   int
	input  dialog.Input
	ticked bool
	param  *bench.Param    // the parameter it sets
	place  bench.Placement // of a tickField
}

// Names of the fields that every study has.
const (
	labelWorkload = "workload"
	labelOther    = "others"
	labelRuns     = "runs"
	labelWarmup   = "warm-up"
	labelNoise    = "noise"
)

// NewForm starts from a study.
func NewForm(workloads []bench.Workload, from bench.Study) *Form {
	f := &Form{workloads: workloads}
	f.workload = max(slices.IndexFunc(workloads, func(w bench.Workload) bool { return w.Name == from.Workload }), 0)
	values := bench.Values{}
	if len(workloads) > 0 {
		if v, err := workloads[f.workload].Parse(from.Args); err == nil {
			values = v
		}
	}
	f.fields = append(f.workFields(values), studyFields(from)...)
	f.check()
	return f
}

// workFields are the workload's name and its parameters.
func (f *Form) workFields(values bench.Values) []field {
	names := make([]string, len(f.workloads))
	for i, w := range f.workloads {
		names[i] = w.Name
	}
	out := []field{{kind: chooseField, label: labelWorkload, words: names, word: f.workload}}
	if len(f.workloads) == 0 {
		return out
	}
	w := &f.workloads[f.workload]
	out[0].help = w.Help
	for i := range w.Params {
		p := &w.Params[i]
		value, given := values[p.Name]
		if !given {
			value = p.Default
		}
		fd := field{label: p.Name, help: p.Help, param: p}
		if p.Choices != nil {
			fd.kind, fd.words, fd.word = chooseField, p.Choices, max(slices.Index(p.Choices, value), 0)
		} else {
			fd.kind, fd.input = textField, dialog.NewInput(value)
			fd.help += fmt.Sprintf(", %d to %d", p.Min, p.Max)
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
		out = append(out, field{kind: tickField, label: string(o.placement), help: o.help, place: o.placement,
			ticked: slices.Contains(from.Placements, o.placement)})
	}
	for _, p := range from.Placements {
		if !slices.ContainsFunc(out, func(f field) bool { return f.place == p }) {
			others = append(others, string(p))
		}
	}
	return append(out,
		field{kind: textField, label: labelOther, input: dialog.NewInput(strings.Join(others, " ")),
			help: "more, such as cpu:3 nice:-5 llc+rr:50"},
		field{kind: textField, label: labelRuns, input: dialog.NewInput(strconv.Itoa(from.Runs)), help: "measured runs per placement"},
		field{kind: textField, label: labelWarmup, input: dialog.NewInput(strconv.Itoa(from.Warmup)), help: "runs per placement before them that do not count"},
		field{kind: textField, label: labelNoise, input: dialog.NewInput(strconv.Itoa(from.Noise)), help: "busy background processes, on any CPU"})
}

// Title is fixed.
func (f *Form) Title() string { return "Start a study" }

// Update moves, ticks, types; Enter starts.
func (f *Form) Update(msg tea.Msg) dialog.Outcome {
	at := &f.fields[f.list.Cursor]
	if k, ok := msg.(tea.KeyPressMsg); ok {
		switch key := k.String(); {
		case key == "esc" || key == "ctrl+c" || key == "ctrl+g":
			return dialog.Outcome{Done: true, Canceled: true}
		case key == "enter":
			return f.answer()
		case key == "tab":
			f.list.Cursor = (f.list.Cursor + 1) % len(f.fields)
			return dialog.Outcome{}
		case key == "shift+tab":
			f.list.Cursor = (f.list.Cursor + len(f.fields) - 1) % len(f.fields)
			return dialog.Outcome{}
		case at.kind != textField || key != "home" && key != "end":
			if f.list.Key(k, len(f.fields), false) {
				return dialog.Outcome{}
			}
		}
		f.change(at, k)
	} else if at.kind == textField {
		at.input.Update(msg)
	}
	f.check()
	return dialog.Outcome{}
}

// change gives the key to the field under the cursor.
func (f *Form) change(at *field, k tea.KeyPressMsg) {
	switch at.kind {
	case tickField:
		if k.String() == "space" || k.String() == "x" {
			at.ticked = !at.ticked
		}
	case textField:
		at.input.Update(k)
	case chooseField:
		at.choose(k.String())
		if at.label == labelWorkload && at.param == nil && at.word != f.workload {
			f.workload = at.word
			rest := slices.IndexFunc(f.fields, func(x field) bool { return x.kind == tickField })
			f.fields = append(f.workFields(nil), f.fields[rest:]...)
		}
	}
}

func (f *field) choose(key string) {
	n := len(f.words)
	switch {
	case n == 0:
	case key == "left":
		f.word = (f.word + n - 1) % n
	case key == "right" || key == "space":
		f.word = (f.word + 1) % n
	}
}

// answer gives the study, if it is valid.
func (f *Form) answer() dialog.Outcome {
	study, err := f.study()
	if err != nil {
		f.tried = true
		f.check()
		return dialog.Outcome{}
	}
	return dialog.Outcome{Done: true, Value: study}
}

func (f *Form) check() {
	f.problem = ""
	if _, err := f.study(); err != nil {
		f.problem = err.Error()
	}
}

// study reads the fields. The error says in one sentence what is wrong.
func (f *Form) study() (bench.Study, error) {
	if len(f.workloads) == 0 {
		return bench.Study{}, errors.New("no workload")
	}
	w := f.workloads[f.workload]
	s, values := bench.Study{Workload: w.Name}, bench.Values{}
	for i := range f.fields {
		if err := f.fields[i].read(&s, values); err != nil {
			return bench.Study{}, err
		}
	}
	if w.Check != nil {
		if err := w.Check(values); err != nil {
			return bench.Study{}, err
		}
	}
	s.Args = w.Args(values)
	return s, s.Validate()
}

// read puts the field's value into the study or into the workload's values.
func (f *field) read(s *bench.Study, values bench.Values) error {
	var err error
	switch {
	case f.param != nil:
		value := f.value()
		values[f.param.Name] = value
		return f.param.Validate(value)
	case f.kind == tickField && f.ticked:
		s.Placements = append(s.Placements, f.place)
	case f.label == labelOther:
		for _, p := range strings.Fields(f.value()) {
			s.Placements = append(s.Placements, bench.Placement(p))
		}
	case f.label == labelRuns:
		s.Runs, err = number(f)
	case f.label == labelWarmup:
		s.Warmup, err = number(f)
	case f.label == labelNoise:
		s.Noise, err = number(f)
	}
	return err
}

func (f *field) value() string {
	if f.kind == chooseField {
		return f.words[f.word]
	}
	return strings.TrimSpace(f.input.Value())
}

func number(f *field) (int, error) {
	n, err := strconv.Atoi(f.value())
	if err != nil {
		return 0, fmt.Errorf("%s must be a number, not %q", f.label, f.value())
	}
	return n, nil
}
