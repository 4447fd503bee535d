package proctable

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"piton/internal/field"
	"piton/internal/pattern"
)

// Layout is what the table shows, under a name: the columns, the order, the arrangement
// of the rows, the filter. Its texts are those of the settings file.
type Layout struct {
	Name    string
	Columns []string // ids in their order, "id:cells" where a width is set; none: the usual ones
	Sort    string   // a column id, with "-" before it for the other direction; "": the busiest first, as in top
	View    string   // one of TreeNames; "": a list
	Filter  string
}

// Main is the name of the layout of the start, which the top of the settings file changes.
const Main = "main"

// BuiltIn are the layouts that are there without settings, main first.
func BuiltIn() []Layout {
	return []Layout{
		{Name: Main},
		{Name: "io", Sort: "write_bytes_per_s", Columns: []string{"pid", "user", "state", "ioprio", "read_bytes_per_s", "write_bytes_per_s",
			"major_faults", "cpu_percent", "command"}},
		{Name: "migrations", Sort: "migrations_per_s", Columns: []string{"pid", "user", "policy", "cpu_percent", "cpu", "node", "affinity",
			"migrations_per_s", "migrations_history", "migrations", "run_delay_percent", "voluntary_per_s", "involuntary_per_s", "command"}},
		{Name: "memory", Sort: "rss_bytes", Columns: []string{"pid", "user", "mem_percent", "rss_bytes", "virt_bytes", "shared_bytes",
			"minor_faults", "major_faults", "oom_score", "command"}},
		{Name: "waits", Sort: "run_delay_percent", Columns: []string{"pid", "user", "cpu_percent", "affinity", "run_delay_percent",
			"wait_p99_ns", "blame", "throttled_percent", "cpu_quota", "pressure_percent", "command"}},
	}
}

// defaultSort shows the busiest first, as top and htop do.
const defaultSort = "cpu_percent"

// Bounds of a column's width that is set, in cells.
const (
	LeastWidth = 2
	MostWidth  = 200
)

var layoutName = pattern.Lazy(`^[A-Za-z0-9_-]{1,16}$`)

// CheckName says what is wrong with the name of a layout that is to be saved.
func CheckName(name string) error {
	switch {
	case name == Main:
		return errors.New("main is built in: F2 changes its columns")
	case !layoutName().MatchString(name):
		return errors.New("a name has 1 to 16 letters, digits, - or _")
	}
	return nil
}

// ParseColumn reads "id", or "id:cells" where the width is set; width is 0 without it.
func ParseColumn(text string) (c *field.TaskColumn, width int, err error) {
	id, cells, set := strings.Cut(text, ":")
	c, ok := field.Lookup(id)
	if !ok {
		return nil, 0, fmt.Errorf("unknown column %q", id)
	}
	if !set {
		return c, 0, nil
	}
	if width, err = strconv.Atoi(cells); err != nil || width < LeastWidth || width > MostWidth {
		return nil, 0, fmt.Errorf("column %q: a width is %d to %d cells", text, LeastWidth, MostWidth)
	}
	return c, width, nil
}

// ColumnText is what ParseColumn reads.
func ColumnText(id string, width int) string {
	if width == 0 {
		return id
	}
	return fmt.Sprintf("%s:%d", id, width)
}

// Apply makes a view show the layout.
func (l *Layout) Apply(v *View) {
	if c, desc, err := field.ParseOrder(cmp.Or(l.Sort, defaultSort)); err == nil {
		v.Sort, v.Desc = c, desc
	}
	v.Tree = Tree(max(slices.Index(TreeNames[:], l.View), 0))
	v.Filter, _ = field.ParseFilter(l.Filter)
	if v.Filter.String() == "" {
		v.Filter = nil
	}
	l.Fit(v)
}

// Note is the layout with what a view shows now, but for the columns.
func (l Layout) Note(v View) Layout {
	l.View, l.Filter, l.Sort = v.Tree.String(), v.Filter.String(), ""
	if v.Sort != nil {
		l.Sort = v.Sort.ID
		if v.Desc != v.Sort.Desc {
			l.Sort = "-" + l.Sort
		}
	}
	return l
}

// Fit gives a view the layout's columns, or the usual ones; with them the one that decides
// the order.
func (l *Layout) Fit(v *View) {
	v.Columns, v.Widths, v.Chosen = nil, map[string]int{}, len(l.Columns) > 0
	for _, text := range l.Shown(v.Threads) {
		if c, cells, err := ParseColumn(text); err == nil {
			v.Columns = append(v.Columns, c)
			if cells > 0 {
				v.Widths[c.ID] = cells
			}
		}
	}
	if v.Sort == nil || slices.Contains(v.Columns, v.Sort) {
		return
	}
	at := len(v.Columns)
	if at > 0 && v.Columns[at-1].ID == "command" {
		at-- // it takes what is left
	}
	v.Columns = slices.Insert(v.Columns, at, v.Sort)
}

// Shown are the layout's columns, or the usual ones.
func (l *Layout) Shown(threads bool) []string {
	switch {
	case len(l.Columns) > 0:
		return l.Columns
	case threads:
		return slices.Clone(field.Thread)
	}
	return slices.Clone(field.Process)
}
