package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/field"
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

// codeMeaning is a row of the table of exit codes.
type codeMeaning struct {
	code    int
	meaning string
}

// exitCodes are the codes with their meanings, for the help.
var exitCodes = []codeMeaning{
	{ExitDone, "done"},
	{ExitFailed, "failed, or refused: nothing was changed"},
	{ExitUsage, "wrong usage"},
	{ExitSome, "some of it failed, or what was changed is not in the journal"},
	{ExitNotPermitted, "not permitted, or not supported here"},
	{ExitDrift, "drift: a setting is not what it should be"},
	{ExitInterrupted, "interrupted"},
}

// exitHelp is the table of the exit codes at the end of the root command's help.
func exitHelp() string {
	var b strings.Builder
	b.WriteString("Exit codes:\n")
	for _, e := range exitCodes {
		fmt.Fprintf(&b, "  %-3d  %s\n", e.code, e.meaning)
	}
	b.WriteString("  piton run exits as its command does, 127 if there is none, 126 if it cannot be run")
	return b.String()
}

// errUsage is what errors about the command line itself are (errors.Is).
var errUsage = errors.New("usage")

// usageError is a mistake in the command line.
type usageError struct{ err error }

func (e usageError) Error() string        { return e.err.Error() }
func (e usageError) Unwrap() error        { return e.err }
func (e usageError) Is(target error) bool { return target == errUsage }

// asUsage makes an error one about the command line.
func asUsage(err error) error { return usageError{err} }

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

// withCode is an error that ends piton with an exit code. err may be nil when everything
// that can be said has been said.
func withCode(code int, err error) error { return codeError{code, err} }

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

// message is the sentence for an error, safe to print, or "" when there is
// nothing to say.
func message(err error) string {
	if err == nil || errors.Is(err, syscall.EPIPE) || errors.Is(err, context.Canceled) {
		return ""
	}
	// errors.Join writes a line for each.
	return sentence(strings.ReplaceAll(err.Error(), "\n", "; "))
}

// maxSentence is the most bytes of a message: what it quotes may be a megabyte.
const maxSentence = 1000

// sentence makes a text safe to print, and leaves out the middle of one that is
// too long to read.
func sentence(text string) string {
	const end = maxSentence / 3
	if len(text) > maxSentence {
		text = text[:maxSentence-end] + " … " + text[len(text)-end:]
	}
	return field.Clean(strings.ToValidUTF8(text, "\uFFFD"))
}
