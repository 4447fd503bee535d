package watch

import (
	"fmt"
	"time"

	"piton/internal/change/attr"
	"piton/internal/chart"
	"piton/internal/kernel"
)

// Target is what was set, as a line has it: "nginx 812", "nginx 812/815", "cgroup /web.slice".
func (s *Setting) Target() string {
	switch {
	case s.Whole != "":
		return s.Whole
	case s.Of.IsFile():
		return s.Of.Name
	case s.Of.PID == 0:
		return fmt.Sprintf("tid %d", s.Of.TID)
	case s.Of.PID != s.Of.TID:
		return fmt.Sprintf("%s %d/%d", s.Of.Comm, s.Of.PID, s.Of.TID)
	}
	return fmt.Sprintf("%s %d", s.Of.Comm, s.Of.PID)
}

// Words are the values: "0-7 → 0-3", "0-7 → 99: EINVAL".
func (s *Setting) Words() string {
	text := s.To
	if s.From != "" {
		text = s.From + " → " + s.To
	}
	if s.Errno != 0 {
		text += ": " + kernel.ErrnoName(s.Errno)
	}
	return text
}

// Setter is a program that sets an attribute of something.
type Setter struct {
	Comm, Unit string
	Own        bool
	Target     string // name of the processes, or control group
	Itself     bool
	attr.Attribute
}

// Setter is what the setting counts for.
func (s *Setting) Setter() Setter {
	target := s.Of.Comm
	if s.Of.PID == 0 {
		target = s.Target()
	}
	return Setter{s.By.Comm, s.By.Unit, s.By.Own, target, s.Itself(), s.Attribute}
}

// SetCount is how often a Setter did.
type SetCount struct{ Changes, Refused int }

// Add counts a setting.
func (c *SetCount) Add(s *Setting) {
	c.Changes++
	if s.Errno != 0 {
		c.Refused++
	}
}

// Overwrites says that a process sets its own affinity at least once a second, so that nobody
// else can; "" if it does not.
func (c SetCount) Overwrites(by Setter, over time.Duration) string {
	rate := float64(c.Changes-c.Refused) / over.Seconds()
	if !by.Itself || by.Attribute != attr.Affinity || rate < 1 {
		return ""
	}
	return fmt.Sprintf("%s sets its own affinity, %s times a second: a pin will not hold", by.Target, chart.Digits(rate))
}
