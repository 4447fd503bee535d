package field

import (
	"fmt"
	"slices"
	"strings"

	"piton/internal/sample"
)

// The columns shown when the user asked for none. Process is for the process
// table, Thread for the same with thread rows, JSON for machines.
var (
	Process = []string{"pid", "user", "priority", "nice", "policy", "state", "cpu_percent", "mem_percent", "time_s",
		"cpu", "affinity", "migrations_per_s", "migrations_history", "run_delay_percent", "command"}
	Thread = append([]string{"pid", "tid"}, Process[1:]...)
	JSON   = []string{"pid", "tid", "ppid", "user", "comm", "command", "state", "cpu", "node", "affinity", "nice", "policy",
		"rtprio", "priority", "cpu_percent", "mem_percent", "rss_bytes", "time_s", "threads", "migrations",
		"migrations_source", "migrations_per_s", "run_delay_ns", "run_delay_percent", "voluntary_switches",
		"involuntary_switches", "start", "start_ticks"}
)

// aliases are the short names that people type, beside the headings.
var aliases = map[string]string{
	"mig": "migrations_per_s", "pingpong": "pingpong_per_s", "mem": "mem_percent", "rss": "rss_bytes", "time": "time_s",
	"allowed": "affinity", "delay": "run_delay_percent", "cmd": "command", "args": "command",
	"cmdline": "command", "name": "comm", "io": "ioprio", "prio": "priority", "rt": "rtprio",
	"on": "cpu", "core": "cpu", "bounce": "migrations_history", // its former name, in settings that were kept
	"virt": "virt_bytes", "shr": "shared_bytes", "oom": "oom_score",
	"vcsw": "voluntary_per_s", "icsw": "involuntary_per_s", "cpus": "affinity",
	"p99": "wait_p99_ns", "wait": "wait_p99_ns", "throttled": "throttled_percent", "pressure": "pressure_percent",
}

// Lookup finds a column by its id, its heading or a short name ("mig", "cpu%"),
// whatever the case.
func Lookup(name string) (*TaskColumn, bool) {
	name = strings.ToLower(name)
	if id, ok := aliases[name]; ok {
		name = id
	}
	// Ids come first: "cpu" is the CPU number and not some heading.
	for i := range Columns {
		if Columns[i].ID == name {
			return &Columns[i], true
		}
	}
	for i := range Columns {
		if strings.ToLower(Columns[i].Title) == name {
			return &Columns[i], true
		}
	}
	return nil, false
}

// find is Lookup with an error that names the columns there are.
func find(name string) (*TaskColumn, error) {
	if c, ok := Lookup(name); ok {
		return c, nil
	}
	return nil, fmt.Errorf("there is no column %q; the columns are %s", Clean(name), strings.Join(ids(), " "))
}

// Select returns the columns with these names.
func Select(names []string) ([]*TaskColumn, error) {
	var out []*TaskColumn
	for _, name := range names {
		c, err := find(name)
		if err != nil {
			return nil, err
		}
		if slices.Contains(out, c) {
			return nil, fmt.Errorf("column %q is named twice", Clean(name))
		}
		out = append(out, c)
	}
	return out, nil
}

// ids lists the names of all columns.
func ids() []string {
	ids := make([]string, len(Columns))
	for i := range Columns {
		ids[i] = Columns[i].ID
	}
	return ids
}

// Needs returns what a sample must hold to show the columns and to answer the
// filter, which may be nil.
func Needs(columns []*TaskColumn, filter *Filter) sample.Needs {
	var n sample.Needs
	for _, c := range columns {
		if c.Needs != nil {
			c.Needs(&n)
		}
	}
	filter.needs(&n)
	return n
}

// NeedTwo reports whether a column or the filter, which may be nil, is about the
// time between two samples, so that one sample does not tell it.
func NeedTwo(columns []*TaskColumn, filter *Filter) bool {
	if filter != nil {
		for i := range filter.terms {
			if c := filter.terms[i].column; c != nil && c.span {
				return true
			}
		}
	}
	return slices.ContainsFunc(columns, func(c *TaskColumn) bool { return c.span })
}

// ParseOrder reads a column to sort by with its usual direction; "-mig" is the
// other one.
func ParseOrder(text string) (c *TaskColumn, desc bool, err error) {
	name, reversed := strings.CutPrefix(text, "-")
	if c, err = find(name); err != nil {
		return nil, false, err
	}
	return c, c.Desc != reversed, nil
}

// Cell is a column's text for a row.
func Cell(id string, row Row) string {
	c, ok := Lookup(id)
	if !ok {
		return "?" + id // a mistake of ours: the frames of the tests show it
	}
	return string(c.Append(nil, row))
}
