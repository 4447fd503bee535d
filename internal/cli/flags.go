package cli

import (
	"fmt"
	"piton/internal/change"
	"piton/internal/kernel"
	"slices"
	"strconv"
	"strings"
	"time"
)

// choice is a flag that takes one of a few words.
type choice struct {
	value string
	among []string
}

func (c *choice) String() string { return c.value }
func (c *choice) Type() string   { return strings.Join(c.among, "|") }
func (c *choice) Set(s string) error {
	if !slices.Contains(c.among, s) {
		return fmt.Errorf("it must be one of %s", strings.Join(c.among, ", "))
	}
	c.value = s
	return nil
}

// interval is a time between two samples: "500ms", "1s", or bare seconds as top
// and htop take them, "0.5".
type interval struct {
	d        time.Duration
	min, max time.Duration
	given    bool
}

func (i *interval) String() string { return i.d.String() }
func (i *interval) Type() string   { return "duration" }
func (i *interval) Set(s string) error {
	d, err := time.ParseDuration(s)
	if err != nil {
		secs, ferr := strconv.ParseFloat(s, 64)
		if ferr != nil || secs != secs || strings.ContainsAny(s, "xXpP_nN") {
			return fmt.Errorf("it must be a time such as 1s or 500ms")
		}
		d = time.Duration(max(-1e6, min(secs, 1e6)) * float64(time.Second))
	}
	if d < i.min || d > i.max {
		return fmt.Errorf("it must be %v to %v", i.min, i.max)
	}
	i.d, i.given = d, true
	return nil
}

// length is how long something goes on; 0, which no flag takes, is not given.
type length struct{ interval }

func (l *length) String() string {
	if l.d == 0 {
		return ""
	}
	return l.interval.String()
}

// count is a whole number within limits.
type count struct {
	n, min, max int
}

func (c *count) String() string { return strconv.Itoa(c.n) }
func (c *count) Type() string   { return "number" }
func (c *count) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < c.min || n > c.max {
		return fmt.Errorf("it must be a whole number from %d to %d", c.min, c.max)
	}
	c.n = n
	return nil
}

// part is a part of a whole, "1%" or "0.01"; 0 is not given.
type part struct{ v float64 }

func (s *part) String() string {
	if s.v == 0 {
		return ""
	}
	return strconv.FormatFloat(s.v*100, 'g', -1, 64) + "%"
}
func (s *part) Type() string { return "percent" }
func (s *part) Set(text string) error {
	number, isPercent := strings.CutSuffix(text, "%")
	v, err := strconv.ParseFloat(number, 64)
	if isPercent {
		v /= 100
	}
	if err != nil || !(v > 0 && v < 1) {
		return fmt.Errorf("it must be above 0%% and below 100%%, such as 1%%")
	}
	s.v = v
	return nil
}

// pidList is a flag of process or thread numbers, "3641,3642"; given again it
// adds to the list.
type pidList []kernel.TID

func (l *pidList) Type() string { return "PID,..." }

func (l *pidList) String() string {
	words := make([]string, len(*l))
	for i, pid := range *l {
		words[i] = strconv.Itoa(int(pid))
	}
	return strings.Join(words, ",")
}

func (l *pidList) Set(s string) error {
	for word := range strings.SplitSeq(s, ",") {
		pid, err := parsePID(strings.TrimSpace(word))
		if err != nil {
			return err
		}
		*l = append(*l, pid)
	}
	return nil
}

func (l *pidList) targets(scope change.Scope) []change.Target {
	out := make([]change.Target, len(*l))
	for i, pid := range *l {
		out[i] = change.Target{TID: pid, Scope: scope}
	}
	return out
}

func parsePID(word string) (kernel.TID, error) {
	n, err := strconv.ParseInt(word, 10, 32)
	if err != nil || n < 1 || strings.HasPrefix(word, "+") {
		return 0, fmt.Errorf("%q is not a process or thread number", word)
	}
	return kernel.TID(n), nil
}
