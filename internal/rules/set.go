package rules

import (
	"fmt"
	"slices"

	"piton/internal/sample"
)

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
