// Package bpftest holds what tests need to know of the machine before they ask
// eBPF for exact sums. Only tests import it.
package bpftest

import (
	"testing"

	"piton/internal/bpf"
)

// NeedAllTasks skips a test on a machine that hides tasks from eBPF, as some
// hypervisors' own agents are. Sums came out one short there now and then; that
// moves made while a hidden task runs are missed is a guess that nobody has
// shown yet. The test machines of make vmtest hide none.
func NeedAllTasks(t testing.TB) {
	t.Helper()
	w, err := bpf.OpenWalk(bpf.WalkOptions{})
	if err != nil {
		return // the test itself says what it needs
	}
	defer w.Close()
	records, _, err := w.Read(nil, true)
	if err != nil {
		return
	}
	for i := range records {
		if records[i].TID == 1 {
			return
		}
	}
	t.Skip("this machine hides process 1 from eBPF; sums have come out one short here, and why is not known")
}
