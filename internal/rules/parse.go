package rules

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"piton/internal/action"
	"piton/internal/auto"
	"piton/internal/change/attr"
	"piton/internal/place"
	"piton/internal/target"
	"piton/internal/taskfile"
	"piton/internal/users"
)

// The limits on a file. The first two bound what one process costs: the second is about
// rules that have to be looked at for each, whose comm is no plain name.
const (
	maxRules    = 10_000
	maxPatterns = 500
	maxName     = 64 // bytes of a rule's name
	maxComm     = 15 // bytes of a comm (TASK_COMM_LEN of include/linux/sched.h, less the NUL)
	maxPriority = 1_000_000
)

// Parse reads a rules file. The first mistake is returned, as a *taskfile.Error with its
// line and column.
func Parse(data []byte) (*Set, error) {
	if err := taskfile.Check(data); err != nil {
		return nil, err
	}
	var f struct {
		Version int    `toml:"version"`
		Rules   []Spec `toml:"rule"`
	}
	found, err := taskfile.Decode(data, &f)
	if err != nil {
		return nil, err
	}
	c := checker{Checker: taskfile.Checker{Positions: found}, names: map[string]*Rule{}, same: map[Spec]*Rule{}}
	if f.Version != Version {
		c.Fail("version", "", "version = %d: this piton reads rules of version = %d", f.Version, Version)
	}
	var rules []*Rule
	for i, s := range f.Rules {
		if c.Err == nil {
			rules = append(rules, c.rule(fmt.Sprintf("rule.%d", i), s))
		}
	}
	if c.Err != nil {
		return nil, c.Err
	}
	return newSet(rules), nil
}

// checker makes rules of what was decoded.
type checker struct {
	taskfile.Checker
	table    string // of the rule that is looked at
	names    map[string]*Rule
	same     map[Spec]*Rule // by matchers and priority alone
	patterns int
}

func (c *checker) fail(key, format string, args ...any) { c.Fail(c.table, key, format, args...) }

func (c *checker) rule(table string, s Spec) *Rule {
	c.table = table
	r := &Rule{Spec: s, Line: c.At(table, "").Line}
	c.name(r)
	c.matchers(r)
	c.placement(r)
	c.Values(table, s.settings())
	if m, err := attr.Memory.Parse(string(s.Memory)); s.Memory != "" && err == nil && m.(attr.MemoryValue).Pages != nil {
		c.fail("memory", "memory %q: a rule has nodes, or cpus for those of its CPUs", s.Memory)
	}
	if !s.States() && s.Place == "" && !s.Follows() {
		c.fail("", "%s sets nothing: it has none of cpus, place, memory, nice, slice, uclamp, ioprio, policy, weight, quota and follow", r.Title())
	}
	if c.Err == nil && s.Raises() && !s.Anchored() && !s.TrustNames {
		c.fail("", "%s raises priority, and any user can start a process that it matches: give it a user, a unit without *, "+
			"or a cgroup that begins with a group's name, or set trust_names = true", r.Title())
	}
	if s.Reapply && !s.States() {
		c.fail("reapply", "%s sets nothing that could be reapplied", r.Title())
	}
	if s.When != "" {
		var err error
		if r.Trigger, err = parseTrigger(s.When); err != nil {
			c.fail("when", "when = %q: %v", s.When, err)
		}
	}
	if s.Priority < -maxPriority || s.Priority > maxPriority {
		c.fail("priority", "priority %d is out of range: %d to %d", s.Priority, -maxPriority, maxPriority)
	}
	c.unique(r)
	return r
}

func (c *checker) name(r *Rule) {
	switch {
	case r.Name == "":
		c.fail("name", "the rule has no name")
	case len(r.Name) > maxName:
		c.fail("name", "the name is longer than %d bytes", maxName)
	case strings.ContainsFunc(r.Name, func(r rune) bool { return !unicode.IsPrint(r) }):
		c.fail("name", "the name %q has characters that cannot be printed", r.Name)
	case len(c.names) == maxRules:
		c.fail("", "the file has more than %d rules", maxRules)
	}
}

// unique refuses what is ambiguous for every process that it matches.
func (c *checker) unique(r *Rule) {
	if other := c.names[r.Name]; other != nil {
		c.fail("name", "%s is the name of the rule of line %d too", r.Title(), other.Line)
	}
	c.names[r.Name] = r
	key := Spec{Comm: r.Comm, Command: r.Command, Cgroup: r.Cgroup, Unit: r.Unit, UserUnit: r.UserUnit, User: r.User, Priority: r.Priority}
	if other := c.same[key]; other != nil {
		c.fail("priority", "%s and %s (line %d) match the same processes with priority %d: give one of them a higher priority",
			r.Title(), other.Title(), other.Line, r.Priority)
	}
	c.same[key] = r
}

