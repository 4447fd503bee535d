package bench

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"piton/internal/kernel"
	"piton/internal/pattern"
)

// CommandWorkload is the workload of a study of the user's own program; its Args
// are the program's command line.
const CommandWorkload = "run"

// Figure is where a command's metric is in what it prints. The zero Figure means
// that the time from start to end is compared.
type Figure struct {
	Pattern        string `json:"pattern"` // a regular expression (regexp/syntax); its first group, or all of it, is a number
	Unit           string `json:"unit"`
	HigherIsBetter bool   `json:"higher_is_better"`
}

// Validate says in one sentence what is wrong with the figure.
func (f Figure) Validate() error {
	re, err := pattern.Compile(f.Pattern)
	switch {
	case f == Figure{}:
		return nil
	case f.Pattern == "":
		return errors.New("a unit or direction needs a metric")
	case err != nil:
		return fmt.Errorf("the metric is not a regular expression: %w", err)
	case re.NumSubexp() > 1:
		return fmt.Errorf("the metric %s has %d groups; use one at most", f.Pattern, re.NumSubexp())
	}
	return nil
}

// Find returns the figure that was printed last.
func (f Figure) Find(output []byte) (float64, error) {
	re, err := pattern.Compile(f.Pattern)
	if err != nil {
		return 0, err
	}
	all := re.FindAllSubmatch(output, -1)
	if len(all) == 0 {
		return 0, fmt.Errorf("no output matches %s", f.Pattern)
	}
	text := strings.TrimSpace(string(all[len(all)-1][re.NumSubexp()]))
	v, ok := ParseNumber(strings.ReplaceAll(text, ",", "")) // "12,345.6" as many print
	if !ok {
		return 0, fmt.Errorf("%q matches %s but is not a number", text, f.Pattern)
	}
	return v, nil
}

// ParseNumber reads a figure. "nan" and "inf" are none: they cannot be ranked,
// and JSON has no word for them.
func ParseNumber(text string) (v float64, ok bool) {
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil && !math.IsNaN(v) && !math.IsInf(v, 0)
}

// AttachWorkload is the workload of a study of a process that was there before:
// its Args are the PID and the name, its Figure the rate.
const AttachWorkload = "attach"

// Attached is the process that a study is of.
func (s Study) Attached() (kernel.TID, error) {
	if len(s.Args) != 2 {
		return 0, errors.New("a study of a process needs its PID and name")
	}
	pid, ok := kernel.ParseTID(s.Args[0])
	if !ok {
		return 0, fmt.Errorf("%q is not a PID", s.Args[0])
	}
	return pid, nil
}
