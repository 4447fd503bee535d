package cli

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"piton/internal/change"
	"piton/internal/change/attr"
)

// The exit codes, part of the interface.
const (
	ExitDone         = 0
	ExitFailed       = 1
	ExitUsage        = 2
	ExitSome         = 3
	ExitNotPermitted = 4
	ExitDrift        = 5
	ExitInterrupted  = 130
)

// exitHelp stands at the end of the root command's help.
const exitHelp = `Exit codes:
  0  done
  1  failed, or refused: nothing was changed
  2  wrong usage
  3  some of it failed, or what was changed is not in the journal
  4  not permitted, or not supported here
  5  drift: a setting is not what it should be
  130  interrupted
  piton run exits as its command does, 127 if there is none, 126 if it cannot be run`

// errUsage is what errors about the command line itself are (errors.Is).
var errUsage = errors.New("usage")

// usageError is a mistake in the command line.
type usageError struct{ err error }

func (e usageError) Error() string        { return e.err.Error() }
func (e usageError) Unwrap() error        { return e.err }
func (e usageError) Is(target error) bool { return target == errUsage }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// codeError ends piton with a given exit code. Its error may be nil when
// everything that can be said has been said.
type codeError struct {
	code int
	err  error
}

func (e codeError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}
func (e codeError) Unwrap() error { return e.err }

// exitCode maps what a command returned to piton's exit code.
func exitCode(err error) int {
	var code codeError
	var usage attr.UsageError
	switch {
	case err == nil, errors.Is(err, syscall.EPIPE): // the reader had enough (| head)
		return ExitDone
	case errors.As(err, &code):
		return code.code
	case errors.Is(err, errUsage), errors.As(err, &usage):
		return ExitUsage
	case errors.Is(err, context.Canceled):
		return ExitInterrupted
	case errors.Is(err, attr.ErrNotPermitted), errors.Is(err, attr.ErrNotSupported), errors.Is(err, change.ErrNotLive),
		errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EACCES):
		return ExitNotPermitted
	}
	return ExitFailed
}
