package bench

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"piton/internal/kernel"
	"piton/internal/place"
	"piton/workloads/workload"
)

// Placement is how the runs of one arm are placed: "normal", "least-loaded", "fifo:10",
// "rr:10", "batch", "idle", "nice:-5", "cpu:3" (any CPUS expression), "pack", "spread", "llc",
// "node", "sibling-free", "aggregate", and several joined with "+": "least-loaded+fifo:10".
type Placement string

// Normal is the placement that changes nothing.
const Normal Placement = "normal"

// Strategies are the placements that choose CPUs by load and topology.
var Strategies = []place.Strategy{place.LeastLoaded, place.Pack, place.Spread, place.LLC, place.NodeWide, place.SiblingFree}

// DefaultStudy is what a workload is compared by where nothing is given.
func DefaultStudy(w workload.Workload, privileged bool) Study {
	return Study{Workload: w.Name, Args: w.Args(nil), Runs: DefaultRuns, Warmup: DefaultWarmup, Placements: DefaultPlacements(w, privileged)}
}

// DefaultPlacements are those that a workload compares by default, with the privileged
// ones where the right is there.
func DefaultPlacements(w workload.Workload, privileged bool) (out []Placement) {
	for _, word := range w.Placements {
		if spec, err := ParsePlacement(word); err == nil && (privileged || !spec.Privileged()) {
			out = append(out, spec.Name())
		}
	}
	if len(out) == 0 { // a command, or a process
		out = []Placement{Normal, Placement(place.LeastLoaded)}
	}
	return out
}

// PlacementHelp is one line for flags and forms.
const PlacementHelp = "normal, least-loaded, pack, spread, llc, node, sibling-free, aggregate, cpu:CPUS, fifo:PRIO, rr:PRIO, batch, idle, nice:VALUE; joined with +"

// PlacementWords are the parts of a placement, or their beginnings, for completion.
func PlacementWords() (out []string) {
	for word := range strings.SplitSeq(PlacementHelp[:strings.IndexByte(PlacementHelp, ';')], ", ") {
		name, _, valued := strings.Cut(word, ":")
		if valued {
			name += ":"
		}
		out = append(out, name)
	}
	return out
}

// Spec is what a Placement asks for. The zero Spec changes nothing.
type Spec struct {
	Strategy place.Strategy // "" if CPUs are not chosen by load
	CPUs     string         // CPUS expression of "cpu:…", "" if none
	// Aggregate lets threads of one address space run one after another, by
	// sched_ext where there is one, else by long slices.
	Aggregate bool
	Policy    kernel.Policy // Other: it stays as it is
	RTPrio    int           // 1..99 for FIFO and RR, else 0
	Nice      *int
}

// Privileged reports whether a placement takes a right of root, and may keep others from
// their CPUs: a real-time policy, nice below 0, a scheduler of its own.
func (s Spec) Privileged() bool {
	return s.Aggregate || s.Policy.RealTime() || s.Nice != nil && *s.Nice < 0
}

const aggregateWord = "aggregate"

// ParsePlacement reads a Placement. The error is one sentence that names the
// part that is wrong.
func ParsePlacement(text string) (Spec, error) {
	var spec Spec
	word := strings.ToLower(strings.TrimSpace(text))
	if word == string(Normal) {
		return spec, nil
	}
	for part := range strings.SplitSeq(word, "+") {
		if err := spec.add(part); err != nil {
			return Spec{}, fmt.Errorf("placement %q: %w", text, err)
		}
	}
	if spec.Aggregate && spec.Policy != kernel.Other {
		return Spec{}, fmt.Errorf("placement %q: %s sets a policy of its own", text, aggregateWord)
	}
	if spec.Nice != nil && spec.Policy != kernel.Other && spec.Policy != kernel.Batch {
		return Spec{}, fmt.Errorf("placement %q: nice means nothing under %s", text, spec.Policy)
	}
	return spec, nil
}

// policies are those of a placement by their words.
var policies = map[string]kernel.Policy{"fifo": kernel.FIFO, "rr": kernel.RR, "batch": kernel.Batch, "idle": kernel.Idle}

func (s *Spec) add(part string) error {
	name, value, hasValue := strings.Cut(part, ":")
	policy, isPolicy := policies[name]
	number, err := strconv.Atoi(value)
	isNumber := err == nil && strconv.Itoa(number) == value // neither +5 nor 05
	switch {
	case part == string(Normal):
		return fmt.Errorf("%q changes nothing and cannot be joined with others", Normal)
	case slices.Contains(Strategies, place.Strategy(name)), name == "cpu":
		return s.addCPUs(name, value, hasValue)
	case part == aggregateWord && s.Aggregate:
		return fmt.Errorf("%s is given twice", aggregateWord)
	case part == aggregateWord:
		s.Aggregate = true
	case isPolicy && s.Policy != kernel.Other:
		return fmt.Errorf("the policy is set twice")
	case isPolicy && policy.RealTime() && (!isNumber || number < 1 || number > 99):
		return fmt.Errorf("%s needs a priority from 1 to 99, such as %s:10", name, name)
	case isPolicy && !policy.RealTime() && hasValue:
		return fmt.Errorf("%q takes no priority", name)
	case isPolicy:
		s.Policy, s.RTPrio = policy, number
	case name == "nice" && s.Nice != nil:
		return fmt.Errorf("nice is set twice")
	case name == "nice" && (!isNumber || number < -20 || number > 19):
		return fmt.Errorf("nice needs a value from -20 to 19, such as nice:-5")
	case name == "nice":
		s.Nice = &number
	case part == "":
		return fmt.Errorf("a part is missing")
	default:
		return fmt.Errorf("%q is none of %s", part, PlacementHelp)
	}
	return nil
}

func (s *Spec) addCPUs(name, value string, hasValue bool) error {
	switch {
	case s.Strategy != "" || s.CPUs != "":
		return fmt.Errorf("the CPUs are chosen twice")
	case name != "cpu" && hasValue:
		return fmt.Errorf("%q takes no value", name)
	case name != "cpu":
		s.Strategy = place.Strategy(name)
	case value == "" || strings.Trim(value, "abcdefghijklmnopqrstuvwxyz0123456789_-,:^") != "":
		return fmt.Errorf("%q is no CPU list such as 3, 0-2,5 or llc:0", value)
	default:
		s.CPUs = value
	}
	return nil
}

// Name is the placement's one spelling: CPUs, aggregation, then policy, then nice.
func (s Spec) Name() Placement {
	var parts []string
	add := func(given bool, part ...any) {
		if given {
			parts = append(parts, strings.ToLower(fmt.Sprint(part...)))
		}
	}
	add(s.Strategy != "", s.Strategy)
	add(s.CPUs != "", "cpu:", s.CPUs)
	add(s.Aggregate, aggregateWord)
	add(s.Policy.RealTime(), s.Policy, ":", s.RTPrio)
	add(!s.Policy.RealTime() && s.Policy != kernel.Other, s.Policy)
	if s.Nice != nil {
		add(true, "nice:", *s.Nice)
	}
	return cmp.Or(Placement(strings.Join(parts, "+")), Normal)
}

// Placed is what a PlaceFunc did.
type Placed struct {
	CPUs   string // cpulist that the process is restricted to now, "" if it is not
	Reason string // why these, in words
	// Release, if not nil, is called once the process has ended; its error says
	// that the placement did not hold until then.
	Release func() error
}

// PlaceFunc places a process, all of its threads, as Spec asks. It is called
// for "normal" too, with the zero Spec, and must then change nothing.
type PlaceFunc func(ctx context.Context, pid kernel.TID, spec Spec) (Placed, error)
