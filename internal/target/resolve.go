package target

import (
	"errors"
	"fmt"

	"piton/internal/kernel"
	"piton/internal/sample"
)

// NoMatchError is a target that means no task there is.
type NoMatchError struct {
	Target string
	Number bool // it was a PID or TID
	Thread bool // it meant threads
}

func (e NoMatchError) Error() string {
	if e.Number {
		return fmt.Sprintf("there is no process or thread %s", e.Target)
	}
	if e.Thread {
		return fmt.Sprintf("no thread matches %q", e.Target)
	}
	return fmt.Sprintf("no process matches %q", e.Target)
}

// Resolve returns the tasks that the expressions mean, in the order of tasks
// and each once. Expressions mean processes; a thread's row is meant by its
// number, or by a name, glob or regex that fits its own name and not its
// process's; thread:/regex/ means every thread whose own name fits. Only by its number does
// anything mean the process self, piton, only by number or name the processes that it
// descends from, whose command lines have piton's words, and only by number, name, glob or
// regex kernel threads.
//
// Each expression that means nothing adds a NoMatchError to the error, and the
// others' tasks are returned all the same.
func Resolve(exprs []Expr, tasks []*sample.Task, self kernel.TID) ([]*sample.Task, error) {
	chosen := make([]bool, len(tasks))
	own := ancestors(tasks, self)
	var errs []error
	for _, e := range exprs {
		if !e.choose(tasks, self, own, chosen) {
			errs = append(errs, NoMatchError{e.text, e.tid > 0, e.single})
		}
	}
	var out []*sample.Task
	for i := range tasks {
		if chosen[i] {
			out = append(out, tasks[i])
		}
	}
	return out, errors.Join(errs...)
}

// choose marks the tasks that e means, and reports whether there are any.
func (e Expr) choose(tasks []*sample.Task, self kernel.TID, own map[kernel.TID]bool, chosen []bool) bool {
	if e.match == nil {
		return false
	}
	found := false
	processes := map[kernel.TID]bool{}
	for i := range tasks {
		if t := tasks[i]; (t.IsProcess() || e.tid > 0 || e.single) && e.may(t, self, own) && e.match(t) {
			chosen[i], found = true, true
			processes[t.TGID] = true
		}
	}
	if e.thread == nil || e.single {
		return found
	}
	for i := range tasks {
		t := tasks[i]
		if !t.IsProcess() && !processes[t.TGID] && e.may(t, self, own) && e.thread(t.ID.Comm) {
			chosen[i], found = true, true
		}
	}
	return found
}

// may reports whether the task is one that the form of e can mean at all.
func (e Expr) may(t *sample.Task, self kernel.TID, own map[kernel.TID]bool) bool {
	switch {
	case e.tid > 0:
		return true
	case t.ID == nil || t.TGID == self || e.pattern && own[t.TGID]:
		return false
	}
	return !e.owner || !t.IsKernel()
}

// MeansProcess reports whether the expression means the process that a row
// stands for, whose full Identity was read. Rows of threads are never meant.
func (e Expr) MeansProcess(t *sample.Task) bool {
	return e.match != nil && t.ID != nil && t.IsProcess() && e.match(t)
}

// MeansThread reports whether a thread of this name is meant by its own name,
// which a name, a glob and a regex can do.
func (e Expr) MeansThread(comm string) bool { return e.thread != nil && e.thread(comm) }
