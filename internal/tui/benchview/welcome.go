package benchview

import (
	"piton/internal/paper"
	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
)

// welcome says what a study is, and of what it can be made.
func (v *View) welcome(width int, th *theme.Theme) []string {
	text := "A study runs a workload repeatedly under several placements, interleaved, and compares them with the first: how much time is saved, and how certain that is."
	keys := rows.Keys(th, " n", "start a study")
	if v.o.Papers != nil {
		keys = rows.Keys(th, " n", "start a study", "p", "reproduce a published study")
	}
	lines := append([]string{th.Title.Render(" Bench")}, rows.Indented(th, th.Text, text, width)...)
	lines = append(lines, keys.Render(th, width))
	var workloads, placements, papers [][2]string
	for _, w := range v.o.Workloads {
		workloads = append(workloads, [2]string{w.Name, w.Help})
	}
	for _, o := range offered {
		placements = append(placements, [2]string{string(o.placement), o.help})
	}
	for _, p := range paper.Papers {
		papers = append(papers, [2]string{p.Name, p.Title})
	}
	lines = append(v.gap(lines), terms("Workloads", workloads, width, th)...)
	if !v.roomy { // the forms have the rest
		return lines
	}
	lines = append(v.gap(lines), terms("Placements", placements, width, th)...)
	if v.o.Papers != nil {
		lines = append(v.gap(lines), terms("Published studies", papers, width, th)...)
	}
	return lines
}

// terms are words with what they mean, below a heading.
func terms(heading string, all [][2]string, width int, th *theme.Theme) []string {
	lines, widest := []string{th.Header.Render(" " + heading)}, 0
	for _, t := range all {
		widest = max(widest, len(t[0]))
	}
	for _, t := range all {
		var r rows.Row
		r.Left(th, th.Strong, " "+t[0], widest+3)
		r.Add(th.Dim, t[1])
		lines = append(lines, r.Render(th, width))
	}
	return lines
}
