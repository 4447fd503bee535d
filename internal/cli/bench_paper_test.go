package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cli/exit"
	"piton/internal/kernel/kerneltest"
)

// resultsFile is where the home's results are.
func (h *home) resultsFile() string {
	return filepath.Join(strings.TrimPrefix(h.env[0], "XDG_STATE_HOME="), "piton/results.jsonl")
}

// TestPaperGoesOnAfterAnInterrupt stops a paper in the middle and gives the same
// command again.
func TestPaperGoesOnAfterAnInterrupt(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped with -short: measures for some seconds")
	}
	h := newHome(t)
	args := []string{"bench", "paper", "ctxswitch", "--budget", "12s", "--yes", "-o", "json"}
	cmd := h.program(args...)
	var errs strings.Builder
	cmd.Stderr = &errs
	require.NoError(t, cmd.Start())
	eventually(t, "a measured cell", func() bool {
		kept, _ := os.ReadFile(h.resultsFile())
		return strings.Contains(string(kept), `"type":"grid"`) && strings.Count(string(kept), `"type":"run"`) > 2
	})
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	_ = cmd.Wait()
	assert.Equal(t, exit.Interrupted, cmd.ProcessState.ExitCode(), errs.String())
	assert.Contains(t, errs.String(), "the same command resumes it")
	before, err := os.ReadFile(h.resultsFile())
	require.NoError(t, err)

	page := filepath.Join(t.TempDir(), "out.html")
	r := h.run(append(args, "--report", page)...)
	require.Zero(t, r.code, r.err)
	assert.Contains(t, r.err, "resuming the reproduction of")
	after, err := os.ReadFile(h.resultsFile())
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(string(after), string(before)), "what was measured is kept")
	lines := jsonLines(t, r.out)
	cells := map[any]bool{}
	for _, study := range ofType(lines, "study") {
		cells[study["cell"]] = true
	}
	assert.Len(t, cells, 7)
	for _, run := range ofType(lines, "run") {
		assert.Empty(t, run["error"])
	}
	// How many cells fit into the budget depends on the machine; internal/lab/study tests that with a clock of its own.
	assert.Greater(t, bytes.Count(after, []byte(`"type":"run"`)), bytes.Count(before, []byte(`"type":"run"`)), "it has gone on")
	grids := ofType(jsonLines(t, string(after)), "grid")
	require.Len(t, grids, 2, "its beginning and its end")
	assert.NotNil(t, grids[1]["ended"])
	again := h.run("bench", "report", grids[0]["grid"].(string), "-o", "markdown")
	require.Zero(t, again.code, again.err)
	assert.Contains(t, again.out, "## Context switches: timeslices and cost")
	r = h.run("bench", "report")
	assert.Contains(t, r.out, "Context switches: timeslices and cost", "what was reproduced is the last result")
	r = h.run("bench", "report", "--workload", "ctxswitch")
	assert.Contains(t, r.err, "no stored result of ctxswitch", "cells are no studies by themselves")
	html, err := os.ReadFile(page)
	require.NoError(t, err)
	assert.Contains(t, string(html), "<figure>")
}

// TestPaperNotStored prints what it measured.
func TestPaperNotStored(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped with -short: measures for some seconds")
	}
	h := newHome(t)
	h.env = []string{"XDG_STATE_HOME=/proc/nope"}
	r := h.run("bench", "paper", "ctxswitch", "--budget", "5s", "--yes")
	assert.Equal(t, exit.Some, r.code, r.err)
	assert.Contains(t, r.err, "results not stored, so this cannot be resumed later")
	assert.Contains(t, r.out, "Context switches")
	assert.NotContains(t, r.out, "stored as")
}

func TestPaperRefuses(t *testing.T) {
	h := newHome(t)
	for text, args := range map[string][]string{
		"needs a study or --all: nqueens, matrix": {},
		`unknown study "origami"`:                 {"origami"},
		"give either studies or --all":            {"nqueens", "--all"},
		"it must be 5s to":                        {"nqueens", "--budget", "1s"},
	} {
		r := h.run(append([]string{"bench", "paper"}, args...)...)
		assert.Equal(t, exit.Usage, r.code, args)
		assert.Contains(t, r.err, text)
	}
	r := h.run("bench", "paper", "automatic", "--budget", "5s") // a search takes longer on any machine
	assert.Equal(t, exit.Usage, r.code, r.err)
	assert.Contains(t, r.err, "5s is too little time for a verdict of automatic; ")
	assert.Contains(t, r.err, " would do: give --budget ")
	r = h.run("bench", "paper", "nqueens", "--report", "/nowhere/out.html")
	assert.Equal(t, exit.Failed, r.code)
	assert.Contains(t, r.err, "write the report /nowhere/out.html: no such file or directory", "before anything is measured")
}

