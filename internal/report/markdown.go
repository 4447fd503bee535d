package report

import (
	"cmp"
	"fmt"
	"io"
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
					fmt.Fprintf(&out, "    %s\n", visible(strings.TrimRight(line, " ")))
				}
			}
		}
		for _, t := range s.Tables {
			switch {
			case len(t.Rows) == 0:
			case t.Folded:
				fmt.Fprintf(&out, "\n<details><summary>%s</summary>\n\n", plain(t.Title))
				t.markdown(&out)
				out.WriteString("\n</details>\n")
			default:
				fmt.Fprintf(&out, "\n### %s\n\n", plain(t.Title))
				t.markdown(&out)
			}
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
	row := func(cells []string) {
		for _, c := range cells {
			out.WriteString("| " + plain(c) + " ")
		}
		out.WriteString("|\n")
	}
	row(t.Head)
	for i := range t.Head {
		if t.Numeric(i) {
			out.WriteString("|---:")
		} else {
			out.WriteString("|---")
		}
	}
	out.WriteString("|\n")
	for _, r := range t.Rows {
		row(r)
	}
}

var markdownEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "|", `\|`, "*", `\*`, "_", `\_`, "`", "\\`",
	"[", `\[`, "]", `\]`, "\\", `\\`, "#", `\#`, "~", `\~`, "!", `\!`)

// plain makes text that means nothing in markdown, on one line.
func plain(text string) string {
	return markdownEscapes.Replace(strings.Join(strings.Fields(visible(text)), " "))
}

// visible replaces what a terminal would act on.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

// Text writes the table with aligned columns. Where it is wider than width, which
// is 0 for no limit, columns that do not fit follow below, behind the Keys again.
func (t Table) Text(w io.Writer, width int) error {
	widths := make([]int, len(t.Head))
	rows := append([][]string{t.Head}, t.Rows...)
	for _, row := range rows {
		for i, c := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(visible(c)))
		}
	}
	keys, used := max(t.Keys, 1), 0
	for i := range keys {
		used += widths[i] + 2
	}
	for from := keys; from < len(t.Head) || from == keys; {
		to := from
		for room := width - used + 2; to < len(t.Head) && (width == 0 || to == from || room >= widths[to]+2); to++ {
			room -= widths[to] + 2
		}
		columns := make([]int, 0, len(t.Head))
		for i := range to {
			if i < keys || i >= from {
				columns = append(columns, i)
			}
		}
		if err := t.block(w, rows, widths, columns); err != nil {
			return err
		}
		from = max(to, from+1)
	}
	return nil
}

// block writes some columns of the table.
func (t Table) block(w io.Writer, rows [][]string, widths, columns []int) error {
	var out strings.Builder
	for _, row := range rows {
		line := ""
		for _, i := range columns {
			c := visible(row[i])
			gap := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c))
			if t.Numeric(i) {
				line += gap + c + "  "
			} else {
				line += c + gap + "  "
			}
		}
		out.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// Text writes a section for a terminal of width cells, 0 for no limit, with no other
// figures than effects.
func Text(w io.Writer, s Section, width int) error {
	wrapped := func(text string) error {
		lines := []string{visible(text)}
		if width > 0 {
			lines = chart.Wrap(visible(text), width)
		}
		for _, l := range lines {
			if _, err := fmt.Fprintln(w, l); err != nil {
				return err
			}
		}
		return nil
	}
	for _, l := range append([]string{s.Title, s.Answer}, s.Lead...) {
		if l == "" {
			continue
		}
		if err := wrapped(l); err != nil {
			return err
		}
	}
	for _, f := range s.Figures {
		if e, ok := f.Plot.(chart.Effects); ok && !e.Empty() {
			lines := e.Text(cmp.Or(width, figureWidth))
			if _, err := fmt.Fprintf(w, "\n%s\n%s\n", visible(f.Title), visible(strings.Join(lines, "\n"))); err != nil {
				return err
			}
		}
	}
	for _, t := range s.Tables {
		if t.Below || len(t.Rows) == 0 {
			continue
		}
		if _, err := fmt.Fprintf(w, "\n%s\n", visible(t.Title)); err != nil {
			return err
		}
		if err := t.Text(w, width); err != nil {
			return err
		}
	}
	for _, n := range s.Notes {
		if err := wrapped("note: " + n); err != nil {
			return err
		}
	}
	return nil
}
