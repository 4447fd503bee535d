package rules

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"piton/internal/pattern"
	"piton/internal/procfs"
	"piton/internal/sample"
	"piton/internal/target"
	"piton/internal/taskfile"
)

// matcher is the compiled half of a Spec; what is not given is nil.
type matcher struct {
	comm    target.Expr
	command *regexp.Regexp
	user    target.Expr
}

// exempt says why no rule is for a task, "" if one may be.
func exempt(t *sample.Task) string {
	switch {
	case t.ID == nil:
		return "nothing of it could be read"
	case !t.IsProcess():
		return fmt.Sprintf("it is a thread of %d, and rules are for processes with all of their threads", t.TGID)
	case t.IsKernel():
		return "it is a kernel thread, and rules are for user processes; see [[kthread]] of a profile"
	case t.Ended():
		return "it has ended"
	}
	return ""
}

// mismatch returns the key of a matcher that the process does not fit, "" if it fits
// all. Cheap ones come first.
func (r *Rule) mismatch(t *sample.Task) string {
	switch {
	case r.Comm != "" && !r.matcher.comm.MeansThread(t.ID.Comm):
		return keyComm
	case r.User != "" && !r.matcher.user.MeansProcess(t):
		return keyUser
	case r.Unit != "" && !inUnit(r.Unit, t.ID.Cgroup):
		return keyUnit
	case r.UserUnit != "" && !inUserUnit(r.UserUnit, t.ID.Cgroup):
		return keyUserUnit
	case r.Cgroup != "" && !pattern.Glob(r.Cgroup, t.ID.Cgroup):
		return keyCgroup
	case r.matcher.command != nil && !r.matcher.command.MatchString(taskfile.Command(t)):
		return keyCommand
	}
	return ""
}

// mismatchWords is what mismatch returned, as half a sentence.
func (r *Rule) mismatchWords(t *sample.Task, key string) string {
	if t.ID.Cgroup == "" && slices.Contains([]string{keyUnit, keyUserUnit, keyCgroup}, key) {
		return "it is in no control group"
	}
	switch key {
	case keyComm:
		return fmt.Sprintf("its comm is %q, not %q", t.ID.Comm, r.Comm)
	case keyUser:
		if t.ID.TwoUsers {
			return fmt.Sprintf("its effective user is %q and its real one another, as of a set-user-ID program, so it is not %q", t.ID.User, r.User)
		}
		return fmt.Sprintf("its user is %q, not %q", t.ID.User, r.User)
	case keyUnit:
		return fmt.Sprintf("its cgroup %q is in no unit %q", t.ID.Cgroup, r.Unit)
	case keyUserUnit:
		return fmt.Sprintf("its cgroup %q is in no unit %q of a user's own manager", t.ID.Cgroup, r.UserUnit)
	case keyCgroup:
		return fmt.Sprintf("its cgroup is %q, not %q", t.ID.Cgroup, r.Cgroup)
	}
	return fmt.Sprintf("its command line does not match %q", r.Command)
}

// inUnit reports whether a cgroup is of a unit of the system that the glob means, or in a
// slice that it means. What a unit makes below its own group has no say.
func inUnit(glob, cgroup string) bool {
	unit, _ := procfs.UnitOf(cgroup)
	if unit != "" && pattern.Glob(glob, unit) {
		return true
	}
	for slice := range procfs.Slices(cgroup) {
		if pattern.Glob(glob, slice) {
			return true
		}
	}
	return false
}

// inUserUnit is inUnit for the units of users' own managers.
func inUserUnit(glob, cgroup string) bool {
	_, unit := procfs.UnitOf(cgroup)
	return unit != "" && pattern.Glob(glob, unit)
}

// The keys of matchers.
const (
	keyComm    = "comm"
	keyCommand = "command"
	keyCgroup  = "cgroup"
	keyUnit    = "unit"
	keyUser    = "user"

	keyUserUnit = "user_unit"
)

// pair is a key of the file with its text.
type pair struct{ key, text string }

func (s *Spec) matchers() []pair {
	return []pair{{keyComm, s.Comm}, {keyCommand, s.Command}, {keyCgroup, s.Cgroup}, {keyUnit, s.Unit}, {keyUserUnit, s.UserUnit}, {keyUser, s.User}}
}

// words are the matchers that are given, in words.
func (s *Spec) words() string {
	var out []string
	for _, m := range s.matchers() {
		if m.text != "" {
			out = append(out, fmt.Sprintf("%s %q", m.key, m.text))
		}
	}
	return strings.Join(out, ", ")
}
