// Package exit has piton's exit codes, the errors that end in one, and the sentence that is
// printed for an error.
package exit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/feature"
	"piton/internal/field"
)

// The exit codes, part of the interface. What is named and is not there, be it a task, a CPU, an
// interrupt, a file or an entry of the journal, is Failed; a word that piton never takes is Usage.
const (
	Done         = 0
	Failed       = 1
	Usage        = 2
	Some         = 3
	NotPermitted = 4
	Drift        = 5
	Interrupted  = 130
)

// Meaning is a row of the table of exit codes.
type Meaning struct {
	Code    int
	Meaning string
}

// Codes are the codes with their meanings, for the help.
var Codes = []Meaning{
	{Done, "done"},
	{Failed, "failed, refused, or not found: nothing was changed"},
	{Usage, "wrong usage"},
	{Some, "some of it failed, or what was changed is not in the journal"},
	{NotPermitted, "not permitted, or not supported here"},
	{Drift, "drift: a setting is not what it should be"},
	{Interrupted, "interrupted"},
}

// Help is the table of the exit codes at the end of the root command's help.
func Help() string {
	var b strings.Builder
	b.WriteString("Exit codes:\n")
	for _, e := range Codes {
		fmt.Fprintf(&b, "  %-3d  %s\n", e.Code, e.Meaning)
	}
	b.WriteString("  piton run exits as its command does, 127 if there is none, 126 if it cannot be run")
	return b.String()
}

// codeError ends piton with a given exit code.
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

// With is an error that ends piton with an exit code. err may be nil when everything has
// been printed.
func With(code int, err error) error { return codeError{code, err} }

// Usagef is a mistake in the command line.
func Usagef(format string, args ...any) error { return With(Usage, fmt.Errorf(format, args...)) }

// Code maps what a command returned to piton's exit code.
func Code(err error) int {
	var code codeError
	var usage attr.UsageError
	switch {
	case err == nil, errors.Is(err, syscall.EPIPE): // the reader has ended (| head)
		return Done
	case errors.As(err, &code):
		return code.code
	case errors.As(err, &usage):
		return Usage
	case errors.Is(err, context.Canceled):
		return Interrupted
	case errors.Is(err, attr.ErrNotPermitted), errors.Is(err, attr.ErrNotSupported), errors.Is(err, change.ErrNotLive), errors.Is(err, feature.ErrNotSupported),
		errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EACCES):
		return NotPermitted
	}
	return Failed
}

// Message is the sentence for an error, safe to print, or "" when there is
// nothing to say.
func Message(err error) string {
	if err == nil || errors.Is(err, syscall.EPIPE) || errors.Is(err, context.Canceled) {
		return ""
	}
	// errors.Join writes a line for each.
	return Sentence(strings.ReplaceAll(err.Error(), "\n", "; "))
}

// maxSentence is the most bytes of a message: what it quotes may be a megabyte.
const maxSentence = 1000

// Sentence makes a text safe to print, and leaves out the middle of one that is
// too long to read.
func Sentence(text string) string {
	const end = maxSentence / 3
	if len(text) > maxSentence {
		text = text[:maxSentence-end] + " … " + text[len(text)-end:]
	}
	return field.Clean(strings.ToValidUTF8(text, "\uFFFD"))
}
