package cli

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/bench/runner"
	"piton/internal/cpuset"
)

// autoRuns is how often piton auto is to find a node: it takes minutes, and the emulated
// machine of make guests has no time for it.
const autoRuns = "PITON_VM_AUTO_RUNS"

// paceOf is the rate of a pacer over a second.
func paceOf(t *testing.T, metric string) float64 {
	t.Helper()
	read := func() float64 {
		v, err := runner.ReadNumber(strings.TrimPrefix(metric, "file:"))
		require.NoError(t, err)
		return v
	}
	began, before := time.Now(), read()
	time.Sleep(time.Second)
	return (read() - before) / time.Since(began).Seconds()
}

// rates are the periods of a search in order, and what went out.
func rates(t *testing.T, r result) string {
	t.Helper()
	var b strings.Builder
	for _, line := range jsonLines(t, r.out) {
		switch line["type"] {
		case "period":
			fmt.Fprintf(&b, "%v %.0f, ", line["candidate"], line["rate"])
		case "out":
			fmt.Fprintf(&b, "out: %v (%v), ", line["candidate"], line["reason"])
		}
	}
	return b.String()
}

// TestVMAutoFindsItsNode places a process that is fast on one node, which the load does not
// show.
func TestVMAutoFindsItsNode(t *testing.T) {
	s := needVM(t)
	runs, err := strconv.Atoi(os.Getenv(autoRuns))
	if err != nil || s.nodes < 2 {
		t.Skip("set " + autoRuns + " in a machine of several nodes")
	}
	found := 0
	for i := range runs {
		good := block(i%s.nodes*s.perNode(), s.perNode())
		h := newHome(t)
		pid, metric, _ := pacer(t, good)
		began := time.Now()
		r := h.run("auto", fmt.Sprint(pid), "--metric", metric, "-o", "json")
		require.Zero(t, r.code, r.err)
		end := lastOfAuto(t, r)
		cpus, err := cpuset.Parse(end["cpus"].(string))
		require.NoError(t, err)
		// What is widened again stays where it was, until something else runs there.
		there := end["kept"] == "kernel" && paceOf(t, metric) > 900
		if cpus.SubsetOf(good) || there {
			found++
		} else {
			t.Log("a miss:", rates(t, r))
		}
		t.Logf("run %2d: fast on %s: kept %v (%v), %v before, %v, %v periods in %.0f s", i, good, end["kept"], end["cpus"], end["before"], end["reason"], end["periods"], time.Since(began).Seconds())
		assert.Zero(t, h.run("undo", "--all").code)
		_ = syscall.Kill(int(pid), syscall.SIGKILL)
	}
	t.Logf("%d of %d found their node", found, runs)
	assert.Equal(t, runs, found)
}
