package attr

import (
	"errors"
	"fmt"
	"syscall"

	"piton/internal/cpuset"
	"piton/internal/irq"
	"piton/internal/pattern"
)

// The attributes of interrupts, cpuset.Sets (Documentation/core-api/irq/irq-affinity.rst).
const (
	IRQAffinity        Attribute = "irq-affinity"         // CPUs of an interrupt line
	DefaultIRQAffinity Attribute = "default-irq-affinity" // those that new lines get
)

var irqAffinity = spec{
	path: pattern.Whole(`/proc/irq/[0-9]+/smp_affinity_list`), parse: parseCPUs, cpus: true,
	title: "affinity", noun: [2]string{"IRQ", "IRQs"}, adjusted: keptCPUs,
	prepare: func(v *View, _ Task, c *Change) {
		if control := irq.New(v.Proc.Root()).Control(lineOf(c.Path)); control == irq.Managed || control == irq.Fixed {
			c.Refuse("%s", control.Why())
			c.Err = ErrNotSupported
		}
	},
	absent: func(m *Machine, _ Change, err error) string {
		if keptByDriver(m, err) {
			return irq.Managed.Why()
		}
		return ""
	},
	explain: func(_ *Machine, c Change, err error) string {
		if !errors.Is(err, syscall.ENOSPC) {
			return ""
		}
		cpus, verb := CPUs(c.After), "have"
		if cpus.Len() == 1 {
			verb = "has"
		}
		return fmt.Sprintf("%s %s no interrupt vector left; choose another, or more than one", cpus.InWords(), verb)
	},
	setBy: []string{"irqbalance", "tuned"},
}

var defaultIRQAffinity = spec{
	path: pattern.Whole(`/proc/irq/default_smp_affinity`), parse: parseCPUs, cpus: true,
	title: "affinity", noun: [2]string{"default of new IRQs", "defaults of new IRQs"}, adjusted: keptCPUs,
	setBy: []string{"tuned"},
}

// keptByDriver recognises the refusal of a line that its driver manages: EIO, and
// since Linux 6.12 EPERM for callers who may write the file
// (kernel/irq/proc.c, write_irq_affinity).
func keptByDriver(m *Machine, err error) bool {
	return errors.Is(err, syscall.EIO) || errors.Is(err, syscall.EPERM) && m.writesFiles()
}

// SetIRQ asks for the CPUs of an interrupt line.
func SetIRQ(line int, name string, cpus cpuset.Set) FileSetting {
	return FileSetting{Setting: Setting{IRQAffinity, cpus}, Path: irq.AffinityFile(line), Name: name}
}

// SetFile asks for a value of a file.
func SetFile(a Attribute, path, name string, v Value) FileSetting {
	return FileSetting{Setting: Setting{a, v}, Path: path, Name: name}
}
