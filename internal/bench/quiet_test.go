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
	share, busy, ok := now.Since(then)
	require.True(t, ok)
	assert.InDelta(t, 20.0/200, share, 1e-12)
	assert.Equal(t, 800*time.Millisecond, busy, "idle time and what was stolen is not used by others")
	_, _, ok = then.Since(now)
	assert.False(t, ok, "counters do not run backwards")
	_, _, ok = then.Since(then)
	assert.False(t, ok, "no tick passed")
	_, _, ok = now.Since(ReadHostTicks(procfs.New(t.TempDir())))
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

// TestQuietIsMeasured: what others used during the runs is known from the CPUs' counters.
func TestQuietIsMeasured(t *testing.T) {
	r := study([]float64{1, 1, 1, 1})
	assert.Empty(t, Judge(r).Quiet(), "an old study does not tell")
	assert.False(t, Judge(r).IsQuiet())
	set := func(others ...float64) {
		for i := range r.Runs {
			r.Runs[i].Wall, r.Runs[i].HaveOthers, r.Runs[i].Others = time.Second, true, others[i%len(others)]
		}
	}
	set(0.02, 0)
	assert.Equal(t, "quiet (others used 1 % of a CPU)", Judge(r).Quiet())
	assert.True(t, Judge(r).IsQuiet())
	set(-0.01)
	assert.Equal(t, "quiet (others used 0 % of a CPU)", Judge(r).Quiet())
	set(0.4)
	assert.Equal(t, "not quiet: others used 40 % of a CPU", Judge(r).Quiet())
	set(1.2, 1.4)
	assert.Equal(t, "not quiet: others used 1.3 CPUs", Judge(r).Quiet())
	r.Study.Noise = 2
	assert.Equal(t, "2 processes of background load; others than the runs used 1.3 CPUs", Judge(r).Quiet())
	assert.False(t, Judge(r).IsQuiet())
}
