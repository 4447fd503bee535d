package partition

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"piton/internal/change/attr"
	"piton/internal/irq"
	"piton/internal/kernel"
	"piton/internal/kernel/tree"
	"piton/internal/procfs"
)

// reader reads the Facts of this machine, again and again.
type reader struct {
	lines   *irq.Reader
	machine *attr.Machine
}

func newReader() *reader {
	return &reader{lines: irq.New("/").NewReader(), machine: attr.NewMachine(attr.Sources{})}
}

// read reads everything but Limit; Reserved is what was isolated at boot. Tasks that
// end meanwhile are left out; masks that cannot be read are as well.
func (r *reader) read() (Facts, error) {
	var f Facts
	up, err := r.machine.Proc.File("uptime")
	if err != nil {
		return f, err
	}
	if f.Ticks, err = procfs.ParseUptimeTicks(up); err != nil {
		return f, err
	}
	if f.Online, err = attr.ReadCPUs("/", "online"); err != nil {
		return f, err
	}
	r.machine.CheckOffline()
	f.Reserved, err = attr.ReadCPUs("/", "isolated")
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // since Linux 4.2
		return f, err
	}
	if err := f.ReadTasks(r.machine); err != nil {
		return f, fmt.Errorf("look at the tasks: %w", err)
	}
	snapshot, err := r.lines.Read()
	switch {
	case errors.Is(err, irq.ErrMasked):
		f.NoIRQs = err
	case err != nil:
		return f, fmt.Errorf("look at the interrupts: %w", err)
	default:
		f.IRQs = snapshot.IRQs
	}
	f.Masks = ReadMasks("/")
	return f, nil
}

// ReadTasks adds the tasks of a machine.
func (f *Facts) ReadTasks(m *attr.Machine) error {
	pids, err := m.Proc.Processes()
	if err != nil {
		return err
	}
	for _, pid := range pids {
		tids, err := m.Proc.Threads(pid)
		if errors.Is(err, procfs.ErrGone) {
			continue
		}
		if err != nil {
			return err
		}
		for _, tid := range tids {
			t, err := readTask(m, pid, tid)
			if errors.Is(err, procfs.ErrGone) || errors.Is(err, syscall.ESRCH) {
				continue
			}
			if err != nil {
				return err
			}
			f.Tasks = append(f.Tasks, t)
		}
	}
	return nil
}

func readTask(m *attr.Machine, pid, tid kernel.TID) (Task, error) {
	st, err := m.Proc.ThreadStat(pid, tid)
	if err != nil {
		return Task{}, err
	}
	t := Task{PPID: st.PPID, Policy: st.Policy}
	t.Task = attr.Task{PID: pid, TID: tid, StartTicks: st.StartTicks, Comm: string(st.Comm), State: st.State, Flags: st.Flags}
	if t.Ended() {
		return t, procfs.ErrGone
	}
	t.Mask, err = m.CPUsAllowed(tid)
	return t, err
}

// workqueues is where the kernel's workqueues are that user space may place (WQ_SYSFS,
// Documentation/core-api/workqueue.rst).
const workqueues = "/sys/devices/virtual/workqueue/"

// The masks that a machine has once.
var (
	DefaultIRQs = Mask{Attribute: attr.DefaultIRQAffinity, Path: irq.DefaultAffinityFile, Name: "default of new IRQs"}
	Workqueues  = Mask{Attribute: attr.WorkqueueMask, Path: workqueues + "cpumask", Name: "unbound workqueues"}
)

// ReadMasks reads the masks that belong to no task and no line, below a root ("/" for this
// machine; their paths are without it). Those that cannot be read, or name no CPU, as of a
// receive queue that spreads nothing (RPS is off), are left out.
func ReadMasks(root string) []Mask {
	var out []Mask
	read := func(a attr.Attribute, path, name string) {
		file := filepath.Join(root, path)
		if m := irq.ReadMask(file); m.OK && !m.Empty() {
			info, err := tree.Stat(file)
			out = append(out, Mask{Attribute: a, Path: path, Name: name, CPUs: m.Set, ReadOnly: err == nil && info.Mode()&0o222 == 0})
		}
	}
	for _, m := range []Mask{DefaultIRQs, Workqueues} {
		read(m.Attribute, m.Path, m.Name)
	}
	for _, path := range below(root, workqueues+"*/cpumask") {
		read(attr.WorkqueueMask, path, "workqueue "+filepath.Base(filepath.Dir(path)))
	}
	for _, path := range below(root, "/sys/class/net/*/queues/rx-*/rps_cpus") {
		parts := strings.Split(path, "/")
		read(attr.RPSCPUs, path, parts[4]+" "+parts[6])
	}
	return out
}

// below lists the files of a pattern below a root, without it.
func below(root, pattern string) []string {
	var out []string
	for _, path := range tree.Glob(root, pattern) {
		out = append(out, "/"+strings.TrimPrefix(strings.TrimPrefix(path, root), "/"))
	}
	slices.Sort(out)
	return out
}
