package attr

import (
	"errors"
	"fmt"
	"strconv"

	"piton/internal/procfs"
)

// UsageError is a request that could never be carried out, whatever the
// system's state: a value out of range, a word that is none.
type UsageError string

func (e UsageError) Error() string { return string(e) }

// Usagef makes a UsageError.
func Usagef(format string, args ...any) error { return UsageError(fmt.Sprintf(format, args...)) }

// What the error of a change is (errors.Is).
var (
	ErrGone         = procfs.ErrGone                   // its task has ended
	ErrNotPermitted = errors.New("not permitted")      // more rights would do, CAP_SYS_NICE as a rule
	ErrNotSupported = errors.New("not supported here") // whatever the rights: a managed interrupt, a sysctl that this kernel lacks
	ErrOneWay       = fmt.Errorf("only a reboot undoes it: %w", ErrNotSupported)
)

// markedError is an error of the kernel that also Is what it means to piton.
type markedError struct{ error, mark error }

func (e markedError) Error() string   { return e.error.Error() }
func (e markedError) Unwrap() []error { return []error{e.error, e.mark} }

// NotPermitted makes err Is ErrNotPermitted.
func NotPermitted(err error) error { return markedError{err, ErrNotPermitted} }

// Printable is a task's name for a sentence: names that would upset a terminal
// or the reader are quoted.
func Printable(comm string) string {
	quoted := strconv.Quote(comm)
	if comm != "" && quoted == `"`+comm+`"` {
		return comm
	}
	return quoted
}
