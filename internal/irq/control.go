package irq

import (
	"strings"

	"piton/internal/kernel/tree"
	"piton/internal/procfs"
)

// Control is who says where an interrupt line goes.
type Control uint8

// The kinds of control.
const (
	ControlUnknown Control = iota // this kernel does not tell beforehand
	Settable                      // smp_affinity may be written
	Managed                       // its driver spread the queues; writes are refused
	Fixed                         // its chip cannot route it, or the kernel keeps it (a timer)
)

// String is the word that tables and JSON use.
func (c Control) String() string {
	switch c {
	case Settable:
		return "settable"
	case Managed:
		return "managed"
	case Fixed:
		return "fixed"
	}
	return "unknown"
}

// Why says in a sentence what the control means for somebody who wants to move the line.
func (c Control) Why() string {
	switch c {
	case Settable:
		return "its affinity can be set"
	case Managed:
		return "its driver manages it: the kernel spread the device's queues over the CPUs and refuses any other affinity"
	case Fixed:
		return "the kernel refuses to move it: a timer, or a line that its chip cannot route"
	}
	return "whether it can be moved is not told by this kernel (Linux before 6.12) and shows when it is tried"
}

// modes says whether the modes of the affinity files mean anything.
type modes bool

// readModes asks the release: from Linux 6.12 on smp_affinity is read-only (0444) where
// a write would be refused (kernel/irq/proc.c, register_irq_proc); 6.1 has it 0644 for every
// line. A distribution that took the change back to an older one is recognised by a PC's
// timer and cascade, which can never be routed.
func (f FS) readModes() modes {
	return modes(procfs.ReleaseAtLeast(f.proc, 6, 12) || f.readOnly(0) == yes || f.readOnly(2) == yes)
}

// answer is yes, no, or that there is no file to ask.
type answer uint8

const (
	noFile answer = iota
	yes
	no
)

// readOnly reports whether nobody may write a line's affinity.
func (f FS) readOnly(irq int) answer {
	info, err := tree.Stat(f.line(irq, "smp_affinity_list"))
	switch {
	case err != nil:
		return noFile
	case info.Mode().Perm()&0o222 == 0:
		return yes
	}
	return no
}

// control judges a line by its file's mode. A message-signalled line can always
// be routed, so that a refusal is its driver's.
func (f FS) control(irq int, chip string, actions []string) Control {
	switch only := f.readOnly(irq); {
	case only == yes && strings.Contains(chip, "MSI"):
		return Managed
	case only == yes:
		return Fixed
	case only == no && bool(f.modes()):
		return Settable
	case only == no && isNVMeQueue(actions):
		return Managed
	}
	return ControlUnknown
}

// Control reads who says where one line goes, in microseconds; it says nothing
// about the caller's rights.
func (f FS) Control(irq int) Control {
	chip, _ := procfs.Text(f.attribute(irq, "chip_name"))
	return f.control(irq, chip, splitActions(f.Name(irq)))
}

// isNVMeQueue reports whether a disk's queue raises the line: the driver has
// spread those itself since Linux 4.8 (drivers/nvme/host/pci.c, PCI_IRQ_AFFINITY).
func isNVMeQueue(actions []string) bool {
	return len(actions) == 1 && strings.HasPrefix(actions[0], "nvme") && ParseQueue(actions[0]).Flow == QueueIO
}

// Movable says whether a line's affinity can be set; known is false where the
// kernel does not tell before it is tried. It costs a few microseconds, and says
// nothing about the caller's rights.
func (f FS) Movable(irq int) (movable, known bool) {
	control := f.Control(irq)
	return control == Settable, control != ControlUnknown
}
