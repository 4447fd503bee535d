// Package rules is standing rules: which processes get which placement, policy or
// priority as they start, or once they migrate too much. It reads rules files, finds the
// rule of a process and says why, and decides when a rule is applied to it.
//
// It is pure: it asks neither the kernel nor a clock, and changes nothing. A daemon
// feeds the Engine with events and carries out its Decisions through internal/action.
// Start at Parse, Set.Match and Engine.
package rules

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"piton/internal/action"
	"piton/internal/change/attr"
	"piton/internal/kernel"
	"piton/internal/place"
	"piton/internal/taskfile"
	"piton/internal/topology"
)

// Version of the format that Parse reads.
const Version = 1

// Spec is one [[rule]] as the file has it. A process has to fit all matchers given.
// Specs that are equal are the same rule, also after a reload.
type Spec struct {
	Name string `toml:"name"` // of the rule; unique in the file

	Comm    string `toml:"comm"`    // the process's comm: a name, a glob or /regex/, as a TARGET
	Command string `toml:"command"` // a regular expression on the command line (its first 128 KiB)
	Cgroup  string `toml:"cgroup"`  // a glob on the whole path of the cgroup; * means slashes too
	Unit    string `toml:"unit"`    // a glob on the system's unit and the slices around it: "nginx.service", "user-1000.slice"
	User    string `toml:"user"`    // a name or a number, of the real and the effective user

	UserUnit   string `toml:"user_unit"`   // a glob on a unit of a user's own manager
	TrustNames bool   `toml:"trust_names"` // Raises, though the process itself chooses what is matched

	CPUs   string        `toml:"cpus"`   // a CPUS expression
	Place  string        `toml:"place"`  // instead: a strategy of --place, or PlaceAuto
	Within string        `toml:"within"` // a strategy's CPUS
	Metric string        `toml:"metric"` // of PlaceAuto, as of piton auto
	Budget string        `toml:"budget"` // of PlaceAuto, "2m"
	Follow string        `toml:"follow"` // a policy of piton irq follow
	Via    string        `toml:"via"`    // of Follow, a way
	Memory taskfile.Text `toml:"memory"` // nodes, or "cpus" for those of its CPUs
	Nice   taskfile.Text `toml:"nice"`
	Slice  taskfile.Text `toml:"slice"`
	UClamp taskfile.Text `toml:"uclamp"`
	IOPrio taskfile.Text `toml:"ioprio"`
	Policy taskfile.Text `toml:"policy"`
	Weight taskfile.Text `toml:"weight"` // of the control group
	Quota  taskfile.Text `toml:"quota"`  // of the control group

	When     string `toml:"when"`     // a trigger, "pingpong > 50 for 10s"; "" = as the process starts
	Reapply  bool   `toml:"reapply"`  // it is set again when others have changed it
	Priority int    `toml:"priority"` // of the rules that match a process, the highest applies
}

// settings are those of the rule but for its placement.
func (s *Spec) settings() []taskfile.Setting {
	return []taskfile.Setting{
		{Attribute: attr.Memory, Text: &s.Memory},
		{Attribute: attr.Nice, Text: &s.Nice},
		{Attribute: attr.Slice, Text: &s.Slice},
		{Attribute: attr.Clamp, Text: &s.UClamp},
		{Attribute: attr.IOPrio, Text: &s.IOPrio},
		{Attribute: attr.Policy, Text: &s.Policy},
		{Attribute: attr.Weight, Text: &s.Weight},
		{Attribute: attr.Quota, Text: &s.Quota},
	}
}

// RealTime reports whether the rule makes processes real-time: one that never sleeps then
// has its CPU for itself.
func (s *Spec) RealTime() bool {
	v, err := attr.Policy.Parse(string(s.Policy))
	return s.Policy != "" && err == nil && attr.PolicyOf(v).Crowds()
}

