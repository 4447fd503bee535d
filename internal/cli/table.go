package cli

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strings"

	"piton/internal/field"
)

// table is text in columns as wide as their widest cell, two blanks apart.
type table struct {
	titles []string
	right  []bool // by column: numbers are right-aligned
	rows   [][]string
}

// newTable takes titles; one that begins with ">" heads a right-aligned column.
func newTable(titles ...string) *table {
	t := &table{}
	for _, title := range titles {
		name, right := strings.CutPrefix(title, ">")
		t.titles = append(t.titles, name)
		t.right = append(t.right, right)
	}
	return t
}

// add adds a row; cells may hold anything, and are cleaned.
func (t *table) add(cells ...any) {
	row := make([]string, len(cells))
	for i, c := range cells {
		row[i] = field.Clean(fmt.Sprint(c))
	}
	t.rows = append(t.rows, row)
}

// write prints the heading and the rows. The writer keeps its error, as app does.
func (t *table) write(w io.Writer) {
	all := append([][]string{t.titles}, t.rows...)
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

// writeAs prints the table as the output format says.
func (t *table) writeAs(w io.Writer, o output) {
	if o.value == asCSV {
		_ = csv.NewWriter(w).WriteAll(slices.Insert(slices.Clone(t.rows), 0, t.titles))
		return
	}
	t.write(w)
}
