package bpftest

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"piton/internal/bpf/object"
	"piton/internal/feature"
	"piton/internal/kernel"
)

// Must opens a subject, or skips with the reason. On a kernel that has what
// it takes, with all rights, a refusal is a failure.
func Must[T any](tb testing.TB, major, minor int, open func() (T, error)) T {
	tb.Helper()
	subject, err := open()
	if err == nil {
		return subject
	}
	able := len(object.MissingCapabilities()) == 0 && kernel.InitialNamespace("pid") && kernel.InitialNamespace("user") && !object.ReleaseBefore(major, minor)
	if _, noBTF := os.Stat(object.BTFFile); errors.Is(err, feature.ErrNotSupported) && (!able || noBTF != nil) {
		tb.Skip(err)
	}
	require.NoError(tb, err)
	return subject
}

// Tick is how often a test looks for something that has to happen.
const Tick = 20 * time.Millisecond

// InGuest: the tests run in a machine of make guests.
var InGuest = os.Getenv("PITON_VM_SHAPE") != ""

// Patience is how long it waits: the emulated CPUs of a guest are one of the host's, which may be busy.
var Patience = func() time.Duration {
	if InGuest {
		return 5 * time.Minute
	}
	return time.Minute
}()
