package feature

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestProbeKeepsWhatItCouldTell(t *testing.T) {
	missing := &Missing{Feature: "x", Needs: "CAP_X", Err: syscall.EACCES}
	for _, tc := range []struct {
		name    string
		answers []error
		want    []error
		calls   int
	}{
		{"there", []error{nil}, []error{nil, nil, nil}, 1},
		{"not there", []error{missing}, []error{missing, missing, missing}, 1},
		{"could not tell, then there", []error{syscall.EMFILE, nil}, []error{syscall.EMFILE, nil, nil}, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			calls := 0
			f := Feature{try: func() error { calls++; return tc.answers[calls-1] }}
			for _, want := range tc.want {
				assert.Equal(t, want, f.Probe())
			}
			assert.Equal(t, tc.calls, calls)
		})
	}
	assert.ErrorIs(t, missing, ErrNotSupported)
	assert.ErrorIs(t, missing, syscall.EACCES)
	assert.Equal(t, "x: needs CAP_X", missing.Error())
}

func TestPerfRefusals(t *testing.T) {
	for errno, want := range map[syscall.Errno]string{
		syscall.EACCES: "CAP_PERFMON", syscall.EPERM: "CAP_PERFMON",
		syscall.ENOSYS: "CONFIG_PERF_EVENTS", syscall.ENOENT: "CONFIG_PERF_EVENTS",
	} {
		err := PerfMigrations(fmt.Errorf("perf_event_open: %w", errno))
		assert.ErrorIs(t, err, ErrNotSupported)
		assert.ErrorContains(t, err, want)
	}
	assert.NoError(t, PerfMigrations(nil))
	assert.False(t, errors.Is(PerfMigrations(syscall.EMFILE), ErrNotSupported), "could not tell")
}

func TestProbesOfThisKernel(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range All() {
		assert.False(t, seen[f.ID], f.ID)
		seen[f.ID] = true
		err := f.Probe()
		if missing, ok := errors.AsType[*Missing](err); ok {
			assert.NotEmpty(t, missing.Needs, f.ID)
			continue
		}
		require.NoError(t, err, "%s: a probe on a sound machine can tell", f.ID)
	}
	if os.Geteuid() == 0 {
		assert.NoError(t, trySchedstat())
		assert.NoError(t, tryProcessClock())
	}
}
