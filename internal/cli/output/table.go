// Package output prints what commands found: tables for people, CSV, and JSON lines.
package output

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"

	"piton/internal/field"
)

// Table is text in columns as wide as their widest cell, two blanks apart.
type Table struct {
	titles []string
	right  []bool // by column: numbers are right-aligned
	Rows   [][]string
}

// NewTable takes titles; one that begins with ">" heads a right-aligned column.
func NewTable(titles ...string) *Table {
	t := &Table{}
	for _, title := range titles {
		name, right := strings.CutPrefix(title, ">")
		t.column(name, right)
	}
	return t
}

func (t *Table) column(title string, right bool) {
	t.titles = append(t.titles, title)
	t.right = append(t.right, right)
}

// Add adds a row; cells may hold anything, and are cleaned.
func (t *Table) Add(cells ...any) {
	row := make([]string, len(cells))
	for i, c := range cells {
		row[i] = field.Clean(fmt.Sprint(c))
	}
	t.Rows = append(t.Rows, row)
}

// Write prints the heading and the rows. The writer keeps its error, as app.App does.
// Lip Gloss, which lays out the help's tables, takes 46 times as long: 0.6 s for 5,000 rows.
func (t *Table) Write(w io.Writer) {
	all := append([][]string{t.titles}, t.Rows...)
	widths := make([]int, len(t.titles))
	for _, row := range all {
		for i, cell := range row {
			widths[i] = max(widths[i], field.Width([]byte(cell)))
		}
	}
	var line []byte
	for _, row := range all {
		line = line[:0]
		for i, cell := range row {
			if i > 0 {
				line = append(line, "  "...)
			}
			start := len(line)
			line = append(line, cell...)
			line = field.Pad(line, start, widths[i], t.right[i], false)
		}
		_, _ = w.Write(append(bytes.TrimRight(line, " "), '\n'))
	}
}

// Dash stands for a value that is not there.
func Dash(s string) string { return cmp.Or(s, "-") }

// GiB is a number of bytes in GiB.
func GiB[T int64 | uint64](bytes T) float64 { return float64(bytes) / (1 << 30) }
