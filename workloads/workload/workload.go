// Package workload is what a workload is: its name, its parameters, how it is run
// and how its result is drawn. The command line's flags, the screen's form, the
// child process and the reports are all made from it.
//
// The workloads are packages beside this one; package workloads is their table.
package workload

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"piton/internal/chart"
	"piton/internal/child"
	"piton/internal/group"
)

// Workload is a piece of work with a known answer.
type Workload struct {
	Name   string
	Help   string // one line
	Params []Param
	Length string // the Param of which more makes a run longer
	// Growth is the work at a length, against any other; nil = proportional to the length.
	Growth func(length int) float64
	// Placements are compared by default, the first is the base. Those that take a right of
	// root are left out where it is not there.
	Placements []string
	Metric     Metric // what its runs are compared by; zero = the seconds of the work
	// Check, if not nil, says in one sentence what is wrong with values that are each
	// within their Param's limits, which the workload itself does not look at again.
	Check func(Values) error
	// Run does the work in this process. It fails when the answer is wrong; the
	// Outcome is filled in then too.
	Run func(context.Context, Values) (Outcome, error)
	// Process, if not nil, is the whole life of a further process of the workload,
	// which its Run starts with OwnCommand.
	Process func(*child.Child) error
	// Result, if not nil, reads a run's Detail to be drawn; see ReadAs.
	Result func(detail json.RawMessage) (Result, error)
}

// Result is what came of a run, as it is drawn.
type Result interface {
	// Picture is lines at most width cells wide without escape sequences.
	Picture(width int) []string
	// Figures are for reports: SVG and HTML.
	Figures() []chart.Figure
}

// ReadAs is a Workload's Result of a type of its own.
func ReadAs[R Result](detail json.RawMessage) (Result, error) {
	var r R
	if err := json.Unmarshal(detail, &r); err != nil {
		return nil, fmt.Errorf("read the result to draw: %w", err)
	}
	return r, nil
}

// Param is one setting of a workload, a flag of the command line and a field of
// the form. It is a number unless it has Choices.
type Param struct {
	Name     string // without dashes: "n", "threads"
	Help     string
	Default  string
	Min, Max int      // of a number
	Choices  []string // of a word
}

// Values are the settings by Param.Name. A missing one has its default.
type Values map[string]string

// Outcome is what the work gave.
type Outcome struct {
	Answer  string  // in one word, the same for every right run
	Seconds float64 // the work alone
	Value   float64 // what the workload's Metric measures; not looked at where that is zero
	Detail  any     // the workload's own Result, JSON-taggable
}

// Find finds a workload by name.
func Find(among []Workload, name string) (Workload, error) {
	var names []string
	for _, w := range among {
		if w.Name == name {
			return w, nil
		}
		names = append(names, w.Name)
	}
	return Workload{}, fmt.Errorf("unknown workload %q; workloads are %s", name, strings.Join(names, ", "))
}

// Flag is the parameter's flag as typed: "-n", "--threads".
func (p Param) Flag() string {
	if len(p.Name) == 1 {
		return "-" + p.Name
	}
	return "--" + p.Name
}

// Validate says in one sentence what is wrong with a value.
func (p Param) Validate(value string) error {
	if p.Choices != nil {
		if !slices.Contains(p.Choices, value) {
			return fmt.Errorf("%s must be one of %s, not %q", p.Flag(), strings.Join(p.Choices, ", "), value)
		}
		return nil
	}
	if n, err := strconv.Atoi(value); err != nil || n < p.Min || n > p.Max || strconv.Itoa(n) != value {
		return fmt.Errorf("%s must be a number from %d to %d, not %q", p.Flag(), p.Min, p.Max, value)
	}
	return nil
}

// Parse reads the workload's own flags, "-n 13" or "-n=13"; the values are
// checked one by one and those not given have their defaults.
func (w Workload) Parse(args []string) (Values, error) {
	values := Values{}
	for len(args) > 0 {
		flag, value, hasValue := strings.Cut(args[0], "=")
		args = args[1:]
		i := slices.IndexFunc(w.Params, func(p Param) bool { return flag == p.Flag() })
		if i < 0 {
			return nil, fmt.Errorf("workload %s has no option %q", w.Name, flag)
		}
		if !hasValue {
			if len(args) == 0 {
				return nil, fmt.Errorf("%s needs a value", flag)
			}
			value, args = args[0], args[1:]
		}
		if err := w.Params[i].Validate(value); err != nil {
			return nil, err
		}
		values[w.Params[i].Name] = value
	}
	return w.complete(values), nil
}

// Validate says in one sentence what is wrong with the values together.
func (w Workload) Validate(values Values) error {
	if w.Check == nil {
		return nil
	}
	return w.Check(values)
}

func (w Workload) complete(values Values) Values {
	for _, p := range w.Params {
		if _, given := values[p.Name]; !given {
			values[p.Name] = p.Default
		}
	}
	return values
}

// Args is the inverse of Parse: every parameter in the table's order, so that
// the same settings always give the same words.
func (w Workload) Args(values Values) []string {
	var args []string
	for _, p := range w.Params {
		value, given := values[p.Name]
		if !given {
			value = p.Default
		}
		args = append(args, p.Flag(), value)
	}
	return args
}

// Work is how much work a run of a length is, against another's; 0 when not known.
func (w Workload) Work(length int) float64 {
	if w.Growth != nil {
		return w.Growth(length)
	}
	return float64(max(length, 0))
}

// Words are the choices of a parameter.
func Words[W ~string](list []W) []string {
	return group.Each(list, func(w W) string { return string(w) })
}

// Int is a numeric value that Parse has checked.
func (v Values) Int(name string) int {
	n, _ := strconv.Atoi(v[name])
	return n
}
