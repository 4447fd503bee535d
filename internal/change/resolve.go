package change

import (
	"errors"
	"fmt"
	"slices"

	"piton/internal/change/attr"
	"piton/internal/kernel"
)

// resolver finds the threads of several targets at about the same time.
type resolver struct {
	*Tuner
	children map[kernel.TID][]kernel.TID // read when a tree is first asked for
	starts   map[kernel.TID]uint64       // of its processes, in ticks
	// skip says which threads of processes need not be read; nil = none.
	skip func(pid, tid kernel.TID) bool
	// holds, when not nil, are the processes of one thread that were resolved.
	holds map[attr.ID]kernel.Process
}

// resolve returns the threads that the target covers, its own process's first,
// and the target with its start time filled in. An error that Is attr.ErrGone means
// that there is no such task any more.
func (t *resolver) resolve(target Target) ([]attr.Task, Target, error) {
	if k, ok := t.single(target); ok {
		target.StartTicks = k.StartTicks
		return []attr.Task{k}, target, nil
	}
	status, err := t.Proc.Status(target.TID)
	if err != nil {
		return nil, target, err
	}
	// The first thread comes first and last: in between, the number has meant this process.
	leader, err := t.Look(status.TGID, status.TGID)
	if err != nil {
		return nil, target, err
	}
	self := leader
	if target.TID != leader.TID {
		if self, err = t.Look(leader.PID, target.TID); err != nil {
			return nil, target, err
		}
	}
	if err := meant(target, self); err != nil {
		return nil, target, err
	}
	target.StartTicks = self.StartTicks
	var out []attr.Task
	switch target.Scope {
	case ScopeThread:
		return []attr.Task{self}, target, nil
	case ScopeTree:
		out, err = t.tree(leader)
	default:
		out, err = t.threads(leader.PID, leader.StartTicks, t.skip)
	}
	if err != nil && !errors.Is(err, attr.ErrGone) {
		return nil, target, err
	}
	if len(out) == 0 {
		return nil, target, fmt.Errorf("process %d: %w", self.PID, attr.ErrGone)
	}
	return out, target, nil
}

// meant returns an error that Is attr.ErrGone if the target was another task than the one
// that has its number now.
func meant(target Target, k attr.Task) error {
	if target.StartTicks == 0 || target.StartTicks == k.StartTicks {
		return nil
	}
	return fmt.Errorf("%d now names another task, %s: the one that was meant: %w", target.TID, attr.Printable(k.Comm), attr.ErrGone)
}

// threads reads every thread of a process that started then, in ticks, but those to
// skip; those that end meanwhile are left out.
func (t *Tuner) threads(pid kernel.TID, startTicks uint64, skip func(pid, tid kernel.TID) bool) ([]attr.Task, error) {
	tids, err := t.Proc.Threads(pid)
	if err != nil {
		return nil, err
	}
	out := make([]attr.Task, 0, len(tids))
	for _, tid := range tids {
		if skip != nil && skip(pid, tid) {
			continue
		}
		k, err := t.Look(pid, tid)
		if errors.Is(err, attr.ErrGone) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, k)
	}
	leader, err := t.Look(pid, pid)
	if err == nil && leader.StartTicks != startTicks {
		err = fmt.Errorf("process %d: %w", pid, attr.ErrGone)
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// tree returns the threads of a process and of its descendants, parents before children.
// The children of one that has ended are left out: they may be those of the next process
// with its number.
func (t *resolver) tree(root attr.Task) (out []attr.Task, err error) {
	if err := t.readChildren(); err != nil {
		return nil, err
	}
	if t.starts[root.PID] != root.StartTicks {
		return nil, fmt.Errorf("process %d: %w", root.PID, attr.ErrGone)
	}
	seen := map[kernel.TID]bool{root.PID: true}
	for pids := []kernel.TID{root.PID}; len(pids) > 0; pids = pids[1:] {
		threads, err := t.threads(pids[0], t.starts[pids[0]], t.skip)
		if errors.Is(err, attr.ErrGone) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, threads...)
		for _, child := range t.children[pids[0]] {
			if !seen[child] { // numbers may be reused while they are listed
				seen[child] = true
				pids = append(pids, child)
			}
		}
	}
	return out, nil
}

// readChildren reads all processes, the first time.
func (t *resolver) readChildren() error {
	if t.children != nil {
		return nil
	}
	pids, err := t.Proc.Processes()
	if err != nil {
		return err
	}
	t.children, t.starts = map[kernel.TID][]kernel.TID{}, map[kernel.TID]uint64{}
	for _, pid := range pids {
		st, err := t.Proc.Stat(pid)
		if errors.Is(err, attr.ErrGone) {
			continue
		}
		if err != nil {
			return err
		}
		t.children[st.PPID] = append(t.children[st.PPID], pid)
		t.starts[pid] = st.StartTicks
	}
	for parent, children := range t.children { // the number may have been reused since it was read
		t.children[parent] = slices.DeleteFunc(children, func(pid kernel.TID) bool { return t.starts[pid] < t.starts[parent] })
	}
	return nil
}
