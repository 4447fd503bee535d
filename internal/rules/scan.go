package rules

import (
	"slices"
	"time"

	"piton/internal/kernel"
	"piton/internal/sample"
)

// Scan takes in the list of all processes, with full Identities: it meets those whose
// events were missed and forgets those that have ended; known ones stay as they are.
// Events that come while the list is read have to wait until Scan is done with it. A
// *Conflict of a process is counted, and Set.Check lists them.
func (e *Engine) Scan(tasks []*sample.Task, now time.Duration) {
	e.advance(now)
	e.scan = false
	alive := make(map[listed]bool, len(tasks))
	for _, t := range tasks {
		if t.IsProcess() {
			alive[listed{t.TGID, t.StartTicks}] = true
		}
	}
	for pid, p := range e.procs {
		if !alive[listed{pid, p.startTicks}] {
			e.forget(p)
		}
	}
	for _, t := range tasks {
		_ = e.Exec(t, 0, now) // counted
	}
}

// listed names a process as a list does.
type listed struct {
	pid        kernel.TID
	startTicks uint64
}

// Reload puts another file's rules in force. Rules that are the same as before go on:
// what they were applied to and what waits for them stays. The others meet the running
// processes in the scan that is needed then.
func (e *Engine) Reload(set *Set) {
	same := make(map[Spec]*Rule, len(set.Rules))
	for _, r := range set.Rules {
		same[r.Spec] = r
	}
	for pid, p := range e.procs {
		for i, r := range p.done {
			p.done[i] = same[r.Spec]
		}
		p.done = slices.DeleteFunc(p.done, func(r *Rule) bool { return r == nil })
		if p.rule != nil {
			p.rule = same[p.rule.Spec]
		}
		if p.rule == nil {
			e.queue.remove(p)
			p.watch = watch{}
			if len(p.done) == 0 {
				delete(e.procs, pid)
			}
		}
	}
	e.set, e.scan = set, true
}
