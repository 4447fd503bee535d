// Package kthread knows what kernel threads are for, by the names that the
// kernel gives them. It is pure: which of them run, and where, it is not told.
//
// Start at Explain.
package kthread

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"piton/internal/cpuset"
)

// Bound says where a kind of kernel thread may run.
type Bound uint8

// The kinds of binding. The task's own flag PF_NO_SETAFFINITY decides; this is
// what is to be expected of the name.
const (
	BoundUnknown Bound = iota
	BoundCPU           // to one CPU; it cannot be moved
	BoundNode          // to the CPUs of its NUMA node, by its own choice; it can be moved
	BoundNowhere       // it can be moved like any task
)

// Meaning is what a kernel thread is for.
type Meaning struct {
	What  string     // what it does
	Maker string     // which part of the kernel made it
	Do    string     // what can be done about it when it is in the way
	Bound Bound      // where it may run
	CPU   cpuset.CPU // of BoundCPU; -1 otherwise
	IRQ   int        // of a handler's thread; -1 otherwise
}

// kind is what the names that match have in common. The pattern's first group,
// if any, is the CPU, or the interrupt line.
type kind struct {
	name  string // pattern of the whole name
	bound Bound
	maker string
	what  string
	do    string
}

// compiled has the patterns of kinds; compiling them takes a millisecond or two,
// which a command that never asks should not wait for.
var compiled = sync.OnceValue(func() []*regexp.Regexp {
	out := make([]*regexp.Regexp, len(kinds))
	for i, k := range kinds {
		out[i] = regexp.MustCompile(`^(?:` + k.name + `)$`)
	}
	return out
})

// Explain tells what a kernel thread of this name is for; ok is false for a name
// that is not known. The name may be cut to 15 bytes, as in /proc/PID/comm.
func Explain(comm string) (m Meaning, ok bool) {
	if rest, isWorker := strings.CutPrefix(comm, "kworker/"); isWorker {
		return explainWorker(rest)
	}
	for i, pattern := range compiled() {
		groups := pattern.FindStringSubmatch(comm)
		if groups == nil {
			continue
		}
		k := &kinds[i]
		m := Meaning{What: k.what, Maker: k.maker, Do: k.do, Bound: k.bound, CPU: -1, IRQ: -1}
		if len(groups) > 1 {
			n, err := strconv.Atoi(groups[1])
			switch {
			case err != nil:
			case k.maker == irqMaker:
				m.IRQ = n
			case k.bound == BoundCPU && n <= int(cpuset.MaxCPU):
				m.CPU = cpuset.CPU(n)
			}
		}
		return m, true
	}
	return Meaning{}, false
}
