package attr

import (
	"syscall"

	"piton/internal/cpuset"
	"piton/internal/irq"
	"piton/internal/kernel"
	"piton/internal/pattern"
)

// The attributes of interrupts, cpuset.Sets (Documentation/core-api/irq/irq-affinity.rst).
const (
	IRQAffinity        Attribute = "irq-affinity"         // CPUs of an interrupt line
	DefaultIRQAffinity Attribute = "default-irq-affinity" // those that new lines get
)

var irqAffinity = spec{
	path: pattern.Whole(`/proc/irq/[0-9]+/smp_affinity_list`), parse: parseCPUs, cpus: true,
	title: "affinity", noun: "IRQ", adjusted: keptCPUs,
	prepare: func(v *View, k Task, c *Change) {
		if control := irq.New(v.Proc.Root()).Control(lineOf(c.Path)); control == irq.Managed || control == irq.Fixed {
			c.Refuse("%s", control.Why())
			c.Err = ErrNotSupported
			return
		}
		prepareMask(v, k, c)
	},
	// A line that its driver manages: EIO, and since Linux 6.12 EPERM for callers who
	// may write the file (kernel/irq/proc.c, write_irq_affinity).
	absent: func(m *Machine, _ Change, errno syscall.Errno) string {
		if errno == syscall.EIO || errno == syscall.EPERM && (m.EUID() == 0 || m.Has(kernel.CapDACOverride)) {
			return irq.Managed.Why()
		}
		return ""
	},
	causes: map[syscall.Errno]string{syscall.ENOSPC: "those CPUs have no interrupt vector left; choose others, or more of them"},
	setBy:  []string{"irqbalance", "tuned"},
}

var defaultIRQAffinity = spec{
	path: pattern.Whole(`/proc/irq/default_smp_affinity`), parse: parseCPUs, cpus: true, mask: true,
	title: "affinity", noun: "default of new IRQs", prepare: prepareMask, adjusted: keptCPUs, setBy: []string{"tuned"},
}

// SetIRQ asks for the CPUs of an interrupt line.
func SetIRQ(line int, name string, cpus cpuset.Set) FileSetting {
	return SetFile(IRQAffinity, irq.AffinityFile(line), name, cpus)
}
