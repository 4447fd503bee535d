package simulate

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"piton/internal/change/attr"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/kernel/kernelfake"
	"piton/internal/procfs"
)

var (
	_ attr.Processes        = proc{}
	_ kernel.Scheduler      = view{}
	_ kernel.Settings       = view{}
	_ kernel.SettingsWriter = view{}
	_ kernel.Writer         = view{}
)

// view is the world as one process sees it: through its namespaces, with its rights.
type view struct{ *actor }

// namespaces are those of a piton.
type namespaces struct {
	inner bool   // in another PID namespace
	shift uint64 // ticks by which start times differ in its time namespace
}

// call is the beginning of a call about a task: another actor may run, it may fail,
// and there may be no such task. A dead process gets nothing.
func (v view) call(name string, tid kernel.TID, errnos ...syscall.Errno) (*task, error) {
	if !v.step() {
		return nil, syscall.EINTR
	}
	if err := v.fails(name, errnos...); err != nil {
		return nil, fmt.Errorf("%s of %d: %w", name, tid, err)
	}
	t := v.find(tid)
	if traceCalls {
		v.log("  %s %d: %v", name, tid, t)
	}
	if t == nil {
		return nil, fmt.Errorf("%s of %d: %w", name, tid, syscall.ESRCH)
	}
	return t, nil
}

var traceCalls = os.Getenv("TRACE") != ""

// fails is an error that has nothing to do with what is asked.
func (v view) fails(name string, errnos ...syscall.Errno) error {
	if v.healed || v.fate.errnos == 0 || len(errnos) == 0 || v.rng.IntN(v.fate.errnos) != 0 {
		return nil
	}
	errno := errnos[v.rng.IntN(len(errnos))]
	v.log("%s fails: %v", name, errno)
	v.disturbed = "a call failed"
	return errno
}

func (v view) find(tid kernel.TID) *task {
	if v.inner {
		return v.nested[tid]
	}
	return v.tasks[tid]
}

// number is what a task is called, 0 if it is not in the namespace.
func (v view) number(t *task) kernel.TID {
	switch {
	case t == nil:
		return 0
	case v.inner:
		return t.inner
	}
	return t.tid
}

// proc is /proc as the process sees it.
type proc struct {
	kernelfake.Proc
	view
}

func (v view) proc() proc {
	return proc{kernelfake.Proc{Dir: v.root, Settings: v, Read: v.row, List: v.list}, v}
}

// File is part of attr.Processes.
func (p proc) File(elem ...string) ([]byte, error) {
	if !p.step() {
		return nil, syscall.EINTR
	}
	if elem[0] != "uptime" {
		return nil, syscall.ENOENT
	}
	up := p.ticks() + p.shift
	return fmt.Appendf(nil, "%d.%02d 0.00\n", up/100, up%100), nil
}

