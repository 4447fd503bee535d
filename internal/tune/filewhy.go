package tune

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	"piton/internal/cpuset"
	"piton/internal/irq"
	"piton/internal/kernel"
)

// markOf is mark for the change of a task or of a file.
func (t *Tuner) markOf(c Change, err error) error {
	switch {
	case !c.file():
		return t.markTask(c, err)
	case err == nil || errors.Is(err, ErrGone):
		return err
	case errors.Is(err, syscall.ENOENT):
		return markedError{err, ErrGone}
	case errors.Is(err, syscall.EROFS), c.Attribute == IRQAffinity && t.keptByDriver(err):
		return markedError{err, ErrNotSupported}
	case errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EACCES):
		return markedError{err, ErrNotPermitted}
	}
	return err
}

// keptByDriver recognises the refusal of a line that its driver manages: EIO, and
// since Linux 6.12 EPERM for callers who may write the file
// (kernel/irq/proc.c, write_irq_affinity).
func (t *Tuner) keptByDriver(err error) bool {
	return errors.Is(err, syscall.EIO) || errors.Is(err, syscall.EPERM) && t.writesFiles()
}

// writesFiles reports whether the caller may write root's files.
func (t *Tuner) writesFiles() bool {
	return t.o.EUID() == 0 || t.rights().Has(kernel.CapDACOverride)
}

// explainFile says why the kernel refused a change of a file.
func (t *Tuner) explainFile(c Change, err error) string {
	cpus, _ := cpuset.Parse(c.After)
	var usage UsageError
	switch {
	case errors.As(err, &usage):
		return usage.Error()
	case absentFile(err):
		return missing(c)
	case errors.Is(err, syscall.EROFS):
		return "the file is mounted read-only here, as in a container: run piton on the host"
	case c.Attribute == IRQAffinity && t.keptByDriver(err):
		return irq.Managed.Why()
	case errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EACCES):
		return t.explainFileRights(c)
	case errors.Is(err, syscall.ENOSPC) && c.Attribute == IRQAffinity:
		return fmt.Sprintf("%s %s no interrupt vector left; choose another, or more than one", cpus.InWords(), hasHave(cpus))
	case errors.Is(err, syscall.EAGAIN) && c.Attribute == AutogroupNice:
		return "the kernel takes one such change in a tenth of a second from ordinary users: try again"
	case fileAttributes[c.Attribute].cpus && (errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ERANGE) || errors.Is(err, syscall.EOVERFLOW)):
		return t.explainFileCPUs(c, cpus)
	case errors.Is(err, syscall.EINVAL), errors.Is(err, syscall.ERANGE):
		return fmt.Sprintf("the kernel does not accept %q there", c.After)
	}
	return err.Error()
}

// explainFileCPUs is for CPUs that the kernel does not take: ERANGE for numbers
// that the machine cannot have, EINVAL when none of them is online, or for RPS
// when all of them are isolated (net/core/net-sysfs.c, rps_cpumask_housekeeping).
func (t *Tuner) explainFileCPUs(c Change, cpus cpuset.Set) string {
	online, err := t.online()
	if err == nil && !cpus.SubsetOf(online) {
		return absent(cpus.AndNot(online), online)
	}
	if c.Attribute == RPSCPUs {
		return fmt.Sprintf("the kernel does not process packets on %s: isolated at boot (isolcpus=, nohz_full=)", cpus.InWords())
	}
	return "the kernel does not accept " + cpus.InWords()
}

// missing says that the object of a file is not there.
func missing(c Change) string {
	switch c.Attribute {
	case XPSCPUs:
		return c.Object() + " has no such setting: the interface has a single sending queue, or is gone"
	case Sysctl:
		return fmt.Sprintf("this kernel has no %s", c.Object())
	case AutogroupNice:
		return fmt.Sprintf("there is no process %d, or it is no longer the one that was meant", processOf(c.Path))
	case IRQAffinity, RPSCPUs, RPSFlows:
		return c.Object() + " is not there, or no longer the one that was meant"
	}
	return fmt.Sprintf("this kernel has no %s", c.Path)
}

// explainFileRights tells which rights would do: the files are root's, and what
// belongs to the network asks for CAP_NET_ADMIN as well.
func (t *Tuner) explainFileRights(c Change) string {
	needed := "CAP_DAC_OVERRIDE"
	switch {
	case c.Attribute == AutogroupNice:
		needed = "CAP_SYS_NICE"
	case strings.HasPrefix(c.Path, "/sys/class/net/"):
		needed += " and CAP_NET_ADMIN"
	}
	switch {
	case c.Attribute == Sysctl && t.o.Files.ReadOnly(c.Path):
		return fmt.Sprintf("%s is for reading only: the kernel lets nobody write it", c.Path)
	case t.o.EUID() == 0:
		return fmt.Sprintf("%s belongs to the host; this root lacks %s, as in a container: run piton on the host", c.Path, needed)
	}
	return fmt.Sprintf("%s is root's to write: run piton with sudo", c.Path)
}

func hasHave(cpus cpuset.Set) string {
	if cpus.Len() == 1 {
		return "has"
	}
	return "have"
}
