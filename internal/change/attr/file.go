package attr

import (
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"syscall"

	"piton/internal/cpuset"
	"piton/internal/irq"
)

// FileSetting is a value to give to a file below /proc or /sys.
type FileSetting struct {
	Setting
	Path string // absolute: "/proc/irq/24/smp_affinity_list"
	// Name is what users call it: "irq 24 (virtio0-input.0)", "eth0 rx-0",
	// "kernel.sched_rt_runtime_us". The path stands in where it is "".
	Name string
}

// SetFile asks for a value of a file.
func SetFile(a Attribute, path, name string, v Value) FileSetting {
	return FileSetting{Setting{a, v}, path, name}
}

// Count is a number of flows or entries.
type Count uint64

func (c Count) String() string { return strconv.FormatUint(uint64(c), 10) }

// Line is a line of words, with one blank between them.
type Line string

func (l Line) String() string { return string(l) }

// Check says whether a setting is one that a plan takes: the error is a UsageError.
func (s FileSetting) Check() error {
	if err := checkPath(s.Attribute, s.Path); err != nil {
		return err
	}
	if _, err := s.Attribute.Parse(Text(s.Value)); err != nil {
		return Usagef("%s of %s: %v", s.Attribute.Title(), Object{Path: s.Path, Name: s.Name}.Object(), err)
	}
	return nil
}

// checkPath returns a UsageError unless the path is one of the attribute's files:
// nothing can make piton write elsewhere.
func checkPath(a Attribute, file string) error {
	s := a.spec()
	switch {
	case s.path == nil:
		return Usagef("%q is not an attribute of a file", string(a))
	case path.Clean(file) != file || !s.path().MatchString(file):
		return Usagef("%q is not a file of %s", file, a)
	case a == Sysctl && runsProgram(file):
		return Usagef("%s names a program that the kernel runs: piton does not set it", file)
	}
	return nil
}

// decode reads a value as the kernel writes it.
func decode(a Attribute, text string) (Value, error) {
	switch s := a.spec(); {
	case s.mask:
		return cpuset.ParseMask(text)
	case s.cpus:
		return cpuset.Parse(text)
	default:
		return s.parse(text)
	}
}

// encode is a value as the kernel takes it.
func encode(a Attribute, v Value) string {
	if a.spec().mask {
		return CPUs(v).Mask()
	}
	return v.String()
}

// parseAnyCPUs takes an empty list, too: it is off.
func parseAnyCPUs(text string) (Value, error) {
	set, err := cpuset.Parse(text)
	if err != nil {
		return nil, Usagef("%v", err)
	}
	return set, nil
}

func parseCount(text string) (Value, error) {
	n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 31)
	if err != nil {
		return nil, Usagef("%q is not a count", text)
	}
	return Count(n), nil
}

// Identify fills in the handlers of an interrupt line, or the number of a queue's interface or of a
// control group, by which a file differs from a later one with the same path.
func (m *Machine) Identify(a Attribute, o *Object) {
	fs := irq.New(m.Proc.Root())
	switch a {
	case IRQAffinity:
		o.Comm = fs.Name(lineOf(o.Path))
	case RPSCPUs, XPSCPUs, RPSFlows:
		if link := fs.Link(interfaceOf(o.Path)); link.Index != 0 {
			o.Comm = fmt.Sprintf("interface %d", link.Index)
		}
	case Weight, Quota:
		o.Comm = m.groupID(o.Path)
	}
}

// SameFile makes sure that the file's path still means its object.
func (m *Machine) SameFile(c Change) error {
	now := Object{Path: c.Path}
	unknown := c.Comm == "" && c.Attribute != IRQAffinity // recorded before queues had an identity
	if m.Identify(c.Attribute, &now); now.Comm != c.Comm && !unknown {
		if now.Comm == "" {
			return fmt.Errorf("%s: %w", c.Object.Object(), ErrGone)
		}
		return fmt.Errorf("%s is now another one, %s: %w", c.Object.Object(), Printable(now.Comm), ErrGone)
	}
	return nil
}

// lineOf is the number of the interrupt line of "/proc/irq/24/smp_affinity_list".
func lineOf(file string) int {
	n, _ := strconv.Atoi(path.Base(path.Dir(file)))
	return n
}

// interfaceOf is the interface of "/sys/class/net/eth0/queues/rx-0/rps_cpus".
func interfaceOf(file string) string { return path.Base(path.Dir(path.Dir(path.Dir(file)))) }

// prepareMask refuses CPUs of which none is online, and warns of those that are not.
func prepareMask(v *View, _ Task, c *Change) { v.checkOnline(c, c.Object.Object()+": ", nil) }

// roundedUp recognises a count that the kernel rounded up to a power of two.
func roundedUp(_ *Machine, c *Change, now Value) bool {
	asked, got := c.After.(Count), now.(Count)
	c.Reason = fmt.Sprintf("the kernel rounded %s up to a power of two", asked)
	return got > asked && got < 2*asked
}

// explainFile says why the kernel refused a change of a file.
func (m *Machine) explainFile(c Change, err error) string {
	errno := errnoOf(err)
	invalid := errno == syscall.EINVAL || errno == syscall.ERANGE || errno == syscall.EOVERFLOW
	usage, isUsage := errors.AsType[UsageError](err)
	switch {
	case isUsage:
		return usage.Error()
	case errors.Is(err, ErrGone), errno == syscall.ENOENT:
		return fmt.Sprintf("%s is not there, or no longer the one that was meant: this kernel has no %s", c.Object.Object(), c.Path)
	case errno == syscall.EROFS:
		return "the file is mounted read-only here, as in a container: run piton on the host"
	case isPermission(errno) && m.EUID() != 0:
		return c.Path + " is root's to write: run piton with sudo"
	case isPermission(errno):
		needed := "CAP_DAC_OVERRIDE"
		if strings.HasPrefix(c.Path, "/sys/class/net/") {
			needed += " and CAP_NET_ADMIN"
		}
		return fmt.Sprintf("%s belongs to the host; this root lacks %s, as in a container: run piton on the host", c.Path, needed)
	case c.Attribute.spec().cpus && invalid:
		// ERANGE for numbers that the machine cannot have, EINVAL when none is online.
		if online, err := m.Online(); err == nil && !CPUs(c.After).SubsetOf(online) {
			return Absent(CPUs(c.After).AndNot(online), online)
		}
		return "the kernel does not accept " + CPUs(c.After).InWords()
	case invalid:
		return fmt.Sprintf("the kernel does not accept %q there", Text(c.After))
	}
	return err.Error()
}
