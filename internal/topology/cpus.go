package topology

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"piton/internal/cpuset"
)

// ParseCPUs reads the CPUS of the command line for one machine. The terms are
//
//	0-3  8  0-14:2  0xff                    CPU numbers, ranges, strides, a mask
//	node:1  llc:0  package:0-1  core:3      all online CPUs of these
//	online  isolated  nohz_full             the kernel's lists
//
// A comma adds a term and ^ takes one away, from left to right: "node:0,^0-1",
// "online^isolated". An expression that begins with ^ starts from all online
// CPUs. The numbers after llc, package and core are the indices of CPU; a
// comma ends them, so that "node:0,2" is node 0 and CPU 2.
//
// Numbers that the machine does not have are an error, as is an empty result.
// CPUs may be offline when they are named by number.
func ParseCPUs(expr string, t *Topology) (cpuset.Set, error) {
	set, err := evalCPUs(expr, t)
	if err == nil && set.Empty() {
		err = errNone(strings.TrimSpace(expr))
	}
	if err != nil {
		return cpuset.Set{}, fmt.Errorf("CPUS %q: %w", expr, err)
	}
	return set, nil
}

func errNone(expr string) error {
	switch expr {
	case "isolated":
		return fmt.Errorf("this machine has no isolated CPUs")
	case "nohz_full":
		return fmt.Errorf("this machine has no nohz_full CPUs")
	}
	return fmt.Errorf("no CPU is left")
}

func evalCPUs(expr string, t *Topology) (cpuset.Set, error) {
	var out cpuset.Set
	rest := strings.TrimSpace(expr)
	if strings.HasPrefix(rest, "^") {
		out = t.Online
	}
	for first := true; first || rest != ""; first = false {
		minus := false
		if !first {
			minus, rest = rest[0] == '^', rest[1:]
		}
		if trimmed := strings.TrimLeft(rest, " \t"); !minus && strings.HasPrefix(trimmed, "^") {
			minus, rest = true, trimmed[1:]
		}
		end := strings.IndexAny(rest, ",^")
		if end < 0 {
			end = len(rest)
		}
		set, err := evalTerm(strings.TrimSpace(rest[:end]), t)
		if err != nil {
			return out, err
		}
		if rest = rest[end:]; minus {
			out = out.AndNot(set)
		} else {
			out = out.Or(set)
		}
	}
	return out, nil
}

func evalTerm(term string, t *Topology) (cpuset.Set, error) {
	switch {
	case term == "":
		return cpuset.Set{}, fmt.Errorf("a term is missing")
	case term == "online":
		return t.Online, nil
	case term == "isolated":
		return t.Isolated, nil
	case term == "nohz_full":
		return t.NohzFull, nil
	case strings.HasPrefix(term, "0x"):
		set, err := cpuset.ParseMask(term)
		return t.known(set, err)
	case term[0] >= '0' && term[0] <= '9':
		set, err := cpuset.Parse(term)
		if err != nil {
			err = errors.Unwrap(err) // without the list, which the caller names
		}
		return t.known(set, err)
	}
	if level, numbers, ok := strings.Cut(term, ":"); ok {
		if sets, ok := t.level(level); ok {
			return pick(level, numbers, sets)
		}
	}
	return cpuset.Set{}, fmt.Errorf("%q is neither a CPU number or range nor node:N, llc:N, package:N, core:N, online, isolated or nohz_full", term)
}

// known passes on a set of CPUs that the machine has.
func (t *Topology) known(set cpuset.Set, err error) (cpuset.Set, error) {
	if err != nil {
		return cpuset.Set{}, err
	}
	if none := set.AndNot(t.Present); !none.Empty() {
		return cpuset.Set{}, fmt.Errorf("this machine has no CPU %s, it has %s", none, t.Present)
	}
	return set, nil
}

// namesLevel reports whether an expression may name a node, LLC, package or core.
func namesLevel(expr string) bool {
	return slices.ContainsFunc([]string{"node", "llc", "package", "core"}, func(level string) bool { return strings.Contains(expr, level) })
}

// level returns the sets of a level by number.
func (t *Topology) level(name string) (map[cpuset.CPU]cpuset.Set, bool) {
	out := map[cpuset.CPU]cpuset.Set{}
	var sets []cpuset.Set
	switch name {
	case "node":
		for _, n := range t.Nodes {
			out[cpuset.CPU(n.ID)] = n.CPUs
		}
		return out, true
	case "llc":
		sets = t.llcs
	case "package":
		sets = t.packages
	case "core":
		sets = t.cores
	default:
		return nil, false
	}
	for i, set := range sets {
		out[cpuset.CPU(i)] = set
	}
	return out, true
}

// pick joins the sets of a level that a list of numbers names. The numbers are
// no CPUs, but cpulists are how all of them are written.
func pick(level, numbers string, sets map[cpuset.CPU]cpuset.Set) (cpuset.Set, error) {
	wanted, err := cpuset.Parse(numbers)
	if err != nil || wanted.Empty() {
		return cpuset.Set{}, fmt.Errorf("%q after %s: is no number or range", numbers, level)
	}
	var out cpuset.Set
	var have, missing cpuset.Builder
	for n := range sets {
		have.Add(n)
	}
	for n := range wanted.All() {
		set, ok := sets[n]
		if !ok {
			missing.Add(n)
		}
		out = out.Or(set)
	}
	if none := missing.Set(); !none.Empty() {
		if len(sets) == 0 {
			return cpuset.Set{}, fmt.Errorf("the kernel says nothing of any %s here", level)
		}
		return cpuset.Set{}, fmt.Errorf("this machine has no %s %s, it has %s", level, none, have.Set())
	}
	return out, nil
}
