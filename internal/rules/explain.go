package rules

import (
	"errors"
	"fmt"

	"piton/internal/sample"
)

// Verdict is what one rule means to a process.
type Verdict struct {
	Rule    *Rule
	Matches bool   // the process fits all matchers
	Applies bool   // and no other rule is before it
	Why     string // a sentence
}

// Explain says of every rule whether it applies to a process, and why not. The error
// says that no rule can, or is a *Conflict.
func (s *Set) Explain(t *sample.Task) ([]Verdict, error) {
	if why := exempt(t); why != "" {
		return nil, errors.New(why)
	}
	best, err := s.Match(t)
	conflict, _ := err.(*Conflict)
	var out []Verdict
	for _, r := range s.Rules {
		v := Verdict{Rule: r}
		key := r.mismatch(t)
		switch v.Matches = key == ""; {
		case !v.Matches:
			v.Why = fmt.Sprintf("%s does not apply: %s.", r.Title(), r.mismatchWords(t, key))
		case r == best:
			v.Applies = true
			v.Why = fmt.Sprintf("%s applies%s: the process has %s.%s", r.Title(), r.condition(), r.words(), r.searches()+r.follows()+r.reapplies())
		case conflict == nil:
			v.Why = fmt.Sprintf("%s does not apply: it matches, but its priority %d is below the %d of %s.", r.Title(), r.Priority, best.Priority, best.Title())
		case r.Priority < conflict.A.Priority:
			v.Why = fmt.Sprintf("%s does not apply: it matches, but its priority %d is below the %d of %s.", r.Title(), r.Priority, conflict.A.Priority, conflict.A.Title())
		default:
			v.Why = fmt.Sprintf("%s does not apply: it matches, but another rule with priority %d does too.", r.Title(), r.Priority)
		}
		out = append(out, v)
	}
	return out, err
}

// condition is the trigger in a sentence.
func (r *Rule) condition() string {
	if r.Trigger == nil {
		return ""
	}
	return fmt.Sprintf(" while %s", r.Trigger)
}

// searches says that CPUs are found by trying, in a sentence.
func (r *Rule) searches() string {
	if r.Place != PlaceAuto {
		return ""
	}
	by, most := "a rate that moves", ""
	if r.Metric != "" {
		by = r.Metric
	}
	if r.Search > 0 {
		most = fmt.Sprintf(", for %v at most", r.Search)
	}
	return fmt.Sprintf(" Its CPUs are found by trying, %v later, judged by %s%s.", SearchAfter, by, most)
}

// follows says that packets follow the process, in a sentence.
func (r *Rule) follows() string {
	if !r.Follows() {
		return ""
	}
	via := ""
	if r.Via != "" {
		via = " by " + r.Via
	}
	return fmt.Sprintf(" Its packets are steered%s as piton irq follow --policy %s does.", via, r.Follow)
}

// reapplies says that what is set is set again, in a sentence.
func (r *Rule) reapplies() string {
	if !r.Reapply {
		return ""
	}
	return " What it sets is set again when others change it."
}

// Report is what the rules mean on a machine now.
type Report struct {
	Matches []Match
	// Refused are the processes that two rules of one priority match.
	Refused []Refusal
	Idle    []*Rule // that apply to no process
}

// Match is a process with its rule.
type Match struct {
	Task *sample.Task
	Rule *Rule
}

// Refusal is a process to which no rule applies, because two would.
type Refusal struct {
	Task *sample.Task
	*Conflict
}

// Check says which rule each process has now, in the order of the tasks, and which have
// two. Tasks need their full Identity.
func (s *Set) Check(tasks []*sample.Task) Report {
	var out Report
	used := map[*Rule]bool{}
	for _, t := range tasks {
		r, err := s.Match(t)
		var c *Conflict
		switch {
		case errors.As(err, &c):
			out.Refused = append(out.Refused, Refusal{t, c})
		case r != nil:
			out.Matches = append(out.Matches, Match{t, r})
			used[r] = true
		}
	}
	for _, r := range s.Rules {
		if !used[r] {
			out.Idle = append(out.Idle, r)
		}
	}
	return out
}
