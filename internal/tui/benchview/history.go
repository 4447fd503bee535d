package benchview

import (
	"fmt"
	"slices"
	"strconv"

	tea "charm.land/bubbletea/v2"

	"piton/internal/bench"
	"piton/internal/bench/store"
	"piton/internal/field"
	"piton/internal/paper"
	"piton/internal/report"
	"piton/workloads"
)

const (
	maxPast  = 200 // studies that the list shows; the file keeps all
	dateTime = "2006-01-02 15:04"
)

// study is one study, or published ones that were reproduced together, judged.
type study struct {
	results bench.Results // of published ones only their grid's ID and start
	report  bench.Report
	earlier *bench.Earlier // the last study of the same work before it, if any
	// Of published ones; those of a newer piton are not chosen.
	grid     bench.Grid
	cells    []bench.Results
	chosen   []paper.Paper
	sections []report.Section // while they are shown
}

func judged(r bench.Results) study { return study{results: r, report: bench.Judge(r)} }

func reproduced(g bench.Grid, cells []bench.Results, chosen []paper.Paper) study {
	return study{results: bench.Results{ID: g.ID, Started: g.Started}, grid: g, cells: cells, chosen: chosen}
}

func (s study) published() bool { return s.chosen != nil || s.grid.ID != "" }

// id is in the names of files, too; "" before the first result.
func (s study) id() string { return s.results.ID }

func (s study) title() string {
	if s.published() {
		return "Reproduced studies"
	}
	return title(s.results.Study)
}

// read is the command that reads the history and judges it.
func (v *View) read() tea.Msg {
	var h store.History
	var err error
	if v.o.Store != nil {
		h, err = v.o.Store.Read()
	}
	if err != nil {
		return func() tea.Cmd { v.notes = []string{err.Error()}; return nil }
	}
	var all []study
	stored := paper.All(h)
	for _, s := range slices.Backward(stored[max(len(stored)-maxPast, 0):]) {
		if s.Published() {
			chosen, _ := paper.Lookup(s.Grid.Papers)
			all = append(all, reproduced(s.Grid, s.Studies, chosen))
			continue
		}
		p := judged(s.Studies[0])
		p.earlier = h.Before(p.results)
		all = append(all, p)
	}
	return func() tea.Cmd {
		v.stored, v.notes = h, h.Notes
		v.Load(all, true)
		return nil
	}
}

func (v *View) past(id string) (s study, ok bool) {
	if i := v.Index(id); i >= 0 {
		return v.Rows()[i], true
	}
	return study{}, false
}

// subject is the study that is shown: one of the past, else that of this session.
func (v *View) subject() (s study, past, ok bool) {
	if s, ok = v.past(v.shown); ok {
		s.sections = v.sections
		return s, true, true
	}
	if v.run != nil {
		s = v.run.study
		stored, _ := v.past(s.id())
		s.earlier = stored.earlier
	}
	return s, false, v.run != nil
}

// found is the largest difference of a study, or that there is none; of published ones how many
// answers were right.
func (p study) found(int) (string, field.Tone) {
	if p.published() {
		right, runs := paper.Answers(p.cells)
		text := fmt.Sprintf("%d of %d runs right", right, runs)
		if p.grid.Ended.IsZero() {
			text += ", unfinished"
		}
		return text, field.Normal
	}
	switch best, ok := p.report.Best(); {
	case !ok:
		return p.report.Brief(), field.Normal
	case best.Better():
		return p.report.Brief(), field.Good
	}
	return p.report.Brief(), field.Warn
}

// title is the work of a study in short: its size, and options that are not the
// default: "matrix 1000, threads 250".
func title(s bench.Study) string {
	w, err := workloads.Find(s.Workload)
	values, bad := w.Parse(s.Args)
	if err != nil || bad != nil {
		return report.Command(s)
	}
	name := w.Name
	for i, p := range w.Params {
		switch {
		case i == 0 && p.Choices == nil:
			name += " " + values[p.Name]
		case values[p.Name] != p.Default:
			name += ", " + p.Name + " " + values[p.Name]
		}
	}
	if s.Noise > 0 {
		name += fmt.Sprintf(", noise %d", s.Noise)
	}
	return name
}

func (v *View) pastColumns() []field.Column[study] {
	return []field.Column[study]{
		{ID: "when", Title: "HISTORY", Width: len(dateTime), Tight: len(dateTime), Desc: true, Rank: 1,
			Value: func(p study) any { return p.results.Started.UnixNano() },
			Text:  func(p study) string { return p.results.Started.Local().Format(dateTime) }},
		{ID: "work", Title: "WORK", Width: 40, Tight: 22, Rank: 2, Value: func(p study) any { return p.work() },
			Look: func(p study, _ int) (string, field.Tone) {
				if p.id() == v.marked {
					return "c: " + p.work(), field.Strong
				}
				return p.work(), field.Normal
			}},
		{ID: "placements", Title: "PLACEMENTS", Width: 44, Rank: 4, Tone: func(study) field.Tone { return field.Dim },
			Text: func(p study) string { return words(p.results.Study.Placements) }},
		{ID: "runs", Title: "RUNS", Width: 4, Right: true, Rank: 3, Text: study.runs},
		{ID: "result", Title: "RESULT", Tight: 34, Look: study.found},
	}
}

// work is what a study ran; runs is how many of each placement count, "" for several studies.
func (p study) work() string {
	if p.published() {
		return "paper " + p.names()
	}
	return title(p.results.Study)
}

func (p study) runs() string {
	if p.published() {
		return ""
	}
	most := 0
	for _, a := range p.report.Arms {
		most = max(most, a.Runs)
	}
	return strconv.Itoa(most)
}
