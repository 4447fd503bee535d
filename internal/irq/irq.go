// Package irq reads what interrupts there are below a root path: how often each
// CPU took them, where they are asked to go and where they go, which device,
// driver and queue raises them, which task handles them, and whether their
// affinity can be set at all. Next makes rates of two readings.
//
// It changes nothing. Start at Reader for everything at once, at FS for single
// facts, and at Monitor for a table that is read again and again.
package irq

import (
	"path/filepath"
	"sync"
	"time"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/procfs"
)

// FS is the /proc and /sys below a root path, as far as interrupts go. It may be
// used by several goroutines.
type FS struct {
	proc  procfs.FS
	modes func() modes // the same as long as the kernel runs, so read once
}

// New returns the FS of a root: "/" or "" for this machine.
func New(root string) FS {
	f := FS{proc: procfs.New(root)}
	f.modes = sync.OnceValue(f.readModes)
	return f
}

// sys is the path of a file below the root's /sys.
func (f FS) sys(elem ...string) string {
	return filepath.Join(append([]string{f.proc.Root(), "sys"}, elem...)...)
}

// Mask is a set of CPUs that may be unknown: OK is false when its file is
// missing or cannot be read.
type Mask struct {
	cpuset.Set
	OK bool
}

// IRQ is one interrupt line that has a number.
type IRQ struct {
	Number int
	Counts []uint64 // by the CPUs of the Snapshot, nil unknown; 32 bits wide in the kernel
	Facts
	Requested Mask // smp_affinity_list
	Effective Mask // where it really goes; lags until the next interrupt
	Spurious  Spurious
}

// Facts are what stays the same while a line has its handlers.
type Facts struct {
	Text    string   // the end of its line in /proc/interrupts
	Chip    string   // "PCI-MSIX-0000:00:03.0", "IO-APIC"
	HWIRQ   string   // the line's number at its chip
	Type    string   // "edge", "level"
	Actions []string // the handlers' names, "virtio2-input.0"
	Hint    Mask     // what the driver suggests; empty for nothing
	Node    int      // NUMA node of the device, -1 unknown
	Control Control
	Device  Device
	Queue   Queue
	Threads []Thread // that run its handlers
}

// Spurious is /proc/irq/N/spurious: how many of the last (up to 100,000)
// interrupts no handler knew (kernel/irq/spurious.c). OK is false without the file.
type Spurious struct {
	Count, Unhandled uint64
	OK               bool
}

// Thread is the task of a threaded handler, "irq/24-eth0".
type Thread struct {
	TID  kernel.TID
	Comm string
	// Bound: the kernel alone moves it, with its line (since Linux 7).
	Bound bool
}

// Named is a line of /proc/interrupts that has a name, LOC or RES, or one of
// /proc/softirqs.
type Named struct {
	Name   string
	Counts []uint64 // by the CPUs of the Snapshot; a single one where it is not counted by CPU (ERR); nil unknown
	Text   string   // what it is; softirqs have none
}

// Snapshot is what the kernel said of its interrupts at one time.
type Snapshot struct {
	At       time.Duration // CLOCK_MONOTONIC
	CPUs     []cpuset.CPU  // online ones, in rising order
	IRQs     []IRQ
	Named    []Named
	SoftIRQs []Named
	Default  Mask  // default_smp_affinity: what new lines get
	Odd      error // a line was not understood; the others are sound
}
