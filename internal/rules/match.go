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

// Set is the rules of a file, in its order. It does not change.
type Set struct {
	Rules []*Rule

	byComm map[string][]*Rule // those whose comm is a plain name
	others []*Rule
}

// Conflict is two rules of the highest priority that match one process: neither applies.
type Conflict struct{ A, B *Rule }

func (c *Conflict) Error() string {
	return fmt.Sprintf("rules %q (line %d) and %q (line %d) both match with priority %d: give one of them a higher priority",
		c.A.Name, c.A.Line, c.B.Name, c.B.Line, c.A.Priority)
}

func newSet(rules []*Rule) *Set {
	s := &Set{Rules: rules, byComm: map[string][]*Rule{}}
	for _, r := range rules {
		if plainComm(r.Comm) {
			s.byComm[r.Comm] = append(s.byComm[r.Comm], r)
		} else {
			s.others = append(s.others, r)
		}
	}
	return s
}

// MayMatch reports whether a rule could match a process of this comm. It reads nothing
// else of it.
func (s *Set) MayMatch(comm string) bool {
	return len(s.byComm[comm]) > 0 || slices.ContainsFunc(s.others, func(r *Rule) bool {
		return r.Comm == "" || r.matcher.comm.MeansThread(comm)
	})
}

// Parts are what rules need to know of a process of this comm besides.
func (s *Set) Parts(comm string) (parts sample.Parts) {
	add := func(r *Rule) {
		parts.User = parts.User || r.User != ""
		parts.Command = parts.Command || r.matcher.command != nil
		parts.Cgroup = parts.Cgroup || r.Cgroup != "" || r.Unit != "" || r.UserUnit != ""
	}
	for _, r := range s.byComm[comm] {
		add(r)
	}
	for _, r := range s.others {
		if r.Comm == "" || r.matcher.comm.MeansThread(comm) {
			add(r)
		}
	}
	return parts
}

// Triggers reports whether a rule has a trigger, and so needs the rates of processes.
func (s *Set) Triggers() bool {
	return slices.ContainsFunc(s.Rules, func(r *Rule) bool { return r.Trigger != nil })
}

// Places reports whether a rule has a strategy, and so needs the load of the machine.
func (s *Set) Places() bool {
	return slices.ContainsFunc(s.Rules, func(r *Rule) bool { return r.Strategy() != "" })
}

// Match returns the rule of a process, nil if there is none. The error is a *Conflict.
func (s *Set) Match(t *sample.Task) (*Rule, error) {
	if exempt(t) != "" {
		return nil, nil
	}
	var best, rival *Rule
	for _, list := range [][]*Rule{s.byComm[t.ID.Comm], s.others} {
		for _, r := range list {
			switch {
			case best != nil && r.Priority < best.Priority || r.mismatch(t) != "":
			case best == nil || r.Priority > best.Priority:
				best, rival = r, nil
			default:
				rival = r
			}
		}
	}
	if rival == nil {
		return best, nil
	}
	if rival.Line < best.Line {
		best, rival = rival, best
	}
	return nil, &Conflict{best, rival}
}

// LookUp gives the rules that name a user the user's number. It returns those whose user
// nobody knows; where there is no answer, the name has to do.
func (s *Set) LookUp(id func(name string) (uid uint32, ok, known bool)) (unknown []*Rule) {
	for _, r := range s.Rules {
		if !r.matcher.user.ByName() {
			continue
		}
		uid, ok, known := id(r.User)
		if ok {
			r.matcher.user = r.matcher.user.WithUser(uid)
		} else if known {
			unknown = append(unknown, r)
		}
	}
	return unknown
}