// matchers checks and compiles them. A key that is there but empty would silently widen
// the rule.
func (c *checker) matchers(r *Rule) {
	for _, p := range append(r.matchers(), pair{"cpus", r.CPUs}, pair{"place", r.Place}, pair{"within", r.Within},
		pair{"metric", r.Metric}, pair{"budget", r.Budget}, pair{"follow", r.Follow}, pair{"via", r.Via}, pair{"when", r.When}) {
		if _, there := c.Positions[c.table+"."+p.key]; there && p.text == "" {
			c.fail(p.key, "%s is empty; leave it out", p.key)
		}
		if strings.ContainsRune(p.text, 0) {
			c.fail(p.key, "%s has a NUL, which nothing of a process can have", p.key)
		}
	}
	if r.words() == "" {
		c.fail("", "%s needs a comm, command, cgroup, unit, user_unit or user, or it would match every process", r.Title())
	}
	c.comm(r)
	c.Glob(c.table, keyCgroup, r.Cgroup)
	for _, p := range []pair{{keyUnit, r.Unit}, {keyUserUnit, r.UserUnit}} {
		c.Glob(c.table, p.key, p.text)
		if strings.Contains(p.text, "/") {
			c.fail(p.key, "%s %q: the name of a unit has no /; use cgroup for a path", p.key, p.text)
		}
	}
	if r.User != "" {
		if _, _, err := users.Parse(r.User); err != nil {
			c.fail(keyUser, "%v", err)
		}
		if len(r.User) > maxName {
			c.fail(keyUser, "%q is not the name of a user", r.User)
		}
		r.matcher.user, _ = target.Parse("user:" + r.User)
	}
	if r.Command != "" {
		r.matcher.command = c.Regexp(c.table, keyCommand, r.Command)
	}
	if !plainComm(r.Comm) {
		if c.patterns++; c.patterns > maxPatterns {
			c.fail(keyComm, "more than %d rules have no comm that is a plain name; each costs time at every exec", maxPatterns)
		}
	}
}

func (c *checker) comm(r *Rule) {
	if r.Comm == "" {
		return
	}
	if c.Name(c.table, keyComm, r.Comm); c.Err != nil {
		return
	}
	if plainComm(r.Comm) && len(r.Comm) > maxComm {
		c.fail(keyComm, "comm %q can match nothing: the kernel keeps %d bytes of a name, %q", r.Comm, maxComm, r.Comm[:maxComm])
	}
	r.matcher.comm, _ = target.Parse(r.Comm)
}

// plainComm reports whether a comm means the processes of exactly this name.
func plainComm(comm string) bool {
	return comm != "" && !strings.ContainsAny(comm, "*?[") && comm[0] != '/'
}

func (c *checker) placement(r *Rule) {
	c.CPUs(c.table, "cpus", r.CPUs)
	c.CPUs(c.table, "within", r.Within)
	if r.Strategy() != "" {
		if _, err := place.ParseStrategy(r.Place); err != nil {
			c.fail("place", "%v, or %s, which finds it by trying", err, PlaceAuto)
		}
	}
	c.search(r)
	c.delivery(r)
	switch {
	case r.CPUs != "" && r.Place != "":
		c.fail("place", "cpus and place exclude each other")
	case r.Within != "" && r.Place == "":
		c.fail("within", "within needs place")
	}
}

// delivery checks how packets are to follow.
func (c *checker) delivery(r *Rule) {
	if !r.Follows() {
		if r.Via != "" {
			c.fail("via", "via needs follow")
		}
		return
	}
	policy, cpus, err := action.ParsePolicy(r.Follow)
	if err != nil {
		c.fail("follow", "follow %q: %v", r.Follow, err)
		return
	}
	c.CPUs(c.table, "follow", cpus)
	if _, err := policy.ParseWay(r.Via); err != nil {
		c.fail("via", "via %q does not do follow %q: %v", r.Via, r.Follow, err)
	}
	if r.Place == PlaceAuto {
		c.fail("follow", "follow and place = %q exclude each other: a placement would be judged while packets are moved", PlaceAuto)
	}
}

// The budgets that a rule can have, as piton auto.
const (
	leastBudget = time.Second
	mostBudget  = time.Hour
)

// search checks what is about a placement that is found by trying.
func (c *checker) search(r *Rule) {
	if r.Place != PlaceAuto {
		for _, p := range []pair{{"metric", r.Metric}, {"budget", r.Budget}} {
			if p.text != "" {
				c.fail(p.key, "%s needs place = %q", p.key, PlaceAuto)
			}
		}
		return
	}
	for _, p := range []pair{{"within", r.Within}, {"memory", string(r.Memory)}} {
		if p.text != "" {
			c.fail(p.key, "%s and place = %q exclude each other: the CPUs are found by trying", p.key, PlaceAuto)
		}
	}
	if strings.HasPrefix(r.Metric, auto.OutputPrefix) {
		c.fail("metric", "metric %q: piton has only the output of a command that it starts", r.Metric)
	} else if _, err := auto.FindMetric(r.Metric); r.Metric != "" && err != nil {
		c.fail("metric", "%v", err)
	}
	if r.Budget == "" {
		return
	}
	var err error
	if r.Search, err = time.ParseDuration(r.Budget); err != nil {
		c.fail("budget", "budget %q is no time such as 30s", r.Budget)
	} else if r.Search < leastBudget || r.Search > mostBudget {
		c.fail("budget", "the budget %v is out of range: %v to %v", r.Search, leastBudget, mostBudget)
	}
}
