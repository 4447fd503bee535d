package demo

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"piton/internal/change/attr"
	"piton/internal/kernel"
	"piton/internal/procfs"
)

// proc is the machine's /proc, for the change path.
type proc struct{ *Machine }

var _ attr.Processes = proc{}

func gone(tid kernel.TID) error { return fmt.Errorf("read %d: %w", tid, procfs.ErrGone) }

// Live is true: the machine may be changed.
func (p proc) Live() bool { return true }

// Root is a directory with the files that are read by their path.
func (p proc) Root() string { return p.root }

// File is part of attr.Processes.
func (p proc) File(elem ...string) ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case elem[0] == "uptime":
		return fmt.Appendf(nil, "%.2f 0.00\n", (upTime + p.now).Seconds()), nil
	case len(elem) == 2 && elem[1] == "comm":
		if tid, err := strconv.Atoi(elem[0]); err == nil {
			t, err := p.find(kernel.TID(tid))
			if err != nil {
				return nil, err
			}
			return []byte(t.ID.Comm + "\n"), nil
		}
	}
	return os.ReadFile(filepath.Join(append([]string{p.root, "proc"}, elem...)...))
}

// Processes is part of attr.Processes.
func (p proc) Processes() ([]kernel.TID, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []kernel.TID
	for _, t := range p.tasks {
		if t.IsProcess() {
			out = append(out, t.TID)
		}
	}
	return out, nil
}

// Threads is part of attr.Processes.
func (p proc) Threads(pid kernel.TID) ([]kernel.TID, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t, err := p.find(pid)
	if err != nil {
		return nil, err
	}
	var out []kernel.TID
	for _, t := range t.leader.threads {
		out = append(out, t.TID)
	}
	return out, nil
}

// Stat is part of attr.Processes.
func (p proc) Stat(pid kernel.TID) (procfs.Stat, error) { return p.ThreadStat(pid, 0) }

// ThreadStat is part of attr.Processes.
func (p proc) ThreadStat(pid, tid kernel.TID) (procfs.Stat, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if tid == 0 {
		tid = pid
	}
	t, err := p.find(tid)
	if err != nil || t.TGID != pid {
		return procfs.Stat{}, gone(tid)
	}
	return procfs.Stat{TID: tid, Comm: []byte(t.ID.Comm), State: t.State, PPID: t.PPID, Session: t.PPID, Flags: t.Flags,
		UserTicks: t.UserTicks, SystemTicks: t.SystemTicks, Priority: t.Priority, Nice: t.Nice, Threads: t.leader.Threads,
		StartTicks: t.StartTicks, RSSPages: t.RSSPages, LastCPU: t.LastCPU, RTPrio: t.RTPrio, Policy: t.Policy}, nil
}

// Status is part of attr.Processes.
func (p proc) Status(tid kernel.TID) (procfs.Status, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t, err := p.find(tid)
	if err != nil {
		return procfs.Status{}, err
	}
	return procfs.Status{Comm: t.ID.Comm, TGID: t.TGID, UID: t.ID.UID, EUID: t.ID.UID, Threads: len(t.leader.threads), CPUsAllowed: t.Affinity,
		VoluntarySwitches: t.VoluntarySwitches, InvoluntarySwitches: t.InvoluntarySwitches}, nil
}

// Schedstat is part of attr.Processes.
func (p proc) Schedstat(_, tid kernel.TID) (procfs.Schedstat, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t, err := p.find(tid)
	if err != nil {
		return procfs.Schedstat{}, err
	}
	return procfs.Schedstat{RunNs: t.RunNs, RunDelayNs: t.RunDelayNs}, nil
}

// Cgroup is part of attr.Processes.
func (p proc) Cgroup(pid kernel.TID) (procfs.Cgroups, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t, err := p.find(pid)
	if err != nil {
		return nil, err
	}
	return procfs.Cgroups{{Path: t.ID.Cgroup}}, nil
}

// Autogroup is part of attr.Processes; the kernel has none.
func (proc) Autogroup(kernel.TID) (string, int, error) { return "", 0, syscall.ENOENT }

// Sysctl is part of attr.Processes.
func (p proc) Sysctl(name string) (int64, error) {
	text, err := p.files.ReadSetting("/proc/sys/" + name)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(text), 10, 64)
}
