// Package profile keeps how a machine is tuned in a file: which tasks, interrupt
// lines, queues and kernel settings have which values. Items are found by what
// stays the same over restarts and boots, by names, command lines, cgroups and
// devices; never by numbers.
//
// Parse reads a file, Capture makes one of a machine's State, and Resolve says
// what a profile wants of a State. It changes nothing itself: Requests are for
// internal/change. Start at Profile.
package profile

import (
	"fmt"
	"slices"
	"strings"

	"piton/internal/change/attr"
	"piton/internal/taskfile"
)

// Version of the format that Encode writes and Parse reads.
const Version = 1

// Profile is what a file asks for. Later items win over earlier ones where both
// set the same of one task.
type Profile struct {
	Version   int            `toml:"version"`
	Isolation Isolation      `toml:"isolation"`
	Machine   Machine        `toml:"machine"`
	Tasks     []Task         `toml:"task"`
	Kthreads  []Task         `toml:"kthread"`
	IRQs      []IRQ          `toml:"irq"`
	Queues    []Queue        `toml:"queue"`
	Sysctl    map[string]any `toml:"sysctl"`

	// Origin says what kind of file it was read from, in words.
	Origin string `toml:"-"`
	// Notes are what the reader of a foreign file, or Capture, could not express.
	Notes []string `toml:"-"`

	any     []Task   // of rtctl files: user tasks and kernel threads alike
	sysctls []Sysctl // Sysctl, checked and in order
}

// Isolation keeps CPUs free of everything that can be moved.
type Isolation struct {
	CPUs string `toml:"cpus"` // a CPUS expression; "" for no isolation

	line int
}

// Machine is what there is once.
type Machine struct {
	DefaultIRQAffinity string `toml:"default_irq_affinity"` // /proc/irq/default_smp_affinity: what new lines get
	WorkqueueCPUs      string `toml:"workqueue_cpus"`       // of unbound workqueues

	line int
}

// Kind says which tasks an item is about.
type Kind uint8

// The kinds.
const (
	UserTasks Kind = iota
	KernelThreads
	AllTasks
)

// Task is settings for the tasks that fit all matchers given. What an item does not
// set stays as it is.
type Task struct {
	Name    string `toml:"name"`    // of the process: a name, a glob or /regex/, as a TARGET
	Thread  string `toml:"thread"`  // only its threads of this name: a name, a glob or /regex/
	Command string `toml:"command"` // a regular expression on the command line; a kernel thread's is [its name]
	Cgroup  string `toml:"cgroup"`  // a glob on the cgroup's path

	CPUs string `toml:"cpus"` // a CPUS expression
	// CPUsEach has one expression for each task that fits: the first that is
	// not held yet for the first that holds none, and from the start again.
	CPUsEach []string      `toml:"cpus_each"`
	Nice     taskfile.Text `toml:"nice"`
	Policy   taskfile.Text `toml:"policy"`
	IOPrio   taskfile.Text `toml:"ioprio"`
	Slice    taskfile.Text `toml:"slice"`
	UClamp   taskfile.Text `toml:"uclamp"`
	Weight   taskfile.Text `toml:"weight"` // of its control group
	Quota    taskfile.Text `toml:"quota"`  // of its control group

	Optional bool `toml:"optional"` // it is no error that nothing fits

	kind Kind
	line int
}

// settings are those of the item but for its CPUs, in the order of a file.
func (t *Task) settings() []taskfile.Setting {
	return []taskfile.Setting{
		{Attribute: attr.Nice, Text: &t.Nice},
		{Attribute: attr.Policy, Text: &t.Policy},
		{Attribute: attr.IOPrio, Text: &t.IOPrio},
		{Attribute: attr.Slice, Text: &t.Slice},
		{Attribute: attr.Clamp, Text: &t.UClamp},
		{Attribute: attr.Weight, Text: &t.Weight},
		{Attribute: attr.Quota, Text: &t.Quota},
	}
}

