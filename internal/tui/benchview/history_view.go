package benchview

import (
	"fmt"
	"strconv"
	"strings"

	"piton/internal/tui/list"
	"piton/internal/tui/theme"
)

const dateTime = "2006-01-02 15:04"

// pastColumns are those of the list of past studies.
func (v *View) pastColumns() []list.Column[study] {
	cell := func(f func(study) string) func(study, *theme.Theme, int) (string, theme.Style) {
		return func(p study, th *theme.Theme, _ int) (string, theme.Style) { return f(p), th.Text }
	}
	return []list.Column[study]{
		{ID: "when", Title: "HISTORY", Width: len(dateTime), Tight: len(dateTime), Desc: true, Rank: 1,
			Cell:    cell(func(p study) string { return p.results.Started.Local().Format(dateTime) }),
			Compare: func(a, b study) int { return a.results.Started.Compare(b.results.Started) }},
		{ID: "work", Title: "WORK", Width: 40, Tight: 22, Rank: 2, Cell: func(p study, th *theme.Theme, _ int) (string, theme.Style) {
			if p.id() == v.marked {
				return "c: " + p.work(), th.Strong
			}
			return p.work(), th.Text
		},
			Compare: func(a, b study) int { return strings.Compare(a.work(), b.work()) }},
		{ID: "placements", Title: "PLACEMENTS", Width: 44, Rank: 4, Cell: func(p study, th *theme.Theme, _ int) (string, theme.Style) {
			return strings.Trim(fmt.Sprint(p.results.Study.Placements), "[]"), th.Dim
		}},
		{ID: "runs", Title: "RUNS", Width: 4, Right: true, Rank: 3, Cell: cell(study.runs)},
		{ID: "result", Title: "RESULT", Tight: 34, Cell: func(p study, th *theme.Theme, _ int) (string, theme.Style) {
			return p.found(th)
		}},
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