// list is the List of the process's Proc.
func (v view) list(pid kernel.TID) (out []kernel.TID, err error) {
	if pid != 0 {
		t, err := v.look("task", pid)
		if err != nil {
			return nil, err
		}
		for _, thread := range t.leader.threads {
			out = append(out, v.number(thread))
		}
		return out, nil
	}
	if !v.step() {
		return nil, syscall.EINTR
	}
	if err := v.fails("read /proc", syscall.EMFILE, syscall.ENOMEM); err != nil {
		return nil, err
	}
	for _, t := range v.all {
		if n := v.number(t); t == t.leader && !t.gone && n != 0 {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out, nil
}

// look is the beginning of reading a file of a task.
func (v view) look(file string, tid kernel.TID) (*task, error) {
	t, err := v.call(file, tid, syscall.EMFILE, syscall.EACCES)
	if err != nil && v.find(tid) == nil {
		return nil, kernelfake.Gone(tid)
	}
	return t, err
}

// row is the Read of the process's Proc.
func (v view) row(file string, tid kernel.TID) (row kernelfake.Task, err error) {
	t, err := v.look(file, tid)
	if err != nil {
		return row, err
	}
	row = kernelfake.Task{TGID: v.number(t.leader), Start: t.start + v.shift, UID: uint32(v.euid()), Cgroups: procfs.Cgroups{{Path: "/"}},
		Stat: procfs.Stat{Comm: []byte("task"), State: 'S', PPID: v.number(t.leader.parent), Threads: int32(len(t.leader.threads))}}
	if t.busy {
		row.State, row.RunNs = 'R', uint64(v.now)
	}
	if t.zombie {
		row.State = 'Z'
	}
	if t.leader.limited {
		row.Cgroups[0].Path = limitedGroup
	}
	if g := t.group(); g != nil && v.fate.unified {
		row.Cgroups[0].Path = g.path
	} else if v.fate.groups && !v.fate.unified {
		its := procfs.Cgroup{Controllers: []string{"cpu"}, Path: "/"}
		if g != nil {
			its.Path = g.path
		}
		row.Cgroups = append(row.Cgroups, its)
	}
	return row, nil
}

// read is the beginning of asking the scheduler about a task.
func (v view) read(name string, a attr.Attribute, tid kernel.TID) (attr.Value, error) {
	t, err := v.call(name, tid, syscall.EPERM, syscall.EINVAL)
	if err != nil {
		return nil, err
	}
	return t.cell(a).value, nil
}

// Affinity is part of kernel.Scheduler.
func (v view) Affinity(tid kernel.TID) (cpuset.Set, error) {
	value, err := v.read("sched_getaffinity", attr.Affinity, tid)
	return attr.CPUs(value), err
}

// Attr is part of kernel.Scheduler.
func (v view) Attr(tid kernel.TID) (kernel.SchedAttr, error) {
	value, err := v.read("sched_getattr", attr.Policy, tid)
	p := attr.PolicyOf(value)
	return kernel.SchedAttr{Policy: p.Policy, RTPrio: p.RTPrio, ResetOnFork: p.ResetOnFork}, err
}

// Nice is part of kernel.Scheduler.
func (v view) Nice(tid kernel.TID) (int, error) {
	value, err := v.read("getpriority", attr.Nice, tid)
	n, _ := value.(attr.NiceValue)
	return int(n), err
}

// IOPrio is part of kernel.Scheduler.
func (v view) IOPrio(tid kernel.TID) (kernel.IOPrio, error) {
	value, err := v.read("ioprio_get", attr.IOPrio, tid)
	p, _ := value.(attr.IOPrioValue)
	return kernel.IOPrio(p), err
}

// Slice is part of kernel.Scheduler, as what follows; nothing here has them.
func (view) Slice(kernel.TID) (uint64, error)         { return 0, syscall.ENOSYS }
func (view) BaseSlice() (uint64, error)               { return 0, syscall.ENOSYS }
func (view) Clamp(kernel.TID) (kernel.Clamp, error)   { return kernel.Clamp{}, syscall.ENOSYS }
func (view) Cookie(kernel.TID) (uint64, error)        { return 0, syscall.ENOSYS }
func (view) NewCookie() (uint64, kernel.TID, error)   { return 0, 0, syscall.ENOSYS }
func (view) limits(kernel.TID) (kernel.Limits, error) { return kernel.Limits{}, nil }
func (v view) euid() int {
	if v.weak {
		return 1000
	}
	return 0
}

func (v view) rights() (kernel.Capabilities, error) {
	if v.weak {
		return 0, nil
	}
	return 1<<kernel.CapSysNice | 1<<kernel.CapDACOverride, nil
}

// file finds one of the kernel's files.
func (v view) file(path string) *cell {
	i := slices.IndexFunc(v.files, func(c *cell) bool { return c.path == path })
	if i < 0 {
		return nil
	}
	return v.files[i]
}

// ReadSetting is part of kernel.Settings.
func (v view) ReadSetting(path string) (string, error) {
	if !v.step() {
		return "", syscall.EINTR
	}
	c, g := v.file(path), v.groupOf(path)
	text, has := "", false
	if g != nil {
		text, has = g.files[path]
	}
	if c == nil && !has {
		return "", fmt.Errorf("open %s: %w", path, syscall.ENOENT)
	}
	if err := v.fails("read "+path, syscall.EIO, syscall.EMFILE); err != nil {
		return "", err
	}
	if has {
		if name := filepath.Base(path); name == "cpu.max" || name == "cpu.cfs_period_us" {
			v.looked = v.steps
		}
		return text, nil
	}
	return c.value.String(), nil
}

// ReadOnly is part of kernel.Settings.
func (view) Lacks(string, fs.FileMode) bool { return false }

// WriteSetting is part of kernel.SettingsWriter.
func (v view) WriteSetting(path, text string) error {
	if !v.step() {
		return syscall.EINTR
	}
	c, g := v.file(path), v.groupOf(path)
	if c == nil && (g == nil || g.files[path] == "") {
		return fmt.Errorf("open %s: %w", path, syscall.ENOENT)
	}
	err := v.fails("write "+path, syscall.EINVAL, syscall.EIO, syscall.EACCES, syscall.EROFS)
	if err == nil && v.weak {
		v.disturbed, err = "it has no rights", syscall.EACCES
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if g != nil {
		return v.store(g, path, text)
	}
	value, err := c.attribute.Parse(strings.TrimSpace(text))
	if err != nil {
		return syscall.EINVAL
	}
	v.write(c, value)
	return nil
}
