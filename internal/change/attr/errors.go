package attr

import (
	"errors"
	"fmt"
	"strconv"
	"syscall"

	"piton/internal/kernel"
	"piton/internal/procfs"
)

// UsageError is a request that could never be carried out, whatever the
// system's state: a value out of range, a word that is none.
type UsageError string

func (e UsageError) Error() string { return string(e) }

// Usagef makes a UsageError.
func Usagef(format string, args ...any) error { return UsageError(fmt.Sprintf(format, args...)) }

// ErrGone is what the error of a change is (errors.Is) when its task had ended.
var ErrGone = procfs.ErrGone

// ErrNotPermitted is what the error of a change is (errors.Is) when more rights,
// CAP_SYS_NICE as a rule, would have made it work.
var ErrNotPermitted = errors.New("not permitted")

// ErrNotSupported is what the error of a change is (errors.Is) that cannot be made
// on this machine, whatever the rights: a managed interrupt, a sysctl that this
// kernel lacks.
var ErrNotSupported = errors.New("not supported here")

// markedError is an error of the kernel that also Is what it means to piton.
type markedError struct{ error, mark error }

func (e markedError) Error() string   { return e.error.Error() }
func (e markedError) Unwrap() []error { return []error{e.error, e.mark} }

// Mark makes the error of a change Is what it means: ErrGone, ErrNotSupported or
// ErrNotPermitted.
func (m *Machine) Mark(c Change, err error) error {
	s := c.Attribute.spec()
	switch {
	case err == nil || errors.Is(err, ErrGone) || errors.Is(err, ErrNotSupported):
		return err
	case errors.Is(err, syscall.ESRCH), c.IsFile() && errors.Is(err, syscall.ENOENT):
		return markedError{err, ErrGone}
	case s.absent != nil && s.absent(m, c, err) != "", c.IsFile() && errors.Is(err, syscall.EROFS):
		return markedError{err, ErrNotSupported}
	case errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EACCES):
		if c.IsFile() || !m.Has(kernel.CapSysNice) {
			return markedError{err, ErrNotPermitted}
		}
	}
	return err
}

// Printable is a task's name for a sentence: names that would upset a terminal
// or the reader are quoted.
func Printable(comm string) string {
	quoted := strconv.Quote(comm)
	if comm != "" && quoted == `"`+comm+`"` {
		return comm
	}
	return quoted
}

// isAre is the verb for a number of things.
func isAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// NotPermitted makes err Is ErrNotPermitted.
func NotPermitted(err error) error { return markedError{err, ErrNotPermitted} }
