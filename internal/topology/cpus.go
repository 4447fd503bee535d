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
	terms, err := parseTerms(expr)
	var set cpuset.Set
	if err == nil {
		set, err = t.join(terms)
	}
	if err == nil && set.Empty() {
		err = errNone(strings.TrimSpace(expr))
	}
	if err != nil {
		return cpuset.Set{}, fmt.Errorf("CPUS %q: %w", expr, err)
	}
	return set, nil
}

// CheckCPUs returns the error that ParseCPUs would on every machine, nil where the
// expression is well formed.
func CheckCPUs(expr string) error {
	if _, err := parseTerms(expr); err != nil {
		return fmt.Errorf("CPUS %q: %w", expr, err)
	}
	return nil
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

// term is one part of an expression.
type term struct {
	minus   bool
	word    string     // a list's name, or a level's; "" for CPUs by number
	numbers cpuset.Set // CPUs, or those of a level's parts
}

var levels = []string{"node", "llc", "package", "core"}

// maxExpression is the most bytes of CPUS. The numbers of 8192 CPUs, the most that
// Linux is built for (CONFIG_NR_CPUS), take 40 KB.
const maxExpression = 64 << 10

// parseTerms reads an expression as far as that needs no machine.
func parseTerms(expr string) ([]term, error) {
	if len(expr) > maxExpression {
		return nil, fmt.Errorf("it is longer than %d bytes", maxExpression)
	}
	var out []term
	rest := strings.TrimSpace(expr)
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
		t, err := parseTerm(strings.TrimSpace(rest[:end]))
		if err != nil {
			return nil, err
		}
		t.minus, rest = minus, rest[end:]
		out = append(out, t)
	}
	return out, nil
}

func parseTerm(text string) (term, error) {
	switch {
	case text == "":
		return term{}, fmt.Errorf("a term is missing")
	case text == "online", text == "isolated", text == "nohz_full":
		return term{word: text}, nil
	case strings.HasPrefix(text, "0x"):
		set, err := cpuset.ParseMask(text)
		return term{numbers: set}, err
	case text[0] >= '0' && text[0] <= '9':
		set, err := cpuset.Parse(text)
		if err != nil {
			err = errors.Unwrap(err) // without the list, which the caller names
		}
		return term{numbers: set}, err
	}
	// The numbers of a level are no CPUs, but cpulists are how all of them are written.
	if level, list, ok := strings.Cut(text, ":"); ok && slices.Contains(levels, level) {
		set, err := cpuset.Parse(list)
		if err != nil || set.Empty() {
			err = fmt.Errorf("%q after %s: is no number or range", list, level)
		}
		return term{word: level, numbers: set}, err
	}
	return term{}, fmt.Errorf("%q is neither a CPU number or range nor node:N, llc:N, package:N, core:N, online, isolated or nohz_full", text)
}

// join adds and takes away terms from left to right.
func (t *Topology) join(terms []term) (cpuset.Set, error) {
	var out cpuset.Set
	if terms[0].minus {
		out = t.Online
	}
	for _, one := range terms {
		set, err := t.cpusOf(one)
		if err != nil {
			return out, err
		}
		if one.minus {
			out = out.AndNot(set)
		} else {
			out = out.Or(set)
		}
	}
	return out, nil
}

func (t *Topology) cpusOf(one term) (cpuset.Set, error) {
	switch one.word {
	case "":
		return t.known(one.numbers)
	case "online":
		return t.Online, nil
	case "isolated":
		return t.Isolated, nil
	case "nohz_full":
		return t.NohzFull, nil
	}
	return pick(one.word, one.numbers, t.level(one.word))
}

// known passes on a set of CPUs that the machine has.
func (t *Topology) known(set cpuset.Set) (cpuset.Set, error) {
	if none := set.AndNot(t.Present); !none.Empty() {
		return cpuset.Set{}, fmt.Errorf("this machine has no CPU %s, it has %s", none, t.Present)
	}
	return set, nil
}

// namesLevel reports whether an expression may name a node, LLC, package or core.
func namesLevel(expr string) bool {
	return slices.ContainsFunc(levels, func(level string) bool { return strings.Contains(expr, level) })
}

// level returns the sets of a level by number.
func (t *Topology) level(name string) map[cpuset.CPU]cpuset.Set {
	out := map[cpuset.CPU]cpuset.Set{}
	var sets []cpuset.Set
	switch name {
	case "node":
		for _, n := range t.Nodes {
			out[cpuset.CPU(n.ID)] = n.CPUs
		}
	case "llc":
		sets = t.llcs
	case "package":
		sets = t.packages
	case "core":
		sets = t.cores
	}
	for i, set := range sets {
		out[cpuset.CPU(i)] = set
	}
	return out
}

// pick joins the sets of a level that numbers name.
func pick(level string, wanted cpuset.Set, sets map[cpuset.CPU]cpuset.Set) (cpuset.Set, error) {
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
