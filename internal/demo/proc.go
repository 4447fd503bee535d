package demo

import (
	"piton/internal/kernel"
	"piton/internal/kernel/kernelfake"
	"piton/internal/procfs"
)

// read is the Read of the machine's Proc.
func (m *Machine) read(_ string, tid kernel.TID) (row kernelfake.Task, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, err := m.find(tid)
	if err != nil {
		return row, err
	}
	row = m.fake.Task(tid)
	row.UID, row.RunNs, row.Cgroups = t.ID.UID, t.RunNs, procfs.Cgroups{{Path: t.ID.Cgroup}}
	row.Stat = procfs.Stat{Comm: []byte(t.ID.Comm), State: t.State, PPID: t.PPID, Session: t.PPID, Flags: t.Flags,
		UserTicks: t.UserTicks, SystemTicks: t.SystemTicks, Priority: t.Priority, Nice: t.Nice, Threads: t.leader.Threads,
		RSSPages: t.RSSPages, LastCPU: t.LastCPU, RTPrio: t.RTPrio, Policy: t.Policy}
	return row, nil
}
