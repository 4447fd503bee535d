package benchview

import (
	"piton/internal/paper"
	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
)

// welcome says what a study is, and of what it can be made.
func (v *View) welcome(width int, th *theme.Theme) []string {
	const text = "A study runs a workload repeatedly under several placements, interleaved, and compares them with the first: " +
		"which is faster by how much, and how certain that is."
	keys := rows.Keys(th, " n", "start a study")
	if v.o.Papers != nil {
		keys = rows.Keys(th, " n", "start a study", "p", "reproduce a published study")
	}
	lines := append([]string{th.Title.Render(" Bench")}, rows.Indented(th, th.Text, text, width)...)
	lines = append(lines, keys.Render(th, width))
	terms := func(heading string, n int, term func(i int) (name, help string)) {
		lines = append(v.gap(lines), th.Header.Render(" "+heading))
		widest := 0
		for i := range n {
			name, _ := term(i)
			widest = max(widest, len(name))
		}
		for i := range n {
			var r rows.Row
			name, help := term(i)
			r.Left(th, th.Strong, " "+name, widest+3)
			r.Add(th.Dim, help)
			lines = append(lines, r.Render(th, width))
		}
	}
	terms("Workloads", len(v.o.Workloads), func(i int) (string, string) { return v.o.Workloads[i].Name, v.o.Workloads[i].Help })
	if v.tall { // the forms have the rest
		terms("Placements", len(offered), func(i int) (string, string) { return string(offered[i].placement), offered[i].help })
	}
	if v.tall && v.o.Papers != nil {
		terms("Published studies", len(paper.Papers), func(i int) (string, string) { return paper.Papers[i].Name, paper.Papers[i].Title })
	}
	return lines
}
