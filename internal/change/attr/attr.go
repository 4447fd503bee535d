// Package attr is what piton can change: one attribute, one file, with its typed
// value, how it is written on the command line and in the journal, how it is read
// and set, what its refusal means and what to warn of. The table is in table.go;
// a new attribute is one file and one line there.
//
// It plans nothing and records nothing: internal/change does. Start at Change.
package attr

import (
	"fmt"
	"regexp"
	"strings"
	"syscall"

	"piton/internal/kernel"
	"piton/internal/procfs"
)

// Attribute names what a Change changes; the names are those of JSON, flags and
// the journal.
type Attribute string

// Value is a value of an attribute. String is its notation in JSON, in the journal
// and on the command line; Attribute.Parse reads it.
type Value interface{ String() string }

// Text is the notation of a value, "" for one that is not known.
func Text(v Value) string {
	if v == nil {
		return ""
	}
	return v.String()
}

// Opaque is a value of an attribute that this piton does not know.
type Opaque string

func (o Opaque) String() string { return string(o) }

// Setting is an attribute with the value that is asked for.
type Setting struct {
	Attribute Attribute
	Value     Value
}

// spec is what the table says of one attribute. Functions that are nil stand for
// what is usual.
type spec struct {
	title   string                // in a sentence: "nice value"
	noun    string                // of a file: "IRQ"; several take an s
	path    func() *regexp.Regexp // of a file's whole path; nil: it is a task's
	process bool                  // the whole process's, read and set by its first thread
	group   func(bool) []string   // of a control group: its files, by whether that is of version 2
	cpus    bool                  // the value is a cpuset.Set
	mask    bool                  // and the file holds it as a hexadecimal mask, not as a cpulist
	needs   kernel.Capability     // what a change of others' tasks takes; 0 = CAP_SYS_NICE

	parse func(text string) (Value, error) // errors are UsageErrors
	read  func(m *Machine, o Object) (Value, error)
	write func(w Write) error
	// prepare makes of the wish c.After the value that this object gets, knowing
	// c.Before, or refuses it.
	prepare func(v *View, k Task, c *Change)
	// alike reports whether two values come to the same; nil = they are written the same.
	alike func(a, b Value) bool
	// adjusted recognises a value that the kernel made of c.After, now, and says why
	// in c.Reason.
	adjusted func(m *Machine, c *Change, now Value) bool
	// halfway is Attribute.Halfway; nil = one write sets it.
	halfway func(x, y, now Value) bool
	// absent says that this machine cannot have the change, whatever the rights; "" when
	// the errno is about something else.
	absent func(m *Machine, c Change, errno syscall.Errno) string
	// causes are what errnos say of every change of the attribute.
	causes map[syscall.Errno]string
	// explain says in words why another errno came of c; "" leaves it to what is usual.
	explain func(m *Machine, c Change, errno syscall.Errno) string
	// privileged says what of a change takes the capability, also of one's own tasks, and
	// which limit of at least how much would do instead, if any does; what is "" for nothing.
	privileged func(m *Machine, c Change) (what, limit string, least uint64)
	// final reports whether the kernel takes a change of nobody: only a reboot sets c.After.
	final func(c Change) bool
	// risk warns of what a planned change does.
	risk func(v *View, c Change)
	// words is the value as a sentence has it, "CPUs 0-3"; nil = attribute and value.
	words func(v Value) string
	setBy []string // SetBy
	// command is how the command line offers it; nil: by a command of its own.
	command *Command
}

// Command is how an attribute of tasks is offered on the command line: as a flag
// of piton --headless and piton run, and as a command that takes targets and a value.
type Command struct {
	Flag, Usage                           string // "" for none; "nice", "nice `VALUE`, -20 (first) to 19 (last)"
	Verb, Use, What, Short, Long, Example string
	Words                                 []string // values, or their beginnings, for completion
}

// Title is what a sentence calls the attribute: "affinity of irq 24".
func (a Attribute) Title() string {
	if title := a.spec().title; title != "" {
		return title
	}
	return strings.ReplaceAll(string(a), "-", " ")
}

// Command returns how the command line offers the attribute; nil if it does not.
func (a Attribute) Command() *Command { return a.spec().command }

// SetBy names what else sets the attribute: daemons, and directives of systemd's units.
func (a Attribute) SetBy() []string { return a.spec().setBy }

// Known reports whether this piton knows the attribute.
func (a Attribute) Known() bool { _, ok := table[a]; return ok }

// OfProcess reports whether the attribute is a whole process's and not its threads'.
func (a Attribute) OfProcess() bool { return a.spec().process }

// OfFile reports whether the attribute is one of a file of the kernel, or of several that belong together.
func (a Attribute) OfFile() bool { return a.spec().path != nil }

// Parse reads a value as people type it and as Value.String writes it. Errors are
// UsageErrors.
func (a Attribute) Parse(text string) (Value, error) {
	return a.spec().parse(text)
}

