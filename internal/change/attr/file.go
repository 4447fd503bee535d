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
	"piton/internal/kernel"
)

// FileSetting is a value to give to a file below /proc or /sys.
type FileSetting struct {
	Setting
	Path string // absolute: "/proc/irq/24/smp_affinity_list"
	// Name is what users call it: "irq 24 (virtio0-input.0)", "eth0 rx-0",
	// "kernel.sched_rt_runtime_us". The path stands in where it is "".
	Name string
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

// masks are the attributes whose files hold a hexadecimal mask and not a cpulist.
func (a Attribute) isMask() bool { return a.spec().cpus && a != IRQAffinity }

// decode reads a value as the kernel writes it.
func decode(a Attribute, text string) (Value, error) {
	switch {
	case a.isMask():
		return cpuset.ParseMask(text)
	case a.spec().cpus:
		return cpuset.Parse(text)
	}
	return a.spec().parse(text)
}

// encode is a value as the kernel takes it.
func encode(a Attribute, v Value) string {
	if a.isMask() {
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

// Identify fills in what tells the object of a file from a later one with the same
// path: a line's handlers.
func (m *Machine) Identify(a Attribute, o *Object) {
	if a == IRQAffinity {
		o.Comm = irq.New(m.Proc.Root()).Name(lineOf(o.Path))
	}
}

// SameFile makes sure that the file's path still means its object.
func (m *Machine) SameFile(c Change) error {
	now := Object{Path: c.Path}
	if m.Identify(c.Attribute, &now); now.Comm != c.Comm {
		return fmt.Errorf("%s is now another one, %s: %w", c.Object.Object(), Printable(now.Comm), ErrGone)
	}
	return nil
}

// lineOf is the number of the interrupt line of "/proc/irq/24/smp_affinity_list".
func lineOf(file string) int {
	n, _ := strconv.Atoi(path.Base(path.Dir(file)))
	return n
}

// PrepareFile refuses what the kernel is known to refuse: lines that cannot be
// routed, and CPUs that are not there.
func (v *View) PrepareFile(c *Change) {
	if prepare := c.Attribute.spec().prepare; prepare != nil {
		if prepare(v, Task{}, c); c.Status != Planned {
			return
		}
	}
	if !c.Attribute.spec().cpus {
		return
	}
	want, had := CPUs(c.After), CPUs(c.Before)
	online, err := v.OnlineCPUs()
	switch {
	case err != nil || want.SubsetOf(online):
	case want.And(online).Empty():
		c.Refuse("%s", Absent(want, online))
	case !want.SubsetOf(online.Or(had)): // those that it has already are no news
		v.Warn(Note, "%s: %s", c.Object.Object(), Absent(want.AndNot(online), online))
	}
}

// keptCPUs recognises what the kernel keeps of a mask: the CPUs that can be used.
func keptCPUs(m *Machine, c *Change, now Value) bool {
	got, asked := CPUs(now), CPUs(c.After)
	if got.Empty() || !got.SubsetOf(asked) || got.Equal(CPUs(c.Before)) {
		return false
	}
	missing := asked.AndNot(got)
	c.Reason = fmt.Sprintf("%s %s in force: the kernel left out %s", got.InWords(), isAre(got.Len()), missing)
	if online, err := m.Online(); err == nil && missing.And(online).Empty() {
		c.Reason = fmt.Sprintf("%s %s in force: %s", got.InWords(), isAre(got.Len()), Absent(missing, online))
	}
	return true
}

// roundedUp recognises a count that the kernel rounded up to a power of two.
func roundedUp(_ *Machine, c *Change, now Value) bool {
	asked, got := c.After.(Count), now.(Count)
	c.Reason = fmt.Sprintf("the kernel rounded %s up to a power of two", asked)
	return got > asked && got < 2*asked
}

// explainFile says why the kernel refused a change of a file.
func (m *Machine) explainFile(c Change, err error) string {
	var usage UsageError
	s := c.Attribute.spec()
	switch {
	case errors.As(err, &usage):
		return usage.Error()
	case errors.Is(err, ErrGone), errors.Is(err, syscall.ENOENT):
		return missing(c)
	case errors.Is(err, syscall.EROFS):
		return "the file is mounted read-only here, as in a container: run piton on the host"
	case isPermission(err):
		return m.explainFileRights(c)
	case s.cpus && (errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ERANGE) || errors.Is(err, syscall.EOVERFLOW)):
		// ERANGE for numbers that the machine cannot have, EINVAL when none is online.
		if online, err := m.Online(); err == nil && !CPUs(c.After).SubsetOf(online) {
			return Absent(CPUs(c.After).AndNot(online), online)
		}
		return "the kernel does not accept " + CPUs(c.After).InWords()
	case errors.Is(err, syscall.EINVAL), errors.Is(err, syscall.ERANGE):
		return fmt.Sprintf("the kernel does not accept %q there", Text(c.After))
	}
	return err.Error()
}

// missing says that the object of a file is not there.
func missing(c Change) string {
	switch c.Attribute {
	case XPSCPUs:
		return c.Object.Object() + " has no such setting: the interface has a single sending queue, or is gone"
	case Sysctl:
		return fmt.Sprintf("this kernel has no %s", c.Object.Object())
	case IRQAffinity, RPSCPUs, RPSFlows:
		return c.Object.Object() + " is not there, or no longer the one that was meant"
	}
	return fmt.Sprintf("this kernel has no %s", c.Path)
}

// explainFileRights tells which rights would do: the files are root's, and what
// belongs to the network asks for CAP_NET_ADMIN as well.
func (m *Machine) explainFileRights(c Change) string {
	needed := "CAP_DAC_OVERRIDE"
	if strings.HasPrefix(c.Path, "/sys/class/net/") {
		needed += " and CAP_NET_ADMIN"
	}
	switch {
	case c.Attribute == Sysctl && m.Files.ReadOnly(c.Path):
		return fmt.Sprintf("%s is for reading only: the kernel lets nobody write it", c.Path)
	case m.EUID() == 0:
		return fmt.Sprintf("%s belongs to the host; this root lacks %s, as in a container: run piton on the host", c.Path, needed)
	}
	return fmt.Sprintf("%s is root's to write: run piton with sudo", c.Path)
}

// writesFiles reports whether the caller may write root's files.
func (m *Machine) writesFiles() bool { return m.EUID() == 0 || m.Has(kernel.CapDACOverride) }
