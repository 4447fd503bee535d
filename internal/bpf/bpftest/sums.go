// Package bpftest compares what eBPF told with what the kernel counted, and
// starts the children that tests of eBPF watch. Only tests import it.
package bpftest

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Told asserts that all moves that the kernel counted were told. Where tasks are
// hidden (bpf.HidesTasks) a few may be missing, as an agent seldom runs.
func Told(t testing.TB, counted, told uint64, hides bool, what string, args ...any) {
	t.Helper()
	var missing uint64
	if hides {
		missing = 3 + counted/100
	}
	assert.LessOrEqualf(t, told, counted, what, args...)
	assert.LessOrEqualf(t, counted, told+missing, what, args...)
}
