package cli

import (
	"strings"

	"charm.land/lipgloss/v2"
	grid "charm.land/lipgloss/v2/table"
	"github.com/charmbracelet/x/ansi"

	"piton/internal/pattern"
)

// pageText lays a page of the help out for a terminal: headings, paragraphs, lists,
// tables and blocks of code, which is all of Markdown that the pages use.
func pageText(page string, width int) string {
	var p pageWriter
	p.width = width
	for l := range strings.Lines(page) {
		p.line(strings.TrimRight(l, "\n"))
	}
	p.end()
	return strings.ReplaceAll(strings.TrimSpace(p.out.String()), unbroken, "-") + "\n"
}

// unbroken stands for a hyphen while lines are filled: flags are not to be broken at theirs.
const unbroken = "\u2011"

// pageWriter lays out one block after another.
type pageWriter struct {
	out   strings.Builder
	width int      // columns
	code  bool     // in a block of code
	words []string // of the paragraph or the item of a list
	item  bool     // words are an item
	rows  [][]string
}

func (p *pageWriter) line(l string) {
	switch {
	case strings.HasPrefix(l, "```"):
		p.end()
		if p.code = !p.code; p.code {
			p.out.WriteString("\n")
		}
	case p.code:
		p.out.WriteString("  " + l + "\n")
	case strings.HasPrefix(l, "<!--"):
	case strings.HasPrefix(l, "#"):
		p.end()
		p.out.WriteString("\n" + strings.TrimLeft(l, "# ") + "\n")
	case strings.HasPrefix(l, "|"):
		if !strings.HasPrefix(l, "|---") {
			p.rows = append(p.rows, pageCells(l))
		}
	case l == "":
		p.end()
	default:
		if item, ok := strings.CutPrefix(l, "- "); ok {
			p.end()
			p.item, l = true, item
		}
		p.words = append(p.words, strings.TrimSpace(l))
	}
}

// end writes the block that has been read.
func (p *pageWriter) end() {
	if len(p.words) > 0 {
		text := inline(strings.Join(p.words, " "))
		first, other := "\n", ""
		if p.item {
			first, other = "- ", "  "
		}
		lines := strings.Split(ansi.Wordwrap(text, p.width-len(other), ""), "\n")
		p.out.WriteString(first + strings.Join(lines, "\n"+other) + "\n")
	}
	if len(p.rows) > 0 {
		p.out.WriteString("\n" + pageTable(p.rows, p.width))
	}
	p.words, p.rows, p.item = nil, nil, false
}

// pageTable sets the rows, the first of which is the heading, in columns.
func pageTable(rows [][]string, width int) string {
	cell := lipgloss.NewStyle().PaddingRight(2)
	t := grid.New().Border(lipgloss.Border{}).
		BorderTop(false).BorderBottom(false).BorderLeft(false).BorderRight(false).BorderColumn(false).BorderHeader(false).
		Rows(rows...).Wrap(true).StyleFunc(func(int, int) lipgloss.Style { return cell })
	text := t.String()
	if lipgloss.Width(text) > width-2 {
		text = t.Width(width - 2).String()
	}
	var out strings.Builder
	for l := range strings.SplitSeq(text, "\n") {
		out.WriteString(strings.TrimRight("  "+l, " ") + "\n")
	}
	return out.String()
}

// pageCells are the cells of a row of a table.
func pageCells(l string) []string {
	const bar = "\x00"
	l = strings.ReplaceAll(l, `\|`, bar)
	cells := strings.Split(strings.Trim(strings.TrimSpace(l), "|"), "|")
	for i, c := range cells {
		cells[i] = inline(strings.ReplaceAll(strings.TrimSpace(c), bar, "|"))
	}
	return cells
}

// link is a link of Markdown.
var link = pattern.Lazy(`\[([^\]]+)\]\([^)]+\)`)

// inline takes the notation of code, stress and links out of a text.
func inline(text string) string {
	return strings.NewReplacer("`", "", "**", "", "-", unbroken).Replace(link().ReplaceAllString(text, "$1"))
}
