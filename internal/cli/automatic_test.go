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

	"piton/internal/cli/exit"
)

// TestPaperAutomatic interrupts a search in the middle, which reverts what it tries and ends
// its processes, and gives the same command again.
func TestPaperAutomatic(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped with -short: searches for some seconds")
	}
	severalCPUs(t)
	h, v := newHome(t), newValidator(t)
	args := []string{"bench", "paper", "automatic", "--budget", "20s", "--yes", "-o", "json"}
	cmd := h.program(args...)
	var errs strings.Builder
	cmd.Stderr = &errs
	require.NoError(t, cmd.Start())
	workload := workloadOf(t, cmd)
	eventually(t, "a search", func() bool {
		b, _ := os.ReadFile(filepath.Join(filepath.Dir(h.resultsFile()), "journal"))
		return strings.Contains(string(b), "tried by auto")
	})
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	_ = cmd.Wait()
	assert.Equal(t, exit.Interrupted, cmd.ProcessState.ExitCode(), errs.String())
	assert.Contains(t, errs.String(), "the same command resumes it")
	_, err := os.Stat(fmt.Sprint("/proc/", workload))
	assert.ErrorIs(t, err, os.ErrNotExist)
	nothingInForce := func() {
		entries := ofType(jsonLines(t, h.run("journal", "-o", "json").out), "entry")
		assert.NotEmpty(t, entries)
		for _, e := range entries {
			assert.Equal(t, "nothing changed", e["state"], "%v", e)
		}
	}
	nothingInForce()

	r := h.run(args...)
	require.Zero(t, r.code, r.err)
	assert.Contains(t, r.err, "resuming the reproduction of")
	v.lines(r.out, r.err, "bench")
	nothingInForce()
	searched := map[any]int{}
	for _, run := range ofType(jsonLines(t, r.out), "run") {
		assert.Empty(t, run["error"])
		if detail, ok := run["detail"].(map[string]any); ok {
			assert.NotEmpty(t, detail["candidates"])
			assert.EqualValues(t, -1, run["index"], "the search is no run")
		}
		searched[run["placement"]]++
	}
	assert.GreaterOrEqual(t, searched["normal"], 6, "the first cell is measured, whatever it takes")
	id := ofType(jsonLines(t, r.out), "study")[0]["grid"].(string)
	again := h.run("bench", "report", id, "-o", "markdown")
	require.Zero(t, again.code, again.err)
	assert.Contains(t, again.out, "| nqueens | without load | ")
	assert.Contains(t, again.out, "not run here: ")
}
