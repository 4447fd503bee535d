package tune

import (
	"strconv"

	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// attribute reads and writes one attribute of a thread as text, the form that
// plans, the journal and JSON share.
type attribute struct {
	read  func(t *Tuner, c Change) (string, error)
	write func(t *Tuner, c Change) error
	// prepare turns what was asked for, c.After, into the value that this task is
	// to get, knowing c.Before; or it refuses the change. nil = as asked.
	prepare func(p *planner, k task, c *Change)
	// alike says that two values come to the same; nil = they are equal.
	alike func(a, b string) bool
	// process: it is the whole process's, and is read and set by its leader.
	process bool
}

var attributes map[Attribute]attribute

func init() { // the functions refer to the table
	attributes = map[Attribute]attribute{
		Affinity: {read: readAffinity, write: writeAffinity, prepare: (*planner).affinity},
		Nice:     {read: readNice, write: writeNice},
		Policy:   {read: readPolicy, write: writePolicy, prepare: (*planner).policy},
		IOPrio:   {read: readIOPrio, write: writeIOPrio},
		Slice:    {read: readSlice, write: writeSlice, prepare: (*planner).slice},
		Clamp:    {read: readClamp, write: writeClamp, prepare: (*planner).clamp},
		Cookie:   {read: readCookie, write: writeCookie, prepare: (*planner).cookie},
		Memory:   {read: readMemory, write: writeMemory, prepare: (*planner).memory, alike: memoryAlike, process: true},
	}
}

// The attributes beside those of tune.go.
const (
	Slice  Attribute = "slice"  // EEVDF's, of OTHER and BATCH: "3ms", "default"
	Clamp  Attribute = "uclamp" // utilisation clamps: "0,512"
	Cookie Attribute = "cookie" // of core scheduling: "0x1f3a", "none"
	Memory Attribute = "memory" // pages of a process by node: "0:812 1:3"
)

// alike reports whether two values of the attribute come to the same.
func (a Attribute) alike(x, y string) bool {
	if same := attributes[a].alike; same != nil {
		return same(x, y)
	}
	return x == y
}

// prepare makes of what was asked for what this task is to get.
func (p *planner) prepare(k task, c *Change) {
	if f := attributes[c.Attribute].prepare; f != nil {
		f(p, k, c)
	}
	if c.Status == Planned && c.Attribute.alike(c.Before, c.After) {
		c.Status = Unchanged
	}
}

func readAffinity(t *Tuner, c Change) (string, error) {
	mask, err := t.o.Sched.Affinity(c.TID)
	return mask.String(), err
}

func writeAffinity(t *Tuner, c Change) error {
	mask, err := cpuset.Parse(c.After)
	if err != nil {
		return err
	}
	if c.unbound {
		if possible, err := t.possible(); err == nil && mask.SubsetOf(possible) {
			mask = possible // the kernel cuts it to what was read
		}
	}
	return t.o.Sched.SetAffinity(c.TID, mask)
}

func readNice(t *Tuner, c Change) (string, error) {
	nice, err := t.o.Sched.Nice(c.TID)
	return strconv.Itoa(nice), err
}

func writeNice(t *Tuner, c Change) error {
	nice, err := ParseNice(c.After)
	if err != nil {
		return err
	}
	return t.o.Sched.SetNice(c.TID, nice)
}

func readPolicy(t *Tuner, c Change) (string, error) {
	attr, err := t.o.Sched.Attr(c.TID)
	return formatPolicy(attr), err
}

func writePolicy(t *Tuner, c Change) error {
	attr, err := parsePolicy(c.After)
	if err != nil {
		return err
	}
	if attr.Policy == kernel.Deadline {
		return t.o.Sched.SetAttr(c.TID, attr)
	}
	return t.o.Sched.SetPolicy(c.TID, attr.Policy, attr.RTPrio, attr.ResetOnFork)
}

func readIOPrio(t *Tuner, c Change) (string, error) {
	prio, err := t.o.Sched.IOPrio(c.TID)
	return FormatIOPrio(prio), err
}

func writeIOPrio(t *Tuner, c Change) error {
	prio, err := ParseIOPrio(c.After)
	if err != nil {
		return err
	}
	return t.o.Sched.SetIOPrio(c.TID, prio)
}

// describe is the attribute with its value as a sentence has it: "nice 5".
func describe(a Attribute, value string) string {
	switch a {
	case Affinity:
		if cpus, err := cpuset.Parse(value); err == nil {
			return cpus.InWords()
		}
	case IOPrio:
		return "I/O priority " + value
	case Memory:
		return "memory on " + nodeText(nodesOf(value))
	}
	return string(a) + " " + value
}
