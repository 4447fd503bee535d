package attr

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"piton/internal/change/attr/share"
	"piton/internal/kernel"
	"piton/internal/pattern"
	"piton/internal/procfs"
)

// The attributes of control groups, which are asked for of a process in one
// (Documentation/admin-guide/cgroup-v2.rst, Documentation/scheduler/sched-bwc.rst).
const (
	Weight Attribute = "weight" // a share.Weight
	Quota  Attribute = "quota"  // a share.Quota
)

var weightFiles = groupFiles[share.Weight]{share.WeightFiles, share.WeightOf, "5.15"}

var weight = spec{
	path: pattern.Whole(`/sys/fs/cgroup/([^\n\x00]+/)?cpu\.(weight|shares)`), noun: "cgroup", process: true, group: share.WeightFiles,
	parse: parsing(share.ParseWeight), read: weightFiles.read, write: weightFiles.write, prepare: weightFiles.prepare, halfway: weightFiles.halfway,
	risk: func(v *View, c Change) {
		riskShare(v, c)
		v.Warn(Note, "between groups: %s", v.GroupRule())
	},
	setBy: []string{"CPUWeight", "StartupCPUWeight", "CPUShares", "StartupCPUShares"},
	command: &Command{
		Verb: "weight", Use: "weight TARGET… VALUE", What: "a weight", Words: []string{share.Idle},
		Short: "set the weight of control groups",
		Long: `Set the weight of the control groups that the targets are in: 1 to 10000, where 100 is usual, or idle.
It says how CPU time is divided between groups that want it at the same time, which nice does within a group only.
It is of all processes of a group; how many that are is said first. In control groups of version 1 it is cpu.shares.
Target cgroup:PATH is that group itself.`,
		Example: "  piton weight nginx 400\n  piton weight user:build idle\n  piton weight 3641 50 --revert-after 1m",
	},
}

var quotaFiles = groupFiles[share.Quota]{share.QuotaFiles, share.QuotaOf, "5.14"}

var quota = spec{
	path: pattern.Whole(`/sys/fs/cgroup/([^\n\x00]+/)?cpu\.(max|cfs_quota_us)`), noun: "cgroup", process: true, group: share.QuotaFiles,
	parse: parsing(share.ParseQuota), read: quotaFiles.read, write: quotaFiles.write, prepare: quotaFiles.prepare, halfway: quotaFiles.halfway,
	risk: riskShare,
	explain: func(_ *Machine, c Change, errno syscall.Errno) string {
		if errno == syscall.EINVAL && !unified(c.Path) { // tg_cfs_schedulable_down of kernel/sched/core.c
			return "control groups of version 1 take no quota above that of the group around, nor below that of one inside"
		}
		return ""
	},
	setBy: []string{"CPUQuota", "CPUQuotaPeriodSec"},
	command: &Command{
		Verb: "quota", Use: "quota TARGET… PERCENT|none", What: "a quota", Words: []string{share.None},
		Short: "limit the CPU time of control groups",
		Long: `Limit what the processes of the targets' control groups get of the CPUs together, in per cent of one CPU: 150% is
one and a half CPUs, none is no limit. With --burst they may use later what they left, up to that time in a period.
It is of all processes of a group and of the groups inside; how many that are is said first. Target cgroup:PATH is
that group itself.`,
		Example: "  piton quota user:build 150%\n  piton quota 3641 20% --burst 10ms\n  piton quota nginx none",
	},
}

// groupValue is a value that a control group holds in several files.
type groupValue[V any] interface {
	Value
	On(unified bool, has V) (V, error)
	Writes(unified bool, from V) []share.Write
	Halfway(to, now V) bool
	Late() bool
}

// groupFiles are the files that hold a value of a group.
type groupFiles[V groupValue[V]] struct {
	names func(unified bool) []string
	value func(unified bool, texts []string) (V, error)
	since string // the Linux with the last of them
}

// OfGroup reports whether the attribute is one of a control group, asked for of a process in it.
func (a Attribute) OfGroup() bool { return a.spec().group != nil }

// Halfway reports whether now is what a change from x to y, which takes the kernel several writes,
// or its undo, may have left when it was cut off.
func (a Attribute) Halfway(x, y, now Value) bool {
	f := a.spec().halfway
	return f != nil && x != nil && y != nil && now != nil && f(x, y, now)
}

