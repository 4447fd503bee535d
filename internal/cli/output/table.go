// Package output prints what commands found: tables for people, CSV, and JSON lines.
package output

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"charm.land/lipgloss/v2"
	"charm.land/lipgloss/v2/table"

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
		t.titles = append(t.titles, name)
		t.right = append(t.right, right)
	}
	return t
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
func (t *Table) Write(w io.Writer) {
	text := Borderless().Headers(t.titles...).Rows(t.Rows...).StyleFunc(func(_, column int) lipgloss.Style {
		s := lipgloss.NewStyle()
		if column+1 < len(t.titles) {
			s = s.PaddingRight(2)
		}
		if t.right[column] {
			s = s.Align(lipgloss.Right)
		}
		return s
	}).String()
	for line := range strings.Lines(text) {
		_, _ = io.WriteString(w, strings.TrimRight(line, " \n")+"\n")
	}
}

// Borderless is an empty table without lines.
func Borderless() *table.Table {
	return table.New().Border(lipgloss.Border{}).
		BorderTop(false).BorderBottom(false).BorderLeft(false).BorderRight(false).BorderColumn(false).BorderHeader(false)
}

// Dash stands for a value that is not there.
func Dash(s string) string { return cmp.Or(s, "-") }

// GiB is a number of bytes in GiB.
func GiB[T int64 | uint64](bytes T) float64 { return float64(bytes) / (1 << 30) }
