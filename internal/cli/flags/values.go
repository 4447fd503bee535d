// Package flags has what commands take on the command line: values of flags (values.go), how
// far a target reaches (scope.go), and words (args.go).
package flags

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"piton/internal/change"
	"piton/internal/kernel"
)

// Choice is a flag that takes one of a few words.
type Choice struct {
	Value string
	Among []string
}

// Words are the values, for completion.
func (c *Choice) Words() []string { return c.Among }

func (c *Choice) String() string { return c.Value }
func (c *Choice) Type() string   { return strings.Join(c.Among, "|") }
func (c *Choice) Set(s string) error {
	if !slices.Contains(c.Among, s) {
		return fmt.Errorf("it must be one of %s", strings.Join(c.Among, ", "))
	}
	c.Value = s
	return nil
}

// Interval is a time between two samples, or how long something goes on: "500ms", "1s", or bare
// seconds as top and htop take them, "0.5"; 0, which no flag takes, is not given.
type Interval struct {
	Duration time.Duration
	Min, Max time.Duration
	Given    bool
}

func (i *Interval) Type() string { return "duration" }
func (i *Interval) String() string {
	if i.Duration == 0 {
		return ""
	}
	return i.Duration.String()
}
func (i *Interval) Set(s string) error {
	d, err := time.ParseDuration(s)
	if err != nil {
		secs, ferr := strconv.ParseFloat(s, 64)
		if ferr != nil || secs != secs || strings.ContainsAny(s, "xXpP_nN") {
			return fmt.Errorf("it must be a time such as 1s or 500ms")
		}
		d = time.Duration(max(-1e6, min(secs, 1e6)) * float64(time.Second))
	}
	if d < i.Min || d > i.Max {
		return fmt.Errorf("it must be %v to %v", i.Min, i.Max)
	}
	i.Duration, i.Given = d, true
	return nil
}

// Count is a whole number within limits.
type Count struct {
	N, Min, Max int
}

func (c *Count) String() string { return strconv.Itoa(c.N) }
func (c *Count) Type() string   { return "number" }
func (c *Count) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < c.Min || n > c.Max {
		return fmt.Errorf("it must be a whole number from %d to %d", c.Min, c.Max)
	}
	c.N = n
	return nil
}

// Percent is a part of a whole, "1%" or "0.01"; 0 is not given.
type Percent struct{ Share float64 }

func (s *Percent) String() string {
	if s.Share == 0 {
		return ""
	}
	return strconv.FormatFloat(s.Share*100, 'g', -1, 64) + "%"
}
func (s *Percent) Type() string { return "percent" }
func (s *Percent) Set(text string) error {
	number, isPercent := strings.CutSuffix(text, "%")
	v, err := strconv.ParseFloat(number, 64)
	if isPercent {
		v /= 100
	}
	if err != nil || !(v > 0 && v < 1) {
		return fmt.Errorf("it must be above 0%% and below 100%%, such as 1%%")
	}
	s.Share = v
	return nil
}

// PIDs is a flag of process or thread numbers, "3641,3642"; given again it
// adds to the list.
type PIDs []kernel.TID

func (l *PIDs) Type() string { return "PID,..." }

func (l *PIDs) String() string {
	words := make([]string, len(*l))
	for i, pid := range *l {
		words[i] = strconv.Itoa(int(pid))
	}
	return strings.Join(words, ",")
}

func (l *PIDs) Set(s string) error {
	for word := range strings.SplitSeq(s, ",") {
		pid, ok := kernel.ParseTID(strings.TrimSpace(word))
		if !ok {
			return fmt.Errorf("%q is not a process or thread number", word)
		}
		*l = append(*l, pid)
	}
	return nil
}

// Targets are the tasks with these numbers.
func (l *PIDs) Targets(scope change.Scope) []change.Target {
	out := make([]change.Target, len(*l))
	for i, pid := range *l {
		out[i] = change.Target{TID: pid, Scope: scope}
	}
	return out
}
