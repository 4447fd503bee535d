// Package target reads the words by which people name tasks (a number, a name,
// a glob, /regex/, cmd:/regex/, user:NAME, cgroup:PATH, thread:/regex/) and finds the tasks
// meant. It is pure: the tasks come from a sample.
//
// Start at Parse and Resolve.
package target

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"piton/internal/kernel"
	"piton/internal/pattern"
	"piton/internal/sample"
	"piton/internal/users"
)

// Grammar is the help text for a TARGET.
const Grammar = "a PID or TID, a name, a glob ('nginx*'), /regex/ on the name, cmd:/regex/ on the command line, user:NAME, cgroup:PATH, or thread:/regex/ on the names of single threads"

// SyntaxError is a word that names no task in any form.
type SyntaxError struct {
	Text string // the word
	Why  string
}

func (e SyntaxError) Error() string { return fmt.Sprintf("target %q: %s", e.Text, e.Why) }

// Expr is one TARGET. The zero value matches nothing.
type Expr struct {
	text string
	tid  kernel.TID // the number, 0 for every other form
	// match tells whether a process is meant; threads are asked for with
	// theirs, which looks at the thread's own name alone.
	match  func(*sample.Task) bool
	thread func(comm string) bool // nil when the form says nothing of threads
	needs  bool                   // it needs the full Identity
	owner  bool                   // it is by owner, so kernel threads do not count
	user   string                 // whose tasks it means
	group  string                 // the control group that it means
	single bool                   // it means threads one by one, first threads too
	// pattern tells that tasks are meant by what they have in common, not by name.
	pattern bool
}

// PID returns the number of a target that is one, which needs no list of tasks
// to be resolved.
func (e Expr) PID() (kernel.TID, bool) { return e.tid, e.tid > 0 }

// NeedsIdentity reports whether matching looks at the full Identity of tasks
// (command line, executable, cgroup), so that they must be sampled with it.
func (e Expr) NeedsIdentity() bool { return e.needs }

// MeansThreads reports whether the expression means single threads, whichever
// processes they are of: tasks must be sampled with threads, and what is done to
// one is not meant for its process.
func (e Expr) MeansThreads() bool { return e.single }

// Parse reads one TARGET. Errors are SyntaxErrors.
func Parse(text string) (Expr, error) {
	switch {
	case strings.TrimSpace(text) == "":
		return Expr{}, SyntaxError{text, "it is empty; give " + Grammar}
	case len(text) > pattern.MaxLength:
		return Expr{}, SyntaxError{text, fmt.Sprintf("it is longer than %d bytes", pattern.MaxLength)}
	}
	if expr, ok := Slashed(text); ok {
		return parseRegexp(text, expr)
	}
	if kind, rest, ok := strings.Cut(text, ":"); ok {
		switch kind {
		case "cmd":
			return parseCommand(text, rest)
		case "thread":
			return parseThread(text, rest)
		case "user":
			return parseUser(text, rest)
		case "cgroup":
			return parseCgroup(text, rest)
		}
	}
	switch {
	case isNumber(strings.TrimPrefix(text, "-")):
		return parseNumber(text)
	case strings.ContainsAny(text, "*?["):
		return parseGlob(text)
	case strings.HasPrefix(text, "/") && strings.Count(text, "/") == 1:
		return Expr{}, SyntaxError{text, "a regular expression ends with a / too"}
	}
	return parseName(text), nil
}

// Slashed takes the slashes off /regex/. A path such as /usr/bin/x is no
// regular expression, but "/usr/" is one.
func Slashed(text string) (string, bool) {
	if len(text) < 2 || text[0] != '/' || text[len(text)-1] != '/' {
		return "", false
	}
	return text[1 : len(text)-1], true
}

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

func parseNumber(text string) (Expr, error) {
	tid, ok := kernel.ParseTID(text)
	if !ok {
		return Expr{}, SyntaxError{text, "that is not the number of a process or thread"}
	}
	return Expr{text: text, tid: tid, match: func(t *sample.Task) bool { return t.TID == tid }}, nil
}

func parseName(text string) Expr {
	return named(text, func(name string) bool { return name == text })
}

func parseGlob(text string) (Expr, error) {
	if !pattern.IsGlob(text) {
		return Expr{}, SyntaxError{text, "a [ in the glob is not closed"}
	}
	e := named(text, func(name string) bool { return pattern.Glob(text, name) })
	e.pattern = true
	return e, nil
}

