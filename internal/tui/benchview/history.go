package benchview

import (
	"fmt"
	"slices"

	tea "charm.land/bubbletea/v2"

	"piton/internal/bench"
	"piton/internal/bench/store"
	"piton/internal/paper"
	"piton/internal/report"
	"piton/internal/tui/theme"
	"piton/workloads"
)

// maxPast is how many studies the list shows; the file keeps all.
const maxPast = 200

// study is one study, or published ones that were reproduced together, judged.
type study struct {
	results bench.Results // of published ones only their start and conditions
	report  bench.Report
	earlier *bench.Earlier // the last study of the same work before it, if any
	// Of published ones; those of a newer piton are not chosen.
	grid     bench.Grid
	cells    []bench.Results
	chosen   []paper.Paper
	sections []report.Section // while they are shown
}

func judged(r bench.Results) study { return study{results: r, report: bench.Judge(r)} }

func (s study) published() bool { return s.chosen != nil || s.grid.ID != "" }

// id is in the names of files, too; "" before the first result.
func (s study) id() string {
	if s.published() {
		return s.grid.ID
	}
	return s.results.ID
}

func (s study) title() string {
	if s.published() {
		return "Reproduced studies"
	}
	return title(s.results.Study)
}

// read is the command that reads the history and judges it.
func (v *View) read() tea.Msg {
	var h store.History
	if v.o.Store != nil {
		var err error
		if h, err = v.o.Store.Read(); err != nil {
			return func() tea.Cmd { v.notes = []string{err.Error()}; return nil }
		}
	}
	var all []study
	for _, r := range slices.Backward(h.Studies) {
		if len(all) == maxPast {
			break
		}
		switch {
		case r.Study.Grid == "" && len(r.Runs) == 0: // canceled before its first run
		case r.Study.Grid == "":
			p := judged(r)
			if e, ok := h.Before(r); ok {
				p.earlier = &e
			}
			all = append(all, p)
		case !slices.ContainsFunc(all, func(s study) bool { return s.grid.ID == r.Study.Grid }):
			if g, ok := ofGrid(h, r); ok {
				all = append(all, g)
			}
		}
	}
	return func() tea.Cmd {
		v.stored, v.notes = h, h.Notes
		v.Load(all, true)
		return nil
	}
}

// ofGrid is the entry of the grid that a study is a cell of.
func ofGrid(h store.History, cell bench.Results) (study, bool) {
	i := slices.IndexFunc(h.Grids, func(g bench.Grid) bool { return g.ID == cell.Study.Grid })
	if i < 0 { // it was interrupted while it was planned
		return study{}, false
	}
	g := h.Grids[i]
	chosen, _ := paper.Lookup(g.Papers)
	return study{grid: g, cells: paper.Cells(h, g), chosen: chosen, results: bench.Results{Started: g.Started, Conditions: cell.Conditions}}, true
}

// past is a study of the history; false when it has none of that ID.
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
	if v.run == nil {
		return study{}, false, false
	}
	s = v.run.study
	if stored, ok := v.past(s.id()); ok {
		s.earlier = stored.earlier
	}
	return s, false, true
}

// found is the largest difference of a study, or that there is none.
func (p study) found(th *theme.Theme) (string, theme.Style) {
	if p.published() {
		return p.foundInCells(), th.Text
	}
	style := th.Text
	if best, ok := p.report.Best(); ok && best.Better() {
		style = th.Good
	} else if ok {
		style = th.Warn
	}
	return p.report.Brief(), style
}

// foundInCells is how many runs there were, and how many gave the right answer.
func (p study) foundInCells() string {
	runs, right := 0, 0
	for _, c := range p.cells {
		_, ok, all := c.Answers()
		runs, right = runs+all, right+ok
	}
	text := fmt.Sprintf("%d of %d runs right", right, runs)
	if p.grid.Ended.IsZero() {
		text += ", unfinished"
	}
	return text
}

// title is the work of a study in short: its size, and options that are not the
// default: "matrix 1000, threads 250".
func title(s bench.Study) string {
	w, err := workloads.Find(s.Workload)
	if err != nil {
		return report.Command(s)
	}
	values, err := w.Parse(s.Args)
	if err != nil {
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
