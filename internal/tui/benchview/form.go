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
	"piton/workloads/workload"
)

// offered are the placements that the form has tick boxes for; any other can be typed.
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
	dialog.Form
	workloads []workload.Workload
	work      workload.Workload // whose fields are shown
	draft     bench.Study       // what the fields set
	values    workload.Values
	// Forecast estimates the time of a study; may be nil.
	Forecast func(bench.Study) (bench.Forecast, bool)
	// Try is a command that makes a trial run and calls tried; may be nil.
	Try    func(bench.Study) tea.Cmd
	usual  func(workload.Workload) bench.Study
	trying string // the workload of a trial that runs
}

// NewForm starts from a study, or from the usual one of the first workload. Another workload
// that is chosen has its usual one.
func NewForm(workloads []workload.Workload, from bench.Study, usual func(workload.Workload) bench.Study) *Form {
	f := &Form{workloads: workloads, usual: usual}
	f.Form = dialog.Form{Titled: "Start a study", Enter: "start", Answer: f.answer, About: f.about}
	if i := slices.IndexFunc(workloads, func(w workload.Workload) bool { return w.Name == from.Workload }); i >= 0 {
		f.work = workloads[i]
	} else if len(workloads) > 0 {
		f.work = workloads[0]
		from = usual(f.work)
	}
	f.show(from)
	return f
}

// Start makes a trial run where nothing is known of how long a run takes.
func (f *Form) Start() tea.Cmd {
	if _, _, err := f.Read(); err != nil || f.Try == nil || f.Forecast == nil {
		return nil
	}
	if _, known := f.Forecast(f.draft); known {
		return nil
	}
	f.trying = f.work.Name
	return f.Try(f.draft)
}

// tried takes the end of a trial. What was typed meanwhile stays.
func (f *Form) tried(s bench.Study, err error) {
	if f.trying == s.Workload {
		f.trying = ""
	}
	_, _, wrong := f.Read()
	if now := f.draft; err == nil && wrong == nil && now.Workload == s.Workload && slices.Equal(now.Args, s.Args) {
		now.Args = f.usual(f.work).Args
		f.show(now)
	}
}

// Update also shows the fields of another workload that was chosen.
func (f *Form) Update(msg tea.Msg) dialog.Outcome {
	out := f.Form.Update(msg)
	for _, w := range f.workloads {
		if w.Name == f.Fields[0].Value && w.Name != f.work.Name {
			f.work = w
			f.show(f.usual(w))
			out.Cmd = f.Start()
		}
	}
	return out
}

func (f *Form) answer() (any, error) {
	if len(f.workloads) == 0 {
		return nil, errors.New("no workload")
	}
	f.draft.Args = f.work.Args(f.values)
	return f.draft, f.draft.Validate()
}

// show makes the fields of a study: the workload with its parameters, the placements, the
// numbers of runs.
func (f *Form) show(s bench.Study) {
	given, _ := f.work.Parse(s.Args) // without them the form shows the defaults
	f.Fields = []dialog.Field{{Label: "workload", Value: f.work.Name, Help: f.work.Help, Set: func(string) error {
		f.draft, f.values = bench.Study{Workload: f.work.Name, Timeout: bench.DefaultTimeout}, workload.Values{}
		return nil
	}}}
	for _, w := range f.workloads {
		f.Fields[0].Words = append(f.Fields[0].Words, w.Name)
	}
	for _, p := range f.work.Params {
		fd := dialog.Field{Label: p.Name, Value: cmp.Or(given[p.Name], p.Default), Help: p.Help, Words: p.Choices,
			Set: func(value string) error { f.values[p.Name] = value; return nil }}
		if p.Choices == nil {
			fd.Kind, fd.Least, fd.Most, fd.Help = dialog.Number, p.Min, p.Max, fmt.Sprintf("%s, %d to %d", p.Help, p.Min, p.Max)
		}
		f.Fields = append(f.Fields, fd)
	}
	others := slices.Clone(s.Placements)
	for _, o := range offered {
		others = slices.DeleteFunc(others, func(p bench.Placement) bool { return p == o.placement })
		f.Fields = append(f.Fields, dialog.Field{Kind: dialog.Tick, Group: "place", Label: string(o.placement), Value: string(o.placement), Help: o.help,
			On: slices.Contains(s.Placements, o.placement), Set: f.place})
	}
	f.Fields = append(f.Fields,
		dialog.Field{Kind: dialog.Text, Label: "others", Value: words(others), Help: "more, such as cpu:3 nice:-5 llc+rr:50", Room: 24, Set: f.place},
		number("runs", s.Runs, 1, bench.MaxRuns, "measured runs per placement", &f.draft.Runs),
		number("warm-up", s.Warmup, 0, bench.MaxRuns, "runs per placement before them that do not count", &f.draft.Warmup),
		number("noise", s.Noise, 0, bench.MaxNoise, "busy background processes, on any CPU", &f.draft.Noise))
}

// words are placements as the form takes them.
func words(placements []bench.Placement) string { return strings.Trim(fmt.Sprint(placements), "[]") }

func (f *Form) place(text string) error {
	for p := range strings.FieldsSeq(text) {
		if _, err := bench.ParsePlacement(p); err != nil {
			return err
		}
		f.draft.Placements = append(f.draft.Placements, bench.Placement(p))
	}
	return nil
}

func number(label string, value, least, most int, help string, of *int) dialog.Field {
	return dialog.Field{Kind: dialog.Number, Label: label, Value: strconv.Itoa(value), Least: least, Most: most, Help: help,
		Set: func(text string) (err error) { *of, err = strconv.Atoi(text); return err }}
}

// about is how long the study takes, with a warning when its runs are too short.
func (f *Form) about() []dialog.Line {
	if f.Forecast == nil {
		return nil
	}
	c, ok := f.Forecast(f.draft)
	switch {
	case !ok && f.trying != "":
		return []dialog.Line{{Text: "a trial run shows how long a run takes"}}
	case !ok:
		return []dialog.Line{{Text: fmt.Sprintf("%d runs; a trial run first estimates the time", f.draft.Total())}}
	}
	return []dialog.Line{{Text: strings.TrimPrefix(f.draft.Length()+" → ", " → ") + c.Sentence()},
		{Tone: dialog.Warning, Text: f.draft.ShortRuns(c.Work)}}
}
