package why

import (
	"strings"
	"time"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/procfs"
)

// Target is what is known of a target besides what it did: it decides what helps.
type Target struct {
	Name    string   // as people read it
	Words   []string // that mean it on a command line of piton
	Flags   []string // of their scope
	Threads []Thread // that are still there
	Owner   string   // unit, container or group, "" where they differ
	Sleeps  string   // the kernel function in which most of them sleep, "" for none
	Groups  []Group  // of the cpu controller: its own, then the ancestors, without the root
	// Pressure is how long some task of its own group waited for a CPU, throttling included; -1
	// where the kernel does not count that.
	Pressure time.Duration
	Slices   uint64 // times that a thread got a CPU (schedstat, field 3)
	Arena    Arena
	Machine  Machine
	Rivals   map[kernel.TID]Rival // processes that had the CPU, and are still there
	Weighed  map[string]string    // by By.Group: the nearest group with a weight of its own, "" for the root
	Weights  map[string]int       // of those, of Arena.Group and of their ancestors, as cpu.weight has them; 0 is idle
	IRQs     map[string]IRQ       // by By.Command
	Rights   Rights
	// Lacking is why causes are not known, "" where they are.
	Lacking string
}

// Machine is what holds for all tasks.
type Machine struct {
	Online   cpuset.Set
	Isolated cpuset.Set // at boot: the kernel balances no load there
	SchedExt string     // the scheduler that is in force, "" for none
	Rule     string     // how groups are weighed, in a sentence
	PerTask  bool       // a group's weight counts for each of its runnable tasks (concur, Linux 7.3)
}

// Rights are what the caller may change.
type Rights struct {
	Tasks  bool // settings of any task
	Groups bool // files of control groups
	IRQs   bool
}

// Thread is one of the target.
type Thread struct {
	TID, PID kernel.TID
	Comm     string
	Allowed  cpuset.Set // its mask, within its cpuset
	Cpuset   cpuset.Set // what its control group allows
}

// Arena is where a task competes for CPUs.
type Arena struct {
	Group     string // the nearest control group with a weight of its own, "" for the root
	Autogroup string // of its session, "" for none
}

// Group is a control group, with what it did in the time observed.
type Group struct {
	Path  string
	Limit procfs.CPULimit
	procfs.CPUStat
}

// Rival is a process or kernel thread that had the CPU.
type Rival struct {
	Allowed   cpuset.Set // its mask, within its cpuset
	Cpuset    cpuset.Set
	Comm      string
	Nice      int
	Bound     bool // the kernel refuses to set its CPUs
	Autogroup string
	Leader    kernel.TID // of its session, which stands for the autogroup longer than it does; 0 where that has ended
}

// IRQ is an interrupt line.
type IRQ struct {
	Number int
	Bound  bool // its driver or the kernel alone decides where it goes
}

// Tightest is the group whose limit is the least of all, nil if there is none.
func (t *Target) Tightest() (least *Group) {
	for i := range t.Groups {
		g := &t.Groups[i]
		if cpus := g.Limit.CPUs(); cpus > 0 && (least == nil || cpus < least.Limit.CPUs()) {
			least = g
		}
	}
	return least
}

// group is the group with a path, nil if it is none of the target's.
func (t *Target) group(path string) *Group {
	for i := range t.Groups {
		if t.Groups[i].Path == path {
			return &t.Groups[i]
		}
	}
	return nil
}

// Allowed are the CPUs that some thread may use, and what the control groups allow them.
func (t *Target) Allowed() (mask, groups cpuset.Set) {
	for _, th := range t.Threads {
		mask, groups = mask.Or(th.Allowed), groups.Or(th.Cpuset)
	}
	return mask, groups
}

// unkept reports whether a sched_ext scheduler leaves the limit of a group out of account: it did
// not throttle the group, and gave it more.
func (t *Target) unkept(g *Group) bool {
	return g != nil && t.Machine.SchedExt != "" && g.Throttled == 0
}

// below is the group just below a common ancestor of two groups on the way to the first; "" if
// the first is that ancestor.
func below(group, other string) string {
	path := ""
	for part := range strings.SplitSeq(strings.Trim(group, "/"), "/") {
		if part == "" {
			break
		}
		path += "/" + part
		if other != path && !strings.HasPrefix(other, path+"/") {
			return path
		}
	}
	return ""
}
