package kernelfake

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"piton/internal/kernel"
	"piton/internal/procfs"
)

// Proc is the /proc of a made-up machine: an attr.Processes.
type Proc struct {
	Dir      string // the root of what is read by its path
	Settings kernel.Settings
	Uptime   func() time.Duration // nil: a file says it
	// Read is one look at a file of a task: stat, status, schedstat, cgroup or comm. Its error
	// is Gone if there is no such task.
	Read func(file string, tid kernel.TID) (Task, error)
	// List returns the threads of a process, or with 0 all processes, in rising order.
	List func(pid kernel.TID) ([]kernel.TID, error)
}

// Look is the Read of a Proc of the fake's tasks.
func (f *Fake) Look(file string, tid kernel.TID) (Task, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	task := f.Tasks[tid]
	if task == nil {
		return Task{}, Gone(tid)
	}
	if file == "schedstat" {
		task.RunNs += task.Runs
	}
	return *task, nil
}

// List is the List of a Proc of the fake's tasks.
func (f *Fake) List(pid kernel.TID) (out []kernel.TID, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for tid, task := range f.Tasks {
		if task.TGID == pid && pid != 0 || pid == 0 && task.TGID == tid {
			out = append(out, tid)
		}
	}
	slices.Sort(out)
	return out, nil
}

// Gone is the error about a task that has ended.
func Gone(tid kernel.TID) error { return fmt.Errorf("read %d: %w", tid, procfs.ErrGone) }

// WriteFiles makes files below a root.
func WriteFiles(root string, files map[string]string) error {
	for path, text := range files {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Live is true: the machine may be changed.
func (Proc) Live() bool { return true }

// Root is the directory of the files that are read by their path.
func (p Proc) Root() string { return p.Dir }

// File reads a file that is no task's; of tasks comm only.
func (p Proc) File(elem ...string) ([]byte, error) {
	if elem[0] == "uptime" && p.Uptime != nil {
		return fmt.Appendf(nil, "%.2f 0.00\n", p.Uptime().Seconds()), nil
	}
	b, err := os.ReadFile(filepath.Join(append([]string{p.Dir, "proc"}, elem...)...))
	if err == nil || len(elem) != 2 || elem[1] != "comm" {
		return b, err
	}
	tid, err := strconv.Atoi(elem[0])
	if err != nil {
		return nil, err
	}
	row, err := p.Read("comm", kernel.TID(tid))
	return append(row.Comm, '\n'), err
}

// Processes lists the processes.
func (p Proc) Processes() ([]kernel.TID, error) { return p.List(0) }

// Threads lists the threads of a process.
func (p Proc) Threads(pid kernel.TID) ([]kernel.TID, error) {
	tids, err := p.List(pid)
	if err == nil && len(tids) == 0 {
		err = Gone(pid)
	}
	return tids, err
}

// Stat is a process's first thread.
func (p Proc) Stat(pid kernel.TID) (procfs.Stat, error) { return p.ThreadStat(pid, pid) }

// ThreadStat is a thread of a process.
func (p Proc) ThreadStat(pid, tid kernel.TID) (procfs.Stat, error) {
	row, err := p.Read("stat", tid)
	if err == nil && row.TGID != pid {
		return procfs.Stat{}, Gone(tid)
	}
	row.TID, row.StartTicks = tid, row.Start
	return row.Stat, err
}

// Status has the task's owner and mask.
func (p Proc) Status(tid kernel.TID) (procfs.Status, error) {
	row, err := p.Read("status", tid)
	return procfs.Status{Comm: string(row.Comm), TGID: row.TGID, UID: row.UID, EUID: row.UID, Threads: int(row.Threads), CPUsAllowed: row.Affinity}, err
}

// Schedstat has the time that the thread ran.
func (p Proc) Schedstat(_, tid kernel.TID) (procfs.Schedstat, error) {
	row, err := p.Read("schedstat", tid)
	return procfs.Schedstat{RunNs: row.RunNs}, err
}

// Cgroup is where the process is.
func (p Proc) Cgroup(pid kernel.TID) (procfs.Cgroups, error) {
	row, err := p.Read("cgroup", pid)
	return row.Cgroups, err
}

// Autogroup has none.
func (Proc) Autogroup(kernel.TID) (string, int, error) { return "", 0, syscall.ENOENT }

// Sysctl reads one of the Settings.
func (p Proc) Sysctl(name string) (int64, error) {
	text, err := p.Settings.ReadSetting("/proc/sys/" + name)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(text), 10, 64)
}
