package demo

import (
	"piton/internal/kernel"
	"piton/internal/kernel/kernelfake"
	"piton/internal/procfs"
)

// list is the List of the machine's Proc.
func (m *Machine) list(pid kernel.TID) (out []kernel.TID, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, t := range m.tasks {
		if t.TGID == pid || pid == 0 && t.IsProcess() {
			out = append(out, t.TID)
		}
	}
	return out, nil
}

// read is the Read of the machine's Proc.
func (m *Machine) read(_ string, tid kernel.TID) (row kernelfake.Row, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, err := m.find(tid)
	if err != nil {
		return row, err
	}
	return kernelfake.Row{TGID: t.TGID, UID: t.ID.UID, CPUs: t.Affinity, RunNs: t.RunNs, Cgroups: procfs.Cgroups{{Path: t.ID.Cgroup}},
		Stat: procfs.Stat{TID: tid, Comm: []byte(t.ID.Comm), State: t.State, PPID: t.PPID, Session: t.PPID, Flags: t.Flags,
			UserTicks: t.UserTicks, SystemTicks: t.SystemTicks, Priority: t.Priority, Nice: t.Nice, Threads: t.leader.Threads,
			StartTicks: t.StartTicks, RSSPages: t.RSSPages, LastCPU: t.LastCPU, RTPrio: t.RTPrio, Policy: t.Policy}}, nil
}
