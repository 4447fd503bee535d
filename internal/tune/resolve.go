package tune

import (
	"errors"
	"fmt"
	"strconv"

	"piton/internal/kernel"
)

// task is one thread as it was when it was looked at.
type task struct {
	pid, tid   kernel.TID
	startTicks uint64
	comm       string
	state      byte
	flags      uint32
}

func (k task) id() taskID { return taskID{k.tid, k.startTicks} }

// taskID names a thread for good, so far as /proc can.
type taskID struct {
	tid        kernel.TID
	startTicks uint64
}

const (
	flagKernelThread  = 0x00200000 // PF_KTHREAD
	flagNoSetAffinity = 0x04000000 // PF_NO_SETAFFINITY
)

// resolver finds the threads of several targets at about the same time.
type resolver struct {
	*Tuner
	children map[kernel.TID][]kernel.TID // read when a tree is first asked for
	// skip says which threads of processes need not be read; nil = none.
	skip func(pid, tid kernel.TID) bool
}

// resolve returns the threads that the target covers, its own process's first,
// and the target with its start time filled in. An error that Is ErrGone means
// that there is no such task any more.
func (t *resolver) resolve(target Target) ([]task, Target, error) {
	status, err := t.o.Proc.Status(target.TID)
	if err != nil {
		return nil, target, err
	}
	self, err := t.look(status.TGID, target.TID)
	if err != nil {
		return nil, target, err
	}
	if target.StartTicks != 0 && target.StartTicks != self.startTicks {
		return nil, target, fmt.Errorf("%d now names another task, %s: the one that was meant: %w",
			target.TID, printable(self.comm), ErrGone)
	}
	target.StartTicks = self.startTicks
	pids := []kernel.TID{self.pid}
	switch target.Scope {
	case ScopeThread:
		return []task{self}, target, nil
	case ScopeTree:
		if pids, err = t.tree(self.pid); err != nil {
			return nil, target, err
		}
	}
	var out []task
	for _, pid := range pids {
		threads, err := t.threads(pid, t.skip)
		if err != nil && !errors.Is(err, ErrGone) {
			return nil, target, err
		}
		out = append(out, threads...)
	}
	if len(out) == 0 {
		return nil, target, fmt.Errorf("process %d: %w", self.pid, ErrGone)
	}
	return out, target, nil
}

// look reads one thread of a process.
func (t *Tuner) look(pid, tid kernel.TID) (task, error) {
	st, err := t.o.Proc.ThreadStat(pid, tid)
	if err != nil {
		return task{}, err
	}
	return task{
		pid: pid, tid: tid, startTicks: st.StartTicks,
		comm: string(st.Comm), state: st.State, flags: st.Flags,
	}, nil
}

// threads reads every thread of a process but those to skip; those that end
// meanwhile are left out.
func (t *Tuner) threads(pid kernel.TID, skip func(pid, tid kernel.TID) bool) ([]task, error) {
	tids, err := t.o.Proc.Threads(pid)
	if err != nil {
		return nil, err
	}
	out := make([]task, 0, len(tids))
	for _, tid := range tids {
		if skip != nil && skip(pid, tid) {
			continue
		}
		k, err := t.look(pid, tid)
		if errors.Is(err, ErrGone) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, k)
	}
	return out, nil
}

// tree returns a process and its descendants, parents before children.
func (t *resolver) tree(root kernel.TID) ([]kernel.TID, error) {
	if t.children == nil {
		if err := t.readChildren(); err != nil {
			return nil, err
		}
	}
	out, seen := []kernel.TID{root}, map[kernel.TID]bool{root: true}
	for i := 0; i < len(out); i++ {
		for _, child := range t.children[out[i]] {
			if !seen[child] { // numbers may be reused while they are listed
				seen[child] = true
				out = append(out, child)
			}
		}
	}
	return out, nil
}

func (t *resolver) readChildren() error {
	pids, err := t.o.Proc.Processes()
	if err != nil {
		return err
	}
	t.children = map[kernel.TID][]kernel.TID{}
	for _, pid := range pids {
		st, err := t.o.Proc.Stat(pid)
		if errors.Is(err, ErrGone) {
			continue
		}
		if err != nil {
			return err
		}
		t.children[st.PPID] = append(t.children[st.PPID], pid)
	}
	return nil
}

// printable is a task's name for a sentence: names that would upset a terminal
// or the reader are quoted.
func printable(comm string) string {
	quoted := strconv.Quote(comm)
	if comm != "" && quoted == `"`+comm+`"` {
		return comm
	}
	return quoted
}
