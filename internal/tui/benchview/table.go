package benchview

import (
	"piton/internal/bench"
	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
)

// table draws the placements of a study (bench.Report.Table), in colours that the
// words and glyphs say too. While it runs there are no verdicts.
func table(rep bench.Report, running bool, width int, th *theme.Theme) []string {
	lines, below := rep.Table(bench.TableOptions{Width: width - 1, ASCII: th.ASCII, Running: running})
	var out []string
	for _, line := range lines {
		var r rows.Row
		r.Add(th.Text, " ")
		for _, s := range line {
			if s.Part == bench.StripPart {
				r.Strip(th, s.Text)
			} else {
				r.Add(partStyle(s.Part, th), s.Text)
			}
		}
		out = append(out, r.Render(th, width))
	}
	for _, line := range below {
		for _, s := range line {
			out = append(out, rows.Indented(th, partStyle(s.Part, th), s.Text, width)...)
		}
	}
	return out
}

func partStyle(p bench.Part, th *theme.Theme) theme.Style {
	return [...]theme.Style{bench.PlainPart: th.Text, bench.HeadPart: th.Header, bench.NamePart: th.Strong, bench.StripPart: th.Text,
		bench.GoodPart: th.Good, bench.BadPart: th.Warn}[p]
}