// Alike reports whether two values of the attribute come to the same.
func (a Attribute) Alike(x, y Value) bool {
	if same := a.spec().alike; same != nil && x != nil && y != nil {
		return same(x, y)
	}
	return (x == nil) == (y == nil) && Text(x) == Text(y)
}

// Words is the attribute with a value as a sentence has it: "nice 5", "CPUs 0-3".
func (a Attribute) Words(v Value) string {
	if words := a.spec().words; words != nil && v != nil {
		return words(v)
	}
	return string(a) + " " + Text(v)
}

// spec is the attribute's line of the table. One that only a later piton knows can
// neither be read nor set.
func (a Attribute) spec() *spec {
	if s, ok := table[a]; ok {
		return s
	}
	unknown := Usagef("this piton does not know the attribute %q", string(a))
	return &spec{
		parse: func(string) (Value, error) { return nil, unknown },
		read:  func(*Machine, Object) (Value, error) { return nil, unknown },
		write: func(Write) error { return unknown },
	}
}

// reading is the read of what a system call returns of a thread.
func reading[K any](call func(kernel.Scheduler, kernel.TID) (K, error), value func(K) Value) func(*Machine, Object) (Value, error) {
	return func(m *Machine, o Object) (Value, error) {
		k, err := call(m.Sched, o.TID)
		return value(k), err
	}
}

// Object is what an attribute is of: a thread, or a file of the kernel.
type Object struct {
	PID        kernel.TID `json:"pid,omitempty"`
	TID        kernel.TID `json:"tid,omitempty"`   // 0 for a file
	StartTicks uint64     `json:"start,omitempty"` // of the thread, USER_HZ since boot
	Comm       string     `json:"comm,omitempty"`  // of a file: the handlers of its IRQ, by which a later one differs
	Path       string     `json:"path,omitempty"`  // of a file, "/proc/irq/24/smp_affinity_list"; "" for a task
	Name       string     `json:"name,omitempty"`  // of a file, as users know it: "irq 24 (virtio0-input.0)"
}

// ID is the object's, if it is a thread.
func (o Object) ID() ID { return ID{o.TID, o.StartTicks} }

// IsFile reports whether the object is a file of the kernel and not a task.
func (o Object) IsFile() bool { return o.Path != "" }

// Object is what a sentence calls it: "irq 24 (virtio0-input.0)", "tid 3641".
func (o Object) Object() string {
	switch {
	case o.Name != "":
		return o.Name
	case o.IsFile():
		return o.Path
	}
	return fmt.Sprintf("tid %d", o.TID)
}

// ID names a task also after its number was used again, so far as /proc can.
type ID struct {
	TID        kernel.TID
	StartTicks uint64
}

// Key names one attribute of one object.
type Key struct {
	ID
	Attribute Attribute
	Path      string
}

// Task is one thread as it was when it was looked at.
type Task struct {
	PID, TID   kernel.TID
	StartTicks uint64
	Comm       string
	State      byte
	Flags      uint32 // PF_* of include/linux/sched.h
	Threads    int    // of its process; 0 = not known
}

// ID returns the task's.
func (k Task) ID() ID { return ID{k.TID, k.StartTicks} }

// Object is the task as what an attribute is of.
func (k Task) Object() Object {
	return Object{PID: k.PID, TID: k.TID, StartTicks: k.StartTicks, Comm: k.Comm}
}

// Ended reports whether the task is exiting, a zombie, or has been reaped.
func (k Task) Ended() bool {
	return k.State == 'Z' || k.State == 'X' || k.Flags&procfs.FlagExiting != 0
}

// IsKernel reports whether it is a kernel thread.
func (k Task) IsKernel() bool { return k.Flags&procfs.FlagKernelThread != 0 }

// Movable reports whether the kernel lets its affinity be set at all.
func (k Task) Movable() bool { return k.Flags&procfs.FlagNoSetAffinity == 0 }

// Write is one value on its way to the kernel.
type Write struct {
	*Machine
	Task   kernel.Task // of a task
	Files  kernel.SettingsWriter
	Change Change
}

// Set gives the change's attribute the value After.
func (w Write) Set() error {
	c := w.Change
	if c.After == nil {
		return fmt.Errorf("no value to set for the %s", c.Attribute.Title())
	}
	if !c.Attribute.OfFile() && !c.IsFile() {
		return c.Attribute.spec().write(w)
	}
	if err := checkPath(c.Attribute, c.Path); err != nil {
		return err
	}
	if write := c.Attribute.spec().write; write != nil {
		return write(w)
	}
	return w.Files.WriteSetting(c.Path, encode(c.Attribute, c.After)+"\n")
}

// Read returns the value that an attribute of an object has now.
func (m *Machine) Read(a Attribute, o Object) (Value, error) {
	if !a.OfFile() && !o.IsFile() {
		return a.spec().read(m, o)
	}
	if err := checkPath(a, o.Path); err != nil {
		return nil, err
	}
	if read := a.spec().read; read != nil {
		return read(m, o)
	}
	text, err := m.Files.ReadSetting(o.Path)
	if err != nil {
		return nil, err
	}
	return decode(a, text)
}