// Raises reports whether the rule puts processes before others: nice below 0, a real-time
// policy or real-time I/O, or a setting of a control group, which is of all that run there.
func (s *Spec) Raises() bool {
	if s.Weight != "" || s.Quota != "" {
		return true
	}
	policy, err := attr.Policy.Parse(string(s.Policy))
	if p := attr.PolicyOf(policy).Policy; s.Policy != "" && err == nil && p.RealTime() {
		return true
	}
	nice, err := attr.Nice.Parse(string(s.Nice))
	if n, ok := nice.(attr.NiceValue); err == nil && ok && n < 0 {
		return true
	}
	prio, err := attr.IOPrio.Parse(string(s.IOPrio))
	io, ok := prio.(attr.IOPrioValue)
	return err == nil && ok && io.Class == kernel.IORealTime
}

// Anchored reports whether a process cannot choose to be matched: by its user, a unit of the
// system by its whole name, or a cgroup below a group that the file names. comm and command
// are the process's own words, and users name the groups below their own.
func (s *Spec) Anchored() bool {
	const wild = "*?["
	if s.User != "" || s.Unit != "" && !strings.ContainsAny(s.Unit, wild) {
		return true
	}
	top, below, ok := strings.Cut(strings.TrimPrefix(s.Cgroup, "/"), "/")
	first := strings.IndexAny(below, wild)
	return ok && top != "" && s.Cgroup[0] == '/' && !strings.ContainsAny(top, wild) &&
		(top != "user.slice" || first < 0 || first == len(below)-1 && below[first] == '*')
}

// PlaceAuto is the Place of a rule whose CPUs are found by trying, as piton auto does.
const PlaceAuto = "auto"

// SearchAfter is how long a process with PlaceAuto runs before its placement is searched: what
// it does as it starts is not what it does later.
const SearchAfter = 5 * time.Second

// Strategy is what CPUs are chosen by, "" if they are stated or found by trying.
func (s *Spec) Strategy() place.Strategy {
	if s.Place == PlaceAuto {
		return ""
	}
	return place.Strategy(s.Place)
}

// States reports whether the rule sets something besides what is found by trying.
func (s *Spec) States() bool {
	return s.CPUs != "" || s.Strategy() != "" ||
		slices.ContainsFunc(s.settings(), func(set taskfile.Setting) bool { return set.Given() })
}

// Follows reports whether packets are to follow the processes.
func (s *Spec) Follows() bool { return s.Follow != "" }

// Rule is a Spec that was checked.
type Rule struct {
	Spec
	Trigger *Trigger      // nil: it applies as a process starts
	Search  time.Duration // at most, 0: as long as the candidates take
	Line    int           // of the file, 1-based

	matcher matcher
}

// Title is what messages call the rule.
func (r *Rule) Title() string { return "rule " + strconv.Quote(r.Name) }

// Delivery asks for the packets of its processes to be handled as Follow says, without a Look
// and targets. The error says that the machine does not have the CPUs.
func (r *Rule) Delivery(t *topology.Topology) (ask action.SteerAsk, err error) {
	policy, cpus, err := action.ParsePolicy(r.Follow)
	ask = action.SteerAsk{Policy: policy, Topology: t, By: r.Title() + ": "}
	if err == nil {
		ask.Via, err = policy.ParseWay(r.Via)
	}
	if err == nil && cpus != "" {
		ask.CPUs, err = topology.ParseCPUs(cpus, t)
	}
	if err != nil {
		err = fmt.Errorf("%s: follow: %w", r.Title(), err)
	}
	return ask, err
}

// Tuning is what the rule asks of internal/action on this machine, but for what is found by
// trying. The error says that the machine does not have the CPUs.
func (r *Rule) Tuning(t *topology.Topology) (action.Tuning, error) {
	set, err := taskfile.Parse(r.settings())
	if err != nil {
		return action.Tuning{}, fmt.Errorf("%s: %w", r.Title(), err)
	}
	out := action.Tuning{Set: set, Strategy: r.Strategy(), Reason: r.Title()}
	if r.CPUs != "" {
		cpus, err := topology.ParseCPUs(r.CPUs, t)
		if err != nil {
			return action.Tuning{}, fmt.Errorf("%s: %w", r.Title(), err)
		}
		out.Set = append([]attr.Setting{attr.SetAffinity(cpus)}, out.Set...)
	}
	if r.Within != "" {
		if out.Within, err = topology.ParseCPUs(r.Within, t); err != nil {
			return action.Tuning{}, fmt.Errorf("%s: within: %w", r.Title(), err)
		}
	}
	return out, nil
}
