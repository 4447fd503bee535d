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
	f.Masks = masks()
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

// masks reads the masks that belong to no task. Those of a receive queue that
// spreads nothing (RPS is off) are left out.
func masks() []Mask {
	const workqueues = "/sys/devices/virtual/workqueue/"
	var out []Mask
	read := func(a attr.Attribute, path, name string) {
		if m := irq.ReadMask(path); m.OK && !m.Empty() {
			out = append(out, Mask{Attribute: a, Path: path, Name: name, CPUs: m.Set, ReadOnly: kernel.SystemFiles().Lacks(path, 0o222)})
		}
	}
	read(attr.DefaultIRQAffinity, irq.DefaultAffinityFile, "default of new IRQs")
	read(attr.WorkqueueMask, workqueues+"cpumask", "unbound workqueues")
	for _, path := range glob(workqueues + "*/cpumask") {
		read(attr.WorkqueueMask, path, "workqueue "+filepath.Base(filepath.Dir(path)))
	}
	for _, path := range glob("/sys/class/net/*/queues/rx-*/rps_cpus") {
		parts := strings.Split(path, "/")
		read(attr.RPSCPUs, path, parts[4]+" "+parts[6])
	}
	return out
}

func glob(pattern string) []string {
	paths, _ := filepath.Glob(pattern) // the only error is that of a bad pattern
	slices.Sort(paths)
	return paths
}
