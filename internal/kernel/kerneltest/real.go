// Package kerneltest is for tests that change their own children with the real kernel.
// Start at Of.
package kerneltest

import (
	"testing"

	"piton/internal/kernel"
)

// Of returns a thread of a child of the test, which is held until the test ends.
func Of(tb testing.TB, pid, tid kernel.TID) kernel.Task {
	tb.Helper()
	p, err := kernel.SystemWriter().Hold(pid, 0)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = p.Close() })
	return p.Thread(tid, 0)
}
