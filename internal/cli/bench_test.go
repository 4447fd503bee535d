package cli

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cli/exit"
	"piton/internal/kernel"
)

func TestBenchJSON(t *testing.T) {
	var h *home
	r := besideOthers(t, func() result {
		h = newHome(t)
		return h.run("bench", "nqueens", "-n", "8", "--place", "normal", "--place", fmt.Sprintf("cpu:%d", oneCPU(t)),
			"--place", "least-loaded", "--runs", "2", "--warmup", "0", "-o", "json")
	})
	require.Zero(t, r.code, r.err)
	lines := jsonLines(t, r.out)
	require.Len(t, ofType(lines, "study"), 1)
	runs := ofType(lines, "run")
	require.Len(t, runs, 6)
	for _, run := range runs {
		assert.Equal(t, "92", run["answer"])
		assert.Equal(t, "nqueens", run["workload"])
		for _, key := range []string{"wall_s", "user_s", "sys_s", "migrations", "placement"} {
			assert.NotNil(t, run[key], key)
		}
		if run["placement"] != "normal" {
			assert.NotEmpty(t, run["cpus"], "%v", run["placement"])
			assert.NotEmpty(t, run["reason"], "%v", run["placement"])
		}
	}
	assert.Len(t, ofType(lines, "comparison"), 2)
	kept, err := os.ReadFile(filepath.Join(strings.TrimPrefix(h.env[0], "XDG_STATE_HOME="), "piton/results.jsonl"))
	require.NoError(t, err)
	assert.Equal(t, 7, strings.Count(string(kept), "\n"), "the study and its runs")
}

func TestBenchTableAndCSV(t *testing.T) {
	h := newHome(t)
	niced := fmt.Sprint("batch+nice:", max(5, niceOf(t, kernel.TID(os.Getpid())))) // not lower than it is: not everybody may
	args := []string{"bench", "matrix", "-n", "20", "--threads", "3", "--place", "normal", "--place", niced, "--runs", "1", "--warmup", "0"}
	r := h.run(args...)
	require.Zero(t, r.code, r.err)
	assert.Contains(t, r.out, "too short to judge")
	assert.Contains(t, r.out, niced)
	r = h.run(append(args, "-o", "csv")...)
	require.Zero(t, r.code, r.err)
	records, err := csv.NewReader(strings.NewReader(r.out)).ReadAll()
	require.NoError(t, err)
	assert.Len(t, records, 3)
}

func TestBenchFailures(t *testing.T) {
	h := newHome(t)
	r := h.run("bench", "nqueens", "-n", "16", "--place", "normal", "--runs", "1", "--warmup", "0", "--timeout", "50ms")
	assert.Equal(t, exit.Failed, r.code)
	assert.Contains(t, r.err, "stopped after the time limit")
	r = h.run("bench", "nqueens", "-n", "6", "--place", "normal", "--place", "cpu:65000", "--runs", "1", "--warmup", "0")
	assert.Equal(t, exit.Some, r.code, r.err)
	assert.Contains(t, r.err, "cpu:65000")
}

// TestBenchNotStored prints everything, and then tells by its exit code that nothing is kept.
func TestBenchNotStored(t *testing.T) {
	taken := t.TempDir() // its results.jsonl is a directory
	require.NoError(t, os.MkdirAll(filepath.Join(taken, "piton/results.jsonl"), 0o700))
	full := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(full, "piton"), 0o700))
	require.NoError(t, os.Symlink("/dev/full", filepath.Join(full, "piton/results.jsonl")))
	places := map[string][]string{"no directory": {"XDG_STATE_HOME=/proc/nope"}, "a directory": {"XDG_STATE_HOME=" + taken},
		"a link": {"XDG_STATE_HOME=" + full}}
	if os.Geteuid() != 0 { // root's are below /var/lib then
		places["no home"] = nil
	}
	for name, env := range places {
		h := newHome(t)
		h.env = env
		for format, want := range map[string]string{"table": "normal", "json": `"type":"study"`, "csv": "nqueens,normal,0", "html": "</html>"} {
			r := h.run("bench", "nqueens", "-n", "6", "--place", "normal", "--runs", "1", "--warmup", "0", "-o", format)
			assert.Equal(t, exit.Some, r.code, "%s, %s: %s", name, format, r.err)
			assert.Contains(t, r.out, want, name)
			assert.Contains(t, r.err, "results not stored", name)
		}
	}
	h := newHome(t)
	h.env = []string{"XDG_STATE_HOME=/proc/nope"}
	r := h.run("bench", "nqueens", "-n", "16", "--place", "normal", "--runs", "1", "--warmup", "0", "--timeout", "50ms")
	assert.Equal(t, exit.Failed, r.code, "no run is worse than none kept: %s", r.err)
}

func TestWorkloadNeedsItsParent(t *testing.T) {
	r := newHome(t).run("__workload", "nqueens")
	assert.Equal(t, exit.Usage, r.code)
}

// workloadOf waits for a study's workload and returns its PID. It is the first
// child with another command line than the study's own: a child with the same one
// is Go's try of pidfds, before the first exec.
func workloadOf(t *testing.T, study *exec.Cmd) (pid int) {
	t.Helper()
	dir := "/proc/" + strconv.Itoa(study.Process.Pid)
	own, err := os.ReadFile(dir + "/cmdline")
	require.NoError(t, err)
	eventually(t, "the workload", func() bool {
		files, _ := filepath.Glob(dir + "/task/*/children")
		for _, file := range files {
			children, _ := os.ReadFile(file)
			for child := range strings.FieldsSeq(string(children)) {
				line, _ := os.ReadFile("/proc/" + child + "/cmdline")
				if len(line) > 0 && !bytes.Equal(line, own) {
					pid, _ = strconv.Atoi(child)
				}
			}
		}
		return pid > 0
	})
	return pid
}

// TestBenchInterrupted stops a study in the middle: what was measured is shown.
func TestBenchInterrupted(t *testing.T) {
	h := newHome(t)
	cmd := h.program("bench", "nqueens", "-n", "15", "--place", "normal", "--runs", "5", "--warmup", "0", "-o", "csv")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = out.Read(make([]byte, 1)) // the heading
	require.NoError(t, err)
	workload := workloadOf(t, cmd)
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	_, _ = io.Copy(io.Discard, out)
	_ = cmd.Wait()
	assert.Equal(t, exit.Interrupted, cmd.ProcessState.ExitCode())
	_, err = os.Stat(fmt.Sprint("/proc/", workload))
	assert.ErrorIs(t, err, os.ErrNotExist, "the workload has ended with its study")
}
