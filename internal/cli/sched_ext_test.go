package cli

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const schedExtState = "/sys/kernel/sched_ext/state"

// schedExt reads whether a scheduler is in force, "enabled" or "disabled".
func schedExt(t *testing.T) string {
	t.Helper()
	state, err := os.ReadFile(schedExtState)
	require.NoError(t, err)
	return strings.TrimSpace(string(state))
}

// needSchedExt skips where tests could not load a scheduler, or where it would be
// a change of somebody's machine.
func needSchedExt(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(schedExtState); err != nil || os.Getuid() != 0 {
		t.Skip("needs root and a kernel with CONFIG_SCHED_CLASS_EXT, as make guests boots")
	}
}

// schedExtRun is the one run of a benchmark.
func schedExtRun(t *testing.T, args ...string) map[string]any {
	t.Helper()
	r := newHome(t).run(append(append([]string{"bench"}, args...), "--runs", "1", "--warmup", "0", "-o", "json")...)
	require.Zero(t, r.code, "%s", r.err)
	return ofType(jsonLines(t, r.out), "run")[0]
}

func TestSchedExtChat(t *testing.T) {
	needSchedExt(t)
	run := schedExtRun(t, "chat", "--rooms", "2", "--pairs", "2", "--messages", "5", "--mapping", "aggregate", "--place", "normal")
	detail := run["detail"].(map[string]any)
	assert.Equal(t, "sched_ext", detail["aggregation"])
	assert.EqualValues(t, 2*20*20*5, detail["heard"])
	counted := detail["aggregated"].(map[string]any)
	assert.Positive(t, counted["turns"])
	assert.Less(t, counted["spaces"], counted["turns"])
	assert.Positive(t, counted["bound"])
	assert.Equal(t, "disabled", schedExt(t), "it is in force for the run only")
}

func TestSchedExtPlacement(t *testing.T) {
	needSchedExt(t)
	run := schedExtRun(t, "matrix", "-n", "50", "--threads", "8", "--place", "aggregate")
	assert.Contains(t, run["reason"], "sched_ext: ")
	assert.Empty(t, run["error"])
	assert.Equal(t, false, run["touched"])
	assert.Equal(t, "disabled", schedExt(t))
}

// Whoever holds the scheduler, piton or its child, it ends with piton.
func TestSchedExtEndsWithPiton(t *testing.T) {
	needSchedExt(t)
	for name, args := range map[string][]string{
		"held by the child": {"chat", "--messages", "100000", "--mapping", "aggregate", "--place", "normal"},
		"held by piton":     {"nqueens", "-n", "18", "--threads", "4", "--place", "aggregate"},
	} {
		t.Run(name, func(t *testing.T) {
			piton := newHome(t).program(append(append([]string{"bench"}, args...), "--runs", "1", "--warmup", "0")...)
			require.NoError(t, piton.Start())
			defer func() { _ = piton.Process.Kill(); _ = piton.Wait() }()
			require.Eventually(t, func() bool { return schedExt(t) == "enabled" }, patience(), 50*time.Millisecond)
			require.NoError(t, piton.Process.Signal(syscall.SIGKILL))
			assert.Eventually(t, func() bool { return schedExt(t) == "disabled" }, patience(), 50*time.Millisecond)
		})
	}
}

// piton's own scheduler is partial: it decides about EXT tasks, and not about others.
func TestSchedExtDecides(t *testing.T) {
	needSchedExt(t)
	h, pid := newHome(t), sleeper(t)
	said := func(args ...string) string {
		r := h.run(append(args, "-o", "json", "--dry-run")...)
		require.Zero(t, r.code, r.err)
		return fmt.Sprint(ofType(jsonLines(t, r.out), "summary")[0]["warnings"])
	}
	piton := newHome(t).program("bench", "nqueens", "-n", "18", "--threads", "4", "--place", "aggregate", "--runs", "1", "--warmup", "0")
	require.NoError(t, piton.Start())
	defer func() { _ = piton.Process.Kill(); _ = piton.Wait() }()
	require.Eventually(t, func() bool { return schedExt(t) == "enabled" }, patience(), 50*time.Millisecond)
	assert.NotContains(t, said("nice", fmt.Sprint(pid), "5"), "sched_ext")
	require.Zero(t, h.run("policy", fmt.Sprint(pid), "ext").code)
	assert.Regexp(t, "the sched_ext scheduler piton\\w* is in force: it decides whether nice counts", said("nice", fmt.Sprint(pid), "5"))
	assert.Contains(t, said("uclamp", fmt.Sprint(pid), "0,512"), "it decides whether uclamp counts")
	assert.Contains(t, h.run("doctor").out, "which decides whether nice, slices, clamps and weights count")
}