func TestReportPrintsThePast(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	r := h.run("bench", "report")
	assert.Equal(t, exit.Failed, r.code)
	assert.Contains(t, r.err, "no stored result of any workload")
	for range 2 {
		r = h.run("bench", "nqueens", "-n", "8", "--place", "normal", "--place", "batch", "--runs", "6", "--warmup", "0", "-o", "json")
		require.Zero(t, r.code, r.err)
	}
	id := ofType(jsonLines(t, r.out), "study")[0]["study"].(string)
	again := h.run("bench", "report", id, "-o", "json")
	assert.Equal(t, r.out, again.out, "the same lines as when it was made")

	for args, code := range map[string]int{"ID nosuch": exit.Some, "nosuch ID other": exit.Some, "nosuch": exit.Failed, "nosuch other": exit.Failed} {
		some := h.run(append([]string{"bench", "report", "-o", "json"}, strings.Fields(strings.ReplaceAll(args, "ID", id))...)...)
		assert.Equal(t, code, some.code, args)
		assert.Contains(t, some.err, "no stored study nosuch", args)
		assert.Equal(t, strings.Contains(args, "other"), strings.Contains(some.err, "nosuch, other;"), "%s: %s", args, some.err)
		if code == exit.Some {
			assert.Equal(t, r.out, some.out, args)
		} else {
			assert.Empty(t, some.out, args)
		}
	}
	for format, want := range map[string][]string{
		"table":    {id, "nqueens -n 8", "AGAINST normal", "are too short to judge", "right"},
		"csv":      {"study,workload", id + ",nqueens,normal,0"},
		"markdown": {"## nqueens -n 8", "too short to judge", "| placement | runs |", "| remark | normal, compared with", "kernel command line"},
		"svg":      {"<svg", "Run by run", "batch"},
		"html":     {"<!DOCTYPE html>", "<figure><svg", "<td>normal</td>", "Conditions"},
	} {
		r := h.run("bench", "report", "-o", format)
		require.Zero(t, r.code, r.err)
		for _, w := range want {
			assert.Contains(t, r.out, w, format)
		}
	}
	both := h.run("bench", "report", "--workload", "nqueens", "--last", "5", "-o", "markdown")
	assert.Equal(t, 2, strings.Count(both.out, "## nqueens"), both.out)
	r = h.run("bench", "report", "20200101T000000Z-00000000")
	assert.Equal(t, exit.Failed, r.code)
	assert.Contains(t, r.err, "no stored study")
}

// TestFullDiskLosesNothing lets the file of results grow beyond what it may, as
// on a full disk: the study goes on and is shown, and what was there stays.
func TestFullDiskLosesNothing(t *testing.T) {
	h := newHome(t)
	require.Zero(t, h.run("bench", "nqueens", "-n", "6", "--place", "normal", "--runs", "1", "--warmup", "0").code)
	before, err := os.ReadFile(h.resultsFile())
	require.NoError(t, err)
	cmd := h.program("bench", "nqueens", "-n", "6", "--place", "normal", "--runs", "20", "--warmup", "0")
	// In blocks of 512 bytes (POSIX ulimit): three beyond what is there.
	limited := []string{"sh", "-c", "ulimit -f $1; shift; exec \"$@\"", "sh", strconv.Itoa(len(before)/512 + 3)}
	cmd.Args = append(limited, append([]string{cmd.Path}, cmd.Args[1:]...)...)
	cmd.Path = "/bin/sh"
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run()
	assert.Equal(t, exit.Some, cmd.ProcessState.ExitCode(), errs.String())
	assert.Contains(t, errs.String(), "results not stored: store results: write")
	assert.Contains(t, errs.String(), "file too large")
	assert.Contains(t, out.String(), "PLACEMENT", "it was run and judged to its end")
	after, err := os.ReadFile(h.resultsFile())
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(string(after), string(before)))
	assert.True(t, strings.HasSuffix(string(after), "\n"), "no half line")
	assert.NotEmpty(t, jsonLines(t, string(after)))
}

// TestFullFilesystem does the same where the disk is really full.
func TestFullFilesystem(t *testing.T) {
	kerneltest.NeedRoot(t, "to mount a small file system")
	h := newHome(t)
	dir := filepath.Dir(h.resultsFile())
	require.NoError(t, os.MkdirAll(dir, 0o755))
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=12k,mode=700"); err != nil {
		t.Skip("no small file system can be mounted here: ", err)
	}
	t.Cleanup(func() { assert.NoError(t, syscall.Unmount(dir, 0)) })
	r := h.run("bench", "nqueens", "-n", "6", "--place", "normal", "--runs", "40", "--warmup", "0")
	assert.Equal(t, exit.Some, r.code, r.err)
	assert.Contains(t, r.err, "no space left on device")
	assert.Contains(t, r.out, "normal")
	kept, err := os.ReadFile(h.resultsFile())
	require.NoError(t, err)
	assert.NotEmpty(t, jsonLines(t, string(kept)), "what fitted is whole")
}

// TestKilledChildIsOneFailedRun kills a workload's process in the middle: that
// run has failed, the others count.
func TestKilledChildIsOneFailedRun(t *testing.T) {
	h := newHome(t)
	cmd := h.program("bench", "nqueens", "-n", "14", "--place", "normal", "--runs", "3", "--warmup", "0")
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	require.NoError(t, cmd.Start())
	require.NoError(t, syscall.Kill(workloadOf(t, cmd), syscall.SIGKILL))
	_ = cmd.Wait()
	assert.Equal(t, exit.Some, cmd.ProcessState.ExitCode(), errs.String())
	assert.Contains(t, errs.String(), "1 of 3 runs failed")
	assert.Contains(t, errs.String(), "killed")
	assert.Contains(t, out.String(), "1 run failed and left out")
	r := h.run("bench", "report", "-o", "csv")
	assert.Equal(t, 4, strings.Count(r.out, "\n"), "all three are kept")
}
