package taskfile

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"piton/internal/change/attr"
	"piton/internal/pattern"
	"piton/internal/target"
	"piton/internal/topology"
)

// Checker looks for what the decoder cannot see: values that are none. It keeps the
// first mistake.
type Checker struct {
	Positions
	Err error // an *Error

	budget pattern.Budget // of all expressions of the file
}

// Fail keeps a mistake at a key of a table, "task.2", or at the table where it has no
// such key.
func (c *Checker) Fail(table, key, format string, args ...any) {
	if c.Err == nil {
		at := c.At(table, key)
		c.Err = &Error{at.Line, at.Column, fmt.Sprintf(format, args...)}
	}
}

// CPUs checks the form of a CPUS expression; which CPUs there are shows later.
func (c *Checker) CPUs(table, key, expr string) {
	if expr == "" {
		return
	}
	if err := topology.CheckCPUs(expr); err != nil {
		c.Fail(table, key, "%v", err)
	}
}

// Name checks what names a process or thread: never a number, which means
// another task after the next start.
func (c *Checker) Name(table, key, text string) {
	if expr, ok := target.Slashed(text); ok && text != "" {
		if err := c.budget.Take(expr); err != nil {
			c.Fail(table, key, "%v", err)
			return
		}
	}
	e, err := target.Parse(text)
	_, number := e.PID()
	switch {
	case text == "":
	case err != nil:
		c.Fail(table, key, "%v", err)
	case number:
		c.Fail(table, key, "%s is a number, which means another task after the next start; give a name", text)
	case HasForm(text):
		c.Fail(table, key, "%s is no name: the other ways have keys of their own", strconv.Quote(text))
	}
}

// HasForm reports whether a text begins as a TARGET does that is no name.
func HasForm(text string) bool {
	return slices.ContainsFunc(forms, func(form string) bool { return strings.HasPrefix(text, form) })
}

// forms begin TARGETs that are no names.
var forms = []string{"cmd:", "thread:", "user:", "cgroup:"}

// Glob checks a pattern for Glob.
func (c *Checker) Glob(table, key, text string) {
	if len(text) > pattern.MaxLength {
		c.Fail(table, key, "it is longer than %d bytes", pattern.MaxLength)
	}
	if !pattern.IsGlob(text) {
		c.Fail(table, key, "%s is no glob: a [ or a \\ is not closed", strconv.Quote(text))
	}
}

// Regexp compiles a regular expression, once it is known what all those of the file take.
func (c *Checker) Regexp(table, key, expr string) *regexp.Regexp {
	re, err := c.budget.Compile(expr)
	if err != nil {
		c.Fail(table, key, "%v", err)
	}
	return re
}

// Values checks the settings of a table that are given.
func (c *Checker) Values(table string, set []Setting) {
	for _, s := range set {
		if !s.Given() {
			continue
		}
		switch v, err := s.Parse(string(*s.Text)); {
		case err != nil:
			c.Fail(table, string(s.Attribute), "%v", err)
		case attr.PolicyOf(v).Keep:
			c.Fail(table, string(s.Attribute), "policy %q: a priority alone depends on what the task has; say fifo:%[1]s or rr:%[1]s", *s.Text)
		}
	}
}
