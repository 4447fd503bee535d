package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"

	"piton/internal/chart"
)

// figureWidth is that of the figures in markdown and in text that has no width, in cells.
const figureWidth = 90

// Markdown writes sections as GitHub renders it, with the figures that are drawn in text.
func Markdown(w io.Writer, sections []Section) error {
	var out strings.Builder
	for i, s := range sections {
		if i > 0 {
			out.WriteString("\n")
		}
		fmt.Fprintf(&out, "## %s\n", plain(s.Title))
		if s.Answer != "" {
			fmt.Fprintf(&out, "\n**%s**\n", plain(s.Answer))
		}
		for _, line := range s.Lead {
			fmt.Fprintf(&out, "\n%s\n", plain(line))
		}
		for _, f := range s.Figures {
			if text, ok := f.Plot.(interface{ Text(int) []string }); ok && !f.Plot.Empty() {
				fmt.Fprintf(&out, "\n### %s\n\n", plain(f.Title))
				for _, line := range text.Text(figureWidth) {
					fmt.Fprintf(&out, "    %s\n", chart.Clean(strings.TrimRight(line, " ")))
				}
			}
		}
		for _, t := range s.Tables {
			t.markdown(&out)
		}
		if len(s.Notes) > 0 {
			out.WriteString("\n")
		}
		for _, n := range s.Notes {
			fmt.Fprintf(&out, "- %s\n", plain(n))
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func (t Table) markdown(out *strings.Builder) {
	if len(t.Rows) == 0 {
		return
	}
	head, end := "\n### %s\n\n", ""
	if t.Folded {
		head, end = "\n<details><summary>%s</summary>\n\n", "\n</details>\n"
	}
	fmt.Fprintf(out, head, plain(t.Title))
	row := func(cells []string) {
		for _, c := range cells {
			out.WriteString("| " + plain(c) + " ")
		}
		out.WriteString("|\n")
	}
	row(t.Head)
	for i := range t.Head {
		if out.WriteString("|---"); t.Numeric(i) {
			out.WriteString(":")
		}
	}
	out.WriteString("|\n")
	for _, r := range t.Rows {
		row(r)
	}
	out.WriteString(end)
}

var markdownEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "|", `\|`, "*", `\*`, "_", `\_`, "`", "\\`",
	"[", `\[`, "]", `\]`, "\\", `\\`, "#", `\#`, "~", `\~`, "!", `\!`)

// plain makes text that means nothing in markdown, on one line.
func plain(text string) string { return markdownEscapes.Replace(oneLine(text)) }

// oneLine is text on one line, without what a terminal would act on.
func oneLine(text string) string { return chart.Clean(strings.Join(strings.Fields(text), " ")) }

// Text writes the table with aligned columns. Where it is wider than width, which
// is 0 for no limit, columns that do not fit follow below, behind the Keys again.
func (t Table) Text(w io.Writer, width int) error {
	var out strings.Builder
	widths, rows := make([]int, len(t.Head)), append([][]string{t.Head}, t.Rows...)
	for i := range t.Head {
		for _, row := range rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(chart.Clean(row[i])))
		}
		if !t.Numeric(i) {
			widths[i] = -widths[i]
		}
	}
	size := func(i int) int { return max(widths[i], -widths[i]) + 2 }
	keys, used := min(max(t.Keys, 1), len(t.Head)), -2
	for i := range keys {
		used += size(i)
	}
	for from, once := keys, true; once || from < len(t.Head); once = false {
		to, room := from, width-used
		for ; to < len(t.Head) && (width == 0 || to == from || room >= size(to)); to++ {
			room -= size(to)
		}
		for _, row := range rows {
			line := ""
			for i := range to {
				if i < keys || i >= from {
					line += fmt.Sprintf("%*s  ", widths[i], chart.Clean(row[i]))
				}
			}
			out.WriteString(strings.TrimRight(line, " ") + "\n")
		}
		from = to
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// Text writes a section for a terminal of width cells, 0 for no limit, with no other
// figures than effects.
func Text(w io.Writer, s Section, width int) error {
	var out strings.Builder
	wrapped := func(text string) {
		for _, line := range chart.Wrap(oneLine(text), cmp.Or(width, math.MaxInt)) {
			out.WriteString(line + "\n")
		}
	}
	for _, l := range append([]string{s.Title, s.Answer}, s.Lead...) {
		wrapped(l)
	}
	for _, f := range s.Figures {
		if e, ok := f.Plot.(chart.Effects); ok && !e.Empty() {
			fmt.Fprintf(&out, "\n%s\n", chart.Clean(f.Title))
			for _, line := range e.Text(cmp.Or(width, figureWidth)) {
				out.WriteString(chart.Clean(line) + "\n")
			}
		}
	}
	for _, t := range s.Tables {
		if !t.Below && len(t.Rows) > 0 {
			fmt.Fprintf(&out, "\n%s\n", chart.Clean(t.Title))
			_ = t.Text(&out, width) // a Builder takes everything
		}
	}
	for _, n := range s.Notes {
		wrapped("note: " + n)
	}
	_, err := io.WriteString(w, out.String())
	return err
}
