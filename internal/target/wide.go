package target

import (
	"fmt"

	"piton/internal/kernel"
	"piton/internal/sample"
)

// Breadth is how many of a machine's processes are meant. Piton and its ancestors
// are not counted.
type Breadth struct {
	Meant, Processes int
	UsersOnly        bool // kernel threads are not counted either
}

func (b Breadth) String() string {
	if b.UsersOnly {
		return fmt.Sprintf("%d of the %d processes that are no kernel threads", b.Meant, b.Processes)
	}
	return fmt.Sprintf("%d of the %d processes", b.Meant, b.Processes)
}

// whole reports whether these are all, or at least half under more than one name. The only
// process, as of a container, is no more than what was asked for.
func (b Breadth) whole(names int) bool {
	return b.Meant > 1 && (b.Meant == b.Processes || 2*b.Meant >= b.Processes && names > 1)
}

// Wide reports whether the patterns among the expressions (globs, regular
// expressions, user: and cgroup:) mean so much of the machine that a change of it
// needs a confirmation: of all processes or of those of users, every one, or at
// least half under more than one name.
func Wide(exprs []Expr, tasks []*sample.Task, self kernel.TID) (b Breadth, wide bool) {
	chosen := make([]bool, len(tasks))
	own := ancestors(tasks, self)
	for _, e := range exprs {
		if e.pattern {
			e.choose(tasks, self, own, chosen)
		}
	}
	meant, names := map[kernel.TID]bool{}, map[string]bool{}
	for i, t := range tasks {
		if chosen[i] && !own[t.TGID] {
			meant[t.TGID], names[t.ID.Comm] = true, true
		}
	}
	all, users := Breadth{}, Breadth{UsersOnly: true}
	for _, t := range tasks {
		if !t.IsProcess() || own[t.TGID] {
			continue
		}
		all.count(meant[t.TGID])
		if !t.IsKernel() {
			users.count(meant[t.TGID])
		}
	}
	for _, b := range []Breadth{all, users} {
		if b.whole(len(names)) {
			return b, true
		}
	}
	return all, false
}

func (b *Breadth) count(meant bool) {
	b.Processes++
	if meant {
		b.Meant++
	}
}

// ancestors are the process self and those that it descends from.
func ancestors(tasks []*sample.Task, self kernel.TID) map[kernel.TID]bool {
	parents := map[kernel.TID]kernel.TID{}
	for _, t := range tasks {
		if t.IsProcess() {
			parents[t.TID] = t.PPID
		}
	}
	own := map[kernel.TID]bool{}
	for pid := self; pid > 0 && !own[pid]; pid = parents[pid] {
		own[pid] = true
	}
	return own
}
