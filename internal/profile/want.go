package profile

import (
	"fmt"
	"slices"

	"piton/internal/change/attr"
	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// Want is one value that a profile wants of one task or file.
type Want struct {
	Item      string // the item that wants it, "[[task]] of line 12"
	Attribute attr.Attribute
	// PID and TID are of a task, 0 for a file.
	PID, TID   kernel.TID
	StartTicks uint64
	Path       string // of a file, below /proc or /sys
	Name       string // what users call it: a task's name, "irq 24 (eth0-rx-0)"
	Expected   attr.Value
	Actual     attr.Value // nil where it could not be read
	Known      bool       // Actual could be read
	Blocked    string     // why it cannot be had here, "" if it can be tried

	absent bool // it is Blocked because this kernel lacks it, or piton refuses it
	whole  bool // of every thread of the process, also of those to come
}

// OK reports whether the value is as wanted, so far as this machine can have it.
func (w *Want) OK() bool { return w.Known && w.Attribute.Alike(w.Expected, w.Actual) }

// Missing is an item that means nothing on this machine.
type Missing struct {
	Item     string
	Matchers string // how it looks for something
	Optional bool   // the profile says that this is no error
}

func (m Missing) String() string { return fmt.Sprintf("%s: nothing has %s", m.Item, m.Matchers) }

// Resolution is what a profile wants of a machine.
type Resolution struct {
	Wants   []Want
	Missing []Missing
	Notes   []string
	// Isolates are the CPUs that an isolation keeps free, and Rest what it leaves.
	Isolates, Rest cpuset.Set
	Isolated       map[string]bool // the files that it changes, if they can be
	Ticks          uint64          // USER_HZ since boot, when the machine was looked at

	isolation string // the Item of wants that keep the CPUs free
}

// Drift returns the wants that are not as they should be.
func (r *Resolution) Drift() []Want {
	return slices.DeleteFunc(slices.Clone(r.Wants), func(w Want) bool { return w.OK() || !w.Known && w.Blocked == "" })
}

// Unknown counts the values that could not be read.
func (r *Resolution) Unknown() int {
	n := 0
	for i := range r.Wants {
		if w := &r.Wants[i]; !w.Known && w.Blocked == "" {
			n++
		}
	}
	return n
}

// Required returns the missing items that are not optional.
func (r *Resolution) Required() []Missing {
	return slices.DeleteFunc(slices.Clone(r.Missing), func(m Missing) bool { return m.Optional })
}

// affinity compares two masks as far as CPUs are online and allowed: the kernel
// keeps no others, so asking for them again would change nothing.
func (w *Want) affinity(want, have, online, allowed cpuset.Set) {
	w.Expected, w.Actual = want, have.And(online)
	switch usable := want.And(online); {
	case usable.Empty():
		w.Blocked = fmt.Sprintf("none of %s is online", want)
	case usable.And(allowed).Equal(have.And(online)):
		w.Expected = w.Actual
	}
}
