package target

import "piton/internal/sample"

// MeansProcess reports whether the expression means the process that a row
// stands for, whose full Identity was read. Rows of threads are never meant.
func (e Expr) MeansProcess(t *sample.Task) bool {
	return e.match != nil && t.ID != nil && t.IsProcess() && e.match(t)
}

// MeansThread reports whether a thread of this name is meant by its own name,
// which a name, a glob and a regex can do.
func (e Expr) MeansThread(comm string) bool { return e.thread != nil && e.thread(comm) }