// parsing makes the parse of a type's.
func parsing[V Value](parse func(string) (V, error)) func(string) (Value, error) {
	return func(text string) (Value, error) {
		v, err := parse(text)
		if err != nil {
			return nil, UsageError(err.Error())
		}
		return v, nil
	}
}

// unified reports whether a file is one of version 2.
func unified(file string) bool {
	return path.Base(file) == share.WeightFiles(true)[0] || path.Base(file) == share.QuotaFiles(true)[0]
}

func (f groupFiles[V]) get(m *Machine, file string) (V, error) {
	names := f.names(unified(file))
	texts := make([]string, len(names))
	for i, name := range names {
		var err error
		texts[i], err = m.Files.ReadSetting(path.Join(path.Dir(file), name))
		if err != nil && (i < len(names)-1 || !errors.Is(err, syscall.ENOENT)) {
			return *new(V), err
		}
	}
	return f.value(unified(file), texts)
}

func (f groupFiles[V]) read(m *Machine, o Object) (Value, error) { return f.get(m, o.Path) }

// write makes the steps from the value that there is to the change's. Where one fails, those before
// it are undone.
func (f groupFiles[V]) write(w Write) error {
	file, to := w.Change.Path, w.Change.After.(V)
	from, err := f.get(w.Machine, file)
	if err != nil {
		return err
	}
	if fit, err := to.On(unified(file), from); err != nil || Text(fit) != Text(to) {
		return fmt.Errorf("somebody else has just set it to %s", from)
	}
	done, err := f.steps(w, to.Writes(unified(file), from))
	if err != nil && done > 0 {
		if now, readErr := f.get(w.Machine, file); readErr == nil && from.Halfway(to, now) {
			_, back := f.steps(w, from.Writes(unified(file), now))
			err = errors.Join(err, back)
		}
	}
	return err
}

// steps makes the writes until one fails, and returns how many it has made.
func (f groupFiles[V]) steps(w Write, steps []share.Write) (done int, err error) {
	for _, s := range steps {
		if err := w.Files.WriteSetting(path.Join(path.Dir(w.Change.Path), s.File), s.Text+"\n"); err != nil {
			return done, err
		}
		done++
	}
	return done, nil
}

// prepare makes of the wish what this group would have.
func (f groupFiles[V]) prepare(v *View, _ Task, c *Change) {
	names := f.names(unified(c.Path))
	last := names[len(names)-1]
	to, err := c.After.(V).On(unified(c.Path), c.Before.(V))
	if err != nil {
		c.Refuse("%v", err)
		return
	}
	if c.After = to; to.Late() {
		if _, err = v.Files.ReadSetting(path.Join(path.Dir(c.Path), last)); errors.Is(err, syscall.ENOENT) {
			c.Refuse("this kernel has no %s, which came with Linux %s", last, f.since)
			c.Err = ErrNotSupported
		}
	}
}

func (f groupFiles[V]) halfway(x, y, now Value) bool { return x.(V).Halfway(y.(V), now.(V)) }

// GroupOf returns the control group of a process as what the attribute is of. The error says why
// there is none.
func (m *Machine) GroupOf(pid kernel.TID, a Attribute) (Object, error) {
	g, err := m.Cgroup(pid, "cpu")
	if err != nil {
		return Object{}, err
	}
	return m.group(g, a, "its cgroup "+g.Path, "it is in the root cgroup")
}

// GroupAt is GroupOf of the group at a path, as cgroup files name it ("/build.slice").
func (m *Machine) GroupAt(at string, a Attribute) (Object, error) {
	mount, err := procfs.New(m.Proc.Root()).CgroupMount("cpu")
	if err != nil {
		return Object{}, err
	}
	g := CgroupDir{mount, path.Clean("/" + at)}
	if _, err := m.Inode(m.here(g, g.Path, "")); err != nil && g.Has(g.Path) {
		return Object{}, fmt.Errorf("there is no cgroup %s with a cpu controller", g.Path)
	}
	return m.group(g, a, "cgroup "+g.Path, "cgroup / is the root")
}

// here is the path of a group's file below the root of Proc.
func (m *Machine) here(g CgroupDir, group, file string) string {
	return strings.TrimPrefix(g.File(group, file), strings.TrimSuffix(m.Proc.Root(), "/"))
}

