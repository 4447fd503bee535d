package bench

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/procfs"
)

func TestStolen(t *testing.T) {
	root := t.TempDir()
	read := func(stat string) HostTicks {
		require.NoError(t, os.MkdirAll(filepath.Join(root, "proc"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, "proc", "stat"), []byte(stat), 0o600))
		return ReadHostTicks(procfs.New(root))
	}
	then := read("cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 10 0 5 80 0 0 0 5 0 0\ncpu1 10 0 5 80 0 0 0 5 0 0\n")
	now := read("cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 90 0 5 80 0 0 0 25 70 0\ncpu1 10 0 5 180 0 0 0 5 0 0\n")
	share, ok := now.Stolen(then)
	require.True(t, ok)
	assert.InDelta(t, 20.0/200, share, 1e-12)
	_, ok = then.Stolen(now)
	assert.False(t, ok, "counters do not run backwards")
	_, ok = then.Stolen(then)
	assert.False(t, ok, "no tick passed")
	_, ok = now.Stolen(ReadHostTicks(procfs.New(t.TempDir())))
	assert.False(t, ok)
}

func TestReportSpeaksOfSteal(t *testing.T) {
	r := study([]float64{1, 1, 1, 1, 1, 1})
	for i := range r.Runs {
		r.Runs[i].Wall, r.Runs[i].HaveSteal = time.Second, true
		r.Runs[i].StealShare = 0.004
	}
	assert.Empty(t, Judge(r).Warnings)
	r.Runs[0].Wall, r.Runs[0].StealShare = 5*time.Second, 0.1
	assert.Equal(t, []string{"the hypervisor took 5.2 % of the CPUs' time during the runs"}, Judge(r).Warnings)
}
