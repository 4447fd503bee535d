package benchview

import (
	"piton/internal/bench"
	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
)

// table draws a study (bench.Report.Lines), in colours that the words and glyphs say too.
func table(rep bench.Report, o bench.TableOptions, th *theme.Theme) []string {
	width := o.Width
	o.Width, o.ASCII = width-1, th.ASCII
	var out []string
	for _, line := range rep.Lines(o) {
		var r rows.Row
		r.Add(th.Text, " ")
		for _, s := range line {
			if s.Part == bench.EffectPart {
				r.Effect(th, s.Text)
			} else {
				r.Add(partStyle(s.Part, th), s.Text)
			}
		}
		out = append(out, r.Render(th, width))
	}
	return out
}

func partStyle(p bench.Part, th *theme.Theme) theme.Style {
	return [...]theme.Style{bench.PlainPart: th.Text, bench.AnswerPart: th.Strong, bench.HeadPart: th.Header, bench.NamePart: th.Strong, bench.EffectPart: th.Text,
		bench.GoodPart: th.Good, bench.BadPart: th.Warn}[p]
}