// group is a group's object; it and root begin what is said of one that has none.
func (m *Machine) group(g CgroupDir, a Attribute, it, root string) (Object, error) {
	here := func(group, file string) string { return m.here(g, group, file) }
	lacks := func(group, file string) bool {
		_, err := m.Files.ReadSetting(here(group, file))
		return errors.Is(err, syscall.ENOENT)
	}
	o := Object{Path: here(g.Path, a.spec().group(g.Unified)[0]), Name: groupName + g.Path}
	first := share.WeightFiles(g.Unified)[0]
	var err error
	switch top := g.Path == "/"; {
	case !g.Has(g.Path) || strings.HasPrefix(g.Path, "/.."):
		err = fmt.Errorf("%s is not visible here, as in a container: run piton on the host", it)
	case top && (lacks("/", first) || !g.Unified && !lacks("/", "release_agent")): // which only the root of version 1 has
		err = fmt.Errorf("%s, which has no %s: only groups below have one", root, a.Title())
	case lacks(g.Path, first):
		err = m.withoutController(g, a, it, here, lacks)
	case lacks(g.Path, path.Base(o.Path)):
		err = errors.New("this kernel has no quotas (CONFIG_CFS_BANDWIDTH)")
	default:
		return o, nil
	}
	return o, markedError{err, ErrNotSupported}
}

// GroupChange is a setting of the control group of a process as a plan would have it.
func (m *Machine) GroupChange(pid kernel.TID, s Setting) Change {
	c := Change{Attribute: s.Attribute, After: s.Value, Status: Planned}
	var err error
	if c.Object, err = m.GroupOf(pid, s.Attribute); err != nil {
		c.Object = Object{}
		c.RefuseAs(err)
		return c
	}
	if c.Before, err = m.Read(s.Attribute, c.Object); err != nil {
		m.RefuseFor(&c, err)
		return c
	}
	m.NewView().Prepare(Task{}, &c)
	return c
}

// withoutController says that a group of version 2 has no cpu controller, and how to give it one.
func (m *Machine) withoutController(g CgroupDir, a Attribute, it string, here func(group, file string) string, lacks func(group, file string) bool) error {
	up, off := filepath.Dir(g.Path), []string{}
	for ; ; up = filepath.Dir(up) {
		off = append([]string{here(up, "cgroup.subtree_control")}, off...)
		if up == "/" || !lacks(up, share.WeightFiles(true)[0]) {
			break
		}
	}
	remedy := "echo +cpu | sudo tee " + strings.Join(off, " ")
	if unit, own := procfs.UnitOf(g.Path); unit != "" && own == "" {
		remedy = fmt.Sprintf("systemctl set-property --runtime %s %s=…", unit, a.SetBy()[0])
	}
	return fmt.Errorf("%s has no cpu controller, and competes as part of %s; to give it one: %s", it, up, remedy)
}

// groupName begins the Name of a group's object.
const groupName = "cgroup "

// Group is the path of the control group that an object is, "" if it is none.
func (o Object) Group() string {
	group, ok := strings.CutPrefix(o.Name, groupName)
	if !ok {
		return ""
	}
	return group
}

// riskShare says whose share a change is, and what may decide otherwise.
func riskShare(v *View, c Change) {
	n := len(procfs.GroupProcesses(filepath.Join(v.Proc.Root(), path.Dir(c.Path))))
	whose := fmt.Sprintf("%d processes: all of them get", n)
	if n == 1 {
		whose = "1 process: it gets"
	}
	owner := procfs.ContainerOf(c.Group())
	if owner != "" {
		owner = ", container " + owner + ","
	}
	v.Warn(Note, "%s%s has %s the %s", c.Object.Object(), owner, whose, c.Attribute.Title())
	if name := v.ext(); name != "" {
		v.Warn(Note, "the sched_ext scheduler %s is in force: it decides whether the %s counts", name, c.Attribute.Title())
	}
}

// groupID tells a group from a later one with its path; "" if there is none.
func (m *Machine) groupID(file string) string {
	inode, err := m.Inode(path.Dir(file))
	if err != nil {
		return ""
	}
	return fmt.Sprintf("cgroup %d", inode)
}
