package profile

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"piton/internal/irq"
	"piton/internal/pattern"
	"piton/internal/sample"
	"piton/internal/target"
	"piton/internal/taskfile"
)

// matcher finds the processes, and their threads, that an item means. A Profile that was
// parsed has no item of which one cannot be made.
type matcher struct {
	*Task
	name, thread target.Expr
	command      *regexp.Regexp // nil: any
}

func newMatcher(t *Task) (m matcher, err error) {
	m.Task = t
	if t.Name != "" {
		m.name, err = target.Parse(t.Name)
	}
	if t.Thread != "" && err == nil {
		m.thread, err = target.Parse(t.Thread)
	}
	if t.Command != "" && err == nil {
		m.command, err = pattern.Compile(t.Command)
	}
	return m, err
}

// process reports whether a process's row is meant. One that has ended is not.
func (m *matcher) process(t *sample.Task) bool {
	switch {
	case t.ID == nil || !t.IsProcess() || t.Ended() || m.kind != AllTasks && t.IsKernel() != (m.kind == KernelThreads):
		return false
	case m.Name != "" && !m.name.MeansProcess(t):
		return false
	case m.command != nil && !m.command.MatchString(taskfile.Command(t)):
		return false
	}
	return m.Cgroup == "" || pattern.Glob(m.Cgroup, t.ID.Cgroup)
}

// matches reports whether the item means the line.
func (q *IRQ) matches(l *irq.IRQ) bool {
	if q.Action != "" && !slices.ContainsFunc(l.Actions, func(a string) bool { return pattern.Glob(q.Action, a) }) {
		return false
	}
	return q.Device == "" || pattern.Glob(q.Device, l.Device.Address) ||
		slices.ContainsFunc(l.Device.Names, func(n string) bool { return pattern.Glob(q.Device, n) })
}

// escape writes a text as the glob, or name, that means it alone. A byte that is
// no UTF-8, which no profile can hold, becomes any character.
func escape(text string) string {
	if !strings.ContainsAny(text, `*?[\`) && utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for i, r := range text {
		switch {
		case isInvalid(text[i:], r):
			b.WriteByte('?')
			continue
		case strings.ContainsRune(`*?[\`, r):
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// exactly is the regular expression that means a text alone, as escape does.
func exactly(text string) string { return "^" + literally(text) + "$" }

// literally is the part of a regular expression that stands for a text.
func literally(text string) string {
	var b strings.Builder
	for i, r := range text {
		if isInvalid(text[i:], r) {
			b.WriteByte('.')
			continue
		}
		b.WriteString(regexp.QuoteMeta(string(r)))
	}
	return b.String()
}

// isInvalid reports whether r stands for a byte that is no UTF-8.
func isInvalid(rest string, r rune) bool {
	if r != utf8.RuneError {
		return false
	}
	_, size := utf8.DecodeRuneInString(rest)
	return size == 1
}

// nameOf writes a task's name as the TARGET that means it: numbers, and what
// looks like one of the other forms, as a regular expression.
func nameOf(comm string) string {
	plain := escape(comm)
	e, err := target.Parse(plain)
	number := false
	if err == nil {
		_, number = e.PID()
	}
	if err != nil || number || strings.HasPrefix(comm, "/") || taskfile.HasForm(comm) || strings.Contains(comm, `\`) {
		return "/" + exactly(comm) + "/"
	}
	return plain
}