// sets reports whether the item sets anything.
func (t *Task) sets() bool {
	return t.CPUs != "" || len(t.CPUsEach) > 0 || slices.ContainsFunc(t.settings(), taskfile.Setting.Given)
}

// IRQ is the affinity of the interrupt lines that fit all matchers given.
type IRQ struct {
	Action   string `toml:"action"` // a handler's name, or a glob: "virtio2-input.0"
	Device   string `toml:"device"` // an interface, disk or PCI address, or a glob
	CPUs     string `toml:"cpus"`
	Optional bool   `toml:"optional"`

	line int
}

// Queue is the steering of a network interface's queues
// (Documentation/networking/scaling.rst). "" takes the steering away; nil leaves it.
type Queue struct {
	NIC      string  `toml:"nic"`   // the interface's name, or a glob
	Queue    string  `toml:"queue"` // "rx-0", "tx-3", or a glob
	RPS      *string `toml:"rps"`
	RPSFlows *int    `toml:"rps_flows"`
	XPS      *string `toml:"xps"`
	Optional bool    `toml:"optional"`

	line int
}

// Sysctl is one kernel setting below /proc/sys.
type Sysctl struct {
	Name     string // dotted, "net.ipv4.tcp_mem", or a glob; a / stands for a dot in a name (sysctl(8))
	Value    string // words parted by one blank
	Optional bool   // a kernel without it is no error
	line     int
}

// Error is a mistake in a file, with its position.
type Error = taskfile.Error

// label names an item in messages: "[[task]] of line 12".
func label(section string, line int) string {
	if line == 0 {
		return section
	}
	return fmt.Sprintf("%s of line %d", section, line)
}

// Label names the item in messages.
func (t *Task) Label() string {
	switch t.kind {
	case KernelThreads:
		return label("[[kthread]]", t.line)
	case AllTasks:
		return fmt.Sprintf("line %d", t.line)
	}
	return label("[[task]]", t.line)
}

// Label names the item in messages.
func (q *IRQ) Label() string { return label("[[irq]]", q.line) }

// Label names the item in messages.
func (q *Queue) Label() string { return label("[[queue]]", q.line) }

// Matchers is how the item finds its tasks, in words.
func (t *Task) Matchers() string {
	return words("name", t.Name, "thread", t.Thread, "command", t.Command, "cgroup", t.Cgroup)
}

// Matchers is how the item finds its lines, in words.
func (q *IRQ) Matchers() string { return words("action", q.Action, "device", q.Device) }

// Matchers is how the item finds its queues, in words.
func (q *Queue) Matchers() string { return words("interface", q.NIC, "queue", q.Queue) }

func words(pairs ...string) string {
	var out []string
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			out = append(out, fmt.Sprintf("%s %q", pairs[i], pairs[i+1]))
		}
	}
	return strings.Join(out, " and ")
}

// Items is every item about tasks, in the order in which they take effect.
func (p *Profile) items() []*Task {
	var out []*Task
	for _, list := range [][]Task{p.any, p.Kthreads, p.Tasks} {
		for i := range list {
			out = append(out, &list[i])
		}
	}
	return out
}

// Summary counts what a profile has, in words: "3 tasks, 1 interrupt line".
func (p *Profile) Summary() string {
	var out []string
	count := func(n int, one, many string) {
		switch n {
		case 0:
		case 1:
			out = append(out, "1 "+one)
		default:
			out = append(out, fmt.Sprintf("%d %s", n, many))
		}
	}
	if p.Isolation.CPUs != "" {
		out = append(out, "CPUs "+p.Isolation.CPUs+" isolated")
	}
	count(len(p.Tasks)+len(p.any), "item of tasks", "items of tasks")
	count(len(p.Kthreads), "of kernel threads", "of kernel threads")
	count(len(p.IRQs), "of interrupts", "of interrupts")
	count(len(p.Queues), "of queues", "of queues")
	count(len(p.sysctls), "kernel setting", "kernel settings")
	if len(out) == 0 {
		return "nothing: everything is as Linux starts"
	}
	return strings.Join(out, ", ")
}
