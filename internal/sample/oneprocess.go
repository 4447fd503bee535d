package sample

import (
	"piton/internal/kernel"
	"piton/internal/procfs"
)

// ReadThreads reads the threads of one process, at most so many, a row each; total is how
// many there are. The first one's row is that thread's alone, too: no TGID says that it
// stands for the process. A thread that ended meanwhile is left out.
func ReadThreads(fs procfs.FS, pid kernel.TID, most int) (tasks []*Task, total int, err error) {
	tids, err := fs.Threads(pid)
	for _, tid := range tids[:min(len(tids), most)] {
		st, err := fs.ThreadStat(pid, tid)
		if err != nil {
			continue
		}
		t := &Task{TID: tid}
		setStat(t, &st)
		if sched, err := fs.Sched(pid, tid); err == nil {
			setSched(t, sched)
		}
		if delay, err := fs.Schedstat(pid, tid); err == nil {
			setDelay(t, delay)
		}
		if status, err := fs.ThreadStatus(pid, tid); err == nil {
			t.Affinity = status.CPUsAllowed
			t.Have |= HaveAffinity
		}
		tasks = append(tasks, t)
	}
	return tasks, len(tids), err
}