// named matches the comm, as pgrep -x does, or the basename of the executable
// or of the command's first word: the kernel cuts comm after 15 bytes, and
// interpreters and many servers change it. A text with slashes may be the
// executable's whole path too.
func named(text string, matches func(string) bool) Expr {
	return Expr{text: text, needs: true, thread: matches, match: func(t *sample.Task) bool {
		if matches(t.ID.Comm) {
			return true
		}
		return t.ID.Exe != "" && (matches(path.Base(t.ID.Exe)) || strings.Contains(text, "/") && matches(t.ID.Exe)) ||
			t.ID.Cmdline != "" && matches(firstWord(t.ID.Cmdline))
	}}
}

// firstWord is the program's name in a command line: without the directories,
// without a login shell's dash, and without the colon of titles such as
// "nginx: worker process".
func firstWord(cmdline string) string {
	word, _, _ := strings.Cut(cmdline, " ")
	return strings.TrimSuffix(path.Base(strings.TrimPrefix(word, "-")), ":")
}

func parseRegexp(text, expr string) (Expr, error) {
	re, err := compile(text, expr)
	if err != nil {
		return Expr{}, err
	}
	return Expr{text: text, pattern: true, thread: re.MatchString, match: func(t *sample.Task) bool {
		return re.MatchString(t.ID.Comm)
	}}, nil
}

func compile(text, expr string) (*regexp.Regexp, error) {
	if expr == "" {
		return nil, SyntaxError{text, "the regular expression is empty and would match everything"}
	}
	re, err := pattern.Compile(expr)
	if err != nil {
		return nil, SyntaxError{text, err.Error()}
	}
	return re, nil
}

func parseCommand(text, rest string) (Expr, error) {
	expr, ok := Slashed(rest)
	if !ok {
		return Expr{}, SyntaxError{text, "after cmd: comes a regular expression between slashes, cmd:/regex/"}
	}
	re, err := compile(text, expr)
	if err != nil {
		return Expr{}, err
	}
	return Expr{text: text, pattern: true, needs: true, match: func(t *sample.Task) bool {
		return t.ID.Cmdline != "" && re.MatchString(t.ID.Cmdline)
	}}, nil
}

func parseThread(text, rest string) (Expr, error) {
	expr, ok := Slashed(rest)
	if !ok {
		return Expr{}, SyntaxError{text, "after thread: comes a regular expression between slashes, thread:/regex/"}
	}
	re, err := compile(text, expr)
	if err != nil {
		return Expr{}, err
	}
	return Expr{text: text, pattern: true, single: true, thread: re.MatchString, match: func(t *sample.Task) bool {
		return re.MatchString(t.ID.Comm)
	}}, nil
}

func parseUser(text, name string) (Expr, error) {
	if name == "" {
		return Expr{}, SyntaxError{text, "after user: comes a name or a number"}
	}
	uid, number, err := users.Parse(name)
	if err != nil {
		return Expr{}, SyntaxError{text, err.Error()}
	}
	e := Expr{text: text, pattern: true, needs: true, owner: true, user: name}
	if number {
		return e.WithUser(uid), nil
	}
	e.match = func(t *sample.Task) bool { return t.ID.User == name && !t.ID.TwoUsers }
	return e, nil
}

// User returns the user that a target is by, "" for none; tasks must then be sampled with
// both users, as a program that lends its user is nobody's.
func (e Expr) User() string { return e.user }

// Group is the control group that a target is by, "" for none.
func (e Expr) Group() string { return e.group }

// ByName reports whether the user has to be looked up.
func (e Expr) ByName() bool { return e.user != "" && !isNumber(e.user) }

// WithUser is the target with its user's number.
func (e Expr) WithUser(uid uint32) Expr {
	e.match = func(t *sample.Task) bool { return t.ID.UID == uid && !t.ID.TwoUsers }
	return e
}

func parseCgroup(text, group string) (Expr, error) {
	if group == "" {
		return Expr{}, SyntaxError{text, "after cgroup: comes a path such as /system.slice/nginx.service"}
	}
	if slices.Contains(strings.Split(group, "/"), "..") {
		return Expr{}, SyntaxError{text, "a cgroup's path has no .. in it"}
	}
	group = path.Clean("/" + group)
	return Expr{text: text, group: group, pattern: true, needs: true, owner: true, match: func(t *sample.Task) bool {
		return t.ID.Cgroup == group || strings.HasPrefix(t.ID.Cgroup, strings.TrimSuffix(group, "/")+"/")
	}}, nil
}
