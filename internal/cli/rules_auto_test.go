package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
)

// autoRule is a file with a rule that searches the placement of a pacer, and one of others.
func autoRule(metric, comm string) string {
	return fmt.Sprintf("version = 1\n[[rule]]\nname = 'searched'\ncommand = '%s$'\nplace = 'auto'\nmetric = '%s'\nbudget = '12s'\n[[rule]]\nname = 'other'\ncomm = '%s'\nnice = 3\n",
		strings.TrimPrefix(metric, "file:"), metric, comm)
}

// TestRulesAuto searches the placement of a process, meets others meanwhile, and undoes what
// was kept.
func TestRulesAuto(t *testing.T) {
	if testing.Short() {
		t.Skip("takes up to half a minute")
	}
	all := severalCPUs(t)
	good := cpuset.Of(all.Last())
	h, comm := newHome(t), "pt-rules-8"
	sleep := copyOf(t, "sleep", t.TempDir(), comm)
	journal := filepath.Join(filepath.Dir(h.resultsFile()), "journal")
	tried := func(n int) func() bool {
		return func() bool {
			b, _ := os.ReadFile(journal)
			return strings.Count(string(b), `rule \"searched\": tried by auto`) >= n
		}
	}
	pid, metric, _ := pacer(t, good)
	require.NoError(t, sched.SetAffinity(pid, all.AndNot(good)), "where it is slow")
	before := affinityOf(t, pid)
	d := startRules(t, h, autoRule(metric, comm))
	eventually(t, "its placement is searched", tried(1))
	assert.Empty(t, d.lines("auto"))
	other := child(t, sleep, "600")
	eventually(t, "another has its rule", func() bool { return len(d.done(other)) > 0 })
	eventually(t, "the search ends", func() bool { return len(d.lines("auto")) > 0 })
	line := d.lines("auto")[0]
	assert.EqualValues(t, pid, line["pid"])
	assert.Equal(t, "searched", line["rule"])
	assert.Equal(t, metric, line["metric"])
	assert.Nil(t, line["error"])
	assert.NotEqual(t, "kernel", line["kept"], "it is ten times as fast elsewhere")
	assert.Equal(t, line["cpus"], affinityOf(t, pid))
	t.Logf("kept %v after %v periods: %v", line["kept"], line["periods"], line["reason"])
	r := h.run("rules", "stop", "--undo")
	require.Zero(t, r.code, r.err)
	assert.Zero(t, d.wait(), d.errs)
	assert.Equal(t, before, affinityOf(t, pid))
	require.NoError(t, syscall.Kill(int(pid), syscall.SIGKILL))

	b, err := os.ReadFile(journal)
	require.NoError(t, err)
	already := strings.Count(string(b), `rule \"searched\": tried by auto`)
	pid, metric, _ = pacer(t, good)
	before = affinityOf(t, pid)
	d = startRules(t, h, autoRule(metric, comm))
	eventually(t, "its placement is searched", tried(already+1))
	require.NoError(t, syscall.Kill(int(d.pid), syscall.SIGTERM))
	assert.Zero(t, d.wait(), d.errs)
	assert.Equal(t, before, affinityOf(t, pid), "as it was before the daemon ended")
	require.Len(t, d.lines("auto"), 1)
	assert.Contains(t, d.lines("auto")[0]["error"], "piton rules run ends; everything is as it was")
	assert.Equal(t, "kernel", d.lines("auto")[0]["kept"])
}
