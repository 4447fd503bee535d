// Package rescue finds the real-time tasks that keep everything else from running.
// It reads only what can be read without waiting for an ordinary task, and changes
// nothing.
//
// Start at Measure.
package rescue

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"piton/internal/kernel"
	"piton/internal/procfs"
)

// Task is a thread under FIFO, RR or DEADLINE.
type Task struct {
	PID, TID   kernel.TID
	StartTicks uint64 // with TID it names the thread for good
	Comm       string
	Policy     kernel.Policy
	RTPrio     int     // 1..99; 0 for DEADLINE
	Share      float64 // of one CPU over the window, 0..1
	Waiting    bool    // it was runnable at both ends of the window, whatever it got
	LastCPU    int
	Kernel     bool // a kernel thread
}

// eats is the share of a CPU from which a task counts as eating it.
const eats = 0.01

// Eating reports whether the task takes CPU time from others, or will once those
// before it do not.
func (t Task) Eating() bool { return t.Share >= eats || t.Waiting }

// step is how often a wait looks whether it is to end.
const step = 50 * time.Millisecond

// Measure watches the real-time tasks of the machine for the length of window, the
// caller's own left out, and returns all of them: those that took most first, then
// by priority. It waits by sleep, which should need no other thread: kernel.Sleep.
// It ends early, with the error of ctx, when that ends.
func Measure(ctx context.Context, fs procfs.FS, window time.Duration, sleep func(time.Duration)) ([]Task, error) {
	tasks, err := find(fs)
	if err != nil {
		return nil, err
	}
	before := make([]uint64, len(tasks))
	for i, t := range tasks {
		before[i] = ran(fs, t)
	}
	start := time.Now()
	for left := window; left > 0; left = window - time.Since(start) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		sleep(min(left, step))
	}
	var out []Task
	for i, t := range tasks {
		st, err := fs.ThreadStat(t.PID, t.TID)
		if err != nil || st.StartTicks != t.StartTicks || !st.Policy.RealTime() {
			continue // it has ended, or is ordinary now
		}
		if now := ran(fs, t); now > before[i] {
			t.Share = float64(now-before[i]) / float64(time.Since(start))
		}
		t.Waiting = t.Waiting && st.State == 'R'
		t.Policy, t.RTPrio, t.LastCPU = st.Policy, int(st.RTPrio), int(st.LastCPU)
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b Task) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), -compare(a.Waiting, b.Waiting), cmp.Compare(b.RTPrio, a.RTPrio), cmp.Compare(a.TID, b.TID))
	})
	return out, nil
}

func compare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// find returns every real-time thread, and in Waiting whether it is runnable.
func find(fs procfs.FS) ([]Task, error) {
	pids, err := fs.Processes()
	if err != nil {
		return nil, err
	}
	var out []Task
	self := kernel.TID(os.Getpid())
	for _, pid := range pids {
		tids, err := fs.Threads(pid)
		if pid == self || errors.Is(err, procfs.ErrGone) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, tid := range tids {
			st, err := fs.ThreadStat(pid, tid)
			if err != nil || !st.Policy.RealTime() {
				continue // one that cannot be read has ended
			}
			out = append(out, Task{PID: pid, TID: tid, StartTicks: st.StartTicks, Comm: string(st.Comm), Policy: st.Policy,
				RTPrio: int(st.RTPrio), Waiting: st.State == 'R', Kernel: st.Flags&procfs.FlagKernelThread != 0})
		}
	}
	return out, nil
}

// userTick is one of USER_HZ, the unit of the times in stat.
const userTick = uint64(10 * time.Millisecond)

// ran returns how long a thread has run, in ns: by schedstat, else by stat, which
// is coarser.
func ran(fs procfs.FS, t Task) uint64 {
	if s, err := fs.Schedstat(t.PID, t.TID); err == nil {
		return s.RunNs
	}
	st, err := fs.ThreadStat(t.PID, t.TID)
	if err != nil {
		return 0
	}
	return (st.UserTicks + st.SystemTicks) * userTick
}
