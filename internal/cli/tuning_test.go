package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/change/attr"
	"piton/internal/cli/exit"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/procfs"
)

func affinityOf(t *testing.T, pid kernel.TID) string {
	t.Helper()
	mask, err := sched.Affinity(pid)
	require.NoError(t, err)
	return mask.String()
}

// oneCPU is a CPU that this process may use.
func oneCPU(t *testing.T) cpuset.CPU {
	t.Helper()
	mask, err := sched.Affinity(kernel.TID(os.Getpid()))
	require.NoError(t, err)
	return mask.Last()
}

// everyCPU skips where the tests are kept from some CPUs: a DEADLINE task must be free to run
// on all (sched_setattr(2)).
func everyCPU(t *testing.T) {
	t.Helper()
	mask, err := sched.Affinity(kernel.TID(os.Getpid()))
	require.NoError(t, err)
	online, err := attr.ReadCPUs("/", "online")
	require.NoError(t, err)
	if !online.SubsetOf(mask) {
		t.Skip("needs all online CPUs for DEADLINE")
	}
}

func TestPinIOniceUndo(t *testing.T) {
	severalCPUs(t)
	h, pid, cpu := newHome(t), sleeper(t), oneCPU(t)
	before := affinityOf(t, pid)

	r := h.run("pin", fmt.Sprint(pid), "--cpu", fmt.Sprint(cpu), "-o", "json")
	require.Zero(t, r.code, r.err)
	changes := ofType(jsonLines(t, r.out), "change")
	require.Len(t, changes, 1)
	assert.Equal(t, map[string]any{"type": "change", "v": 1.0, "pid": float64(pid), "tid": float64(pid), "comm": "sleep", "object": nil, "path": nil, "attribute": "affinity",
		"before": before, "after": fmt.Sprint(cpu), "status": "done", "error": "", "reason": ""}, changes[0])
	summary := ofType(jsonLines(t, r.out), "summary")[0]
	assert.EqualValues(t, 1, summary["done"])
	assert.EqualValues(t, 1, summary["journal"])
	assert.EqualValues(t, 0, summary["exit_code"])
	assert.Equal(t, fmt.Sprint(cpu), affinityOf(t, pid))

	r = h.run("pin", fmt.Sprint(pid), "--cpu", fmt.Sprint(cpu))
	require.Zero(t, r.code, r.err)
	assert.Contains(t, r.out, "unchanged")

	r = h.run("ionice", fmt.Sprint(pid), "best-effort:5")
	require.Zero(t, r.code, r.err)
	assert.Equal(t, 5, levelOf(t, pid))

	r = h.run("journal")
	require.Zero(t, r.code, r.err)
	assert.Equal(t, 3, strings.Count(r.out, "\n"), r.out)
	assert.Contains(t, r.out, "tester")
	assert.Contains(t, r.out, "in force")
	r = h.run("journal", "1")
	require.Zero(t, r.code, r.err)
	assert.Contains(t, r.out, "affinity")
	entries := ofType(jsonLines(t, h.run("journal", "-n", "1", "-o", "json").out), "entry")
	require.Len(t, entries, 1)
	assert.EqualValues(t, 2, entries[0]["entry"])
	assert.Equal(t, exit.Failed, h.run("journal", "9").code)

	r = h.run("undo", "1", "--dry-run")
	require.Zero(t, r.code, r.err)
	assert.Contains(t, r.out, "planned")
	assert.Equal(t, fmt.Sprint(cpu), affinityOf(t, pid))
	r = h.run("undo", "1")
	require.Zero(t, r.code, r.err)
	assert.Equal(t, before, affinityOf(t, pid))
	assert.Equal(t, exit.Failed, h.run("undo", "99").code)
}

func TestUndoWithNothingToDo(t *testing.T) {
	h := newHome(t)
	r := h.run("undo")
	assert.Equal(t, exit.Failed, r.code)
	assert.Contains(t, r.err, "nothing to undo")
	assert.Zero(t, h.run("undo", "--all").code, "all of nothing is done")
}

func TestHeadlessTuning(t *testing.T) {
	needRights(t)
	h, pid, cpu := newHome(t), sleeper(t), oneCPU(t)
	args := []string{"--headless", "--pid", fmt.Sprint(pid), "--pin", fmt.Sprint(cpu), "--policy", "fifo", "--rtprio", "10",
		"--nice", "-5", "--ioprio", "best-effort:7", "-o", "json"}
	r := h.run(append(args, "--dry-run")...)
	require.Zero(t, r.code, r.err)
	for _, c := range ofType(jsonLines(t, r.out), "change") {
		assert.Contains(t, []any{"planned", "unchanged"}, c["status"])
	}
	attr, err := sched.Attr(pid)
	require.NoError(t, err)
	assert.Equal(t, kernel.Other, attr.Policy, "a dry run changes nothing")

	r = h.run(args...)
	require.Zero(t, r.code, r.err)
	attr, err = sched.Attr(pid)
	require.NoError(t, err)
	assert.Equal(t, kernel.FIFO, attr.Policy)
	assert.Equal(t, 10, attr.RTPrio)
	nice, err := sched.Nice(pid)
	require.NoError(t, err)
	assert.Equal(t, -5, nice)
	prio, err := sched.IOPrio(pid)
	require.NoError(t, err)
	assert.Equal(t, kernel.IOPrio{Class: kernel.IOBestEffort, Level: 7}, prio)
	assert.Equal(t, fmt.Sprint(cpu), affinityOf(t, pid))

	require.Zero(t, h.run("undo").code)
	attr, err = sched.Attr(pid)
	require.NoError(t, err)
	assert.Equal(t, kernel.Other, attr.Policy)
}

// TestHeadlessPinsToTheLeastLoaded does what the choice says.
func TestHeadlessPinsToTheLeastLoaded(t *testing.T) {
	h, pid := newHome(t), sleeper(t)
	r := besideOthers(t, func() result {
		return h.run("--headless", "--pid", fmt.Sprint(pid), "--pin", "least-loaded", "-o", "json")
	})
	require.Zero(t, r.code, r.err)
	choices := ofType(jsonLines(t, r.out), "choice")
	require.Len(t, choices, 1)
	assert.NotEmpty(t, choices[0]["reason"])
	assert.Equal(t, choices[0]["cpus"], affinityOf(t, pid))
}

func TestPolicyAndIONiceVerbs(t *testing.T) {
	h, pid := newHome(t), sleeper(t)
	require.Zero(t, h.run("policy", fmt.Sprint(pid), "batch").code)
	attr, err := sched.Attr(pid)
	require.NoError(t, err)
	assert.Equal(t, kernel.Batch, attr.Policy)
	require.Zero(t, h.run("ionice", fmt.Sprint(pid), "idle").code)
	prio, err := sched.IOPrio(pid)
	require.NoError(t, err)
	assert.Equal(t, kernel.IOIdle, prio.Class)
}

// TestAllThreads changes a process that has several threads.
func TestAllThreads(t *testing.T) {
	h := newHome(t)
	cmd := h.program("--headless", "-d", "1m", "--filter", "pid=1")
	require.NoError(t, cmd.Start())
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	pid := kernel.TID(cmd.Process.Pid)
	threads := func() []string {
		dirs, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
		return dirs
	}
	eventually(t, "the runtime's threads", func() bool { return len(threads()) > 2 })
	r := h.run("ionice", fmt.Sprint(pid), "best-effort:7", "-o", "json")
	require.Zero(t, r.code, r.err)
	for _, dir := range threads() {
		var tid kernel.TID
		_, err := fmt.Sscan(filepath.Base(dir), &tid)
		require.NoError(t, err)
		assert.Equal(t, 7, levelOf(t, tid), "thread %d", tid)
	}
	text := h.run("ionice", fmt.Sprint(pid), "best-effort:6")
	require.Zero(t, text.code, text.err)
	old := regexp.MustCompile(`(?m)done +-$`).FindAllString(text.out, -1) // the runtime may start a thread meanwhile
	assert.Len(t, old, 1, "threads that read the same are one row: %s", text.out)

	one := h.run("ionice", "--thread", fmt.Sprint(pid), "best-effort:5", "-o", "json")
	require.Zero(t, one.code, one.err)
	assert.Len(t, ofType(jsonLines(t, one.out), "change"), 1)
}

func TestMissingTargets(t *testing.T) {
	h, pid := newHome(t), sleeper(t)
	before := niceOf(t, pid)
	r := h.run("nice", "2147483647", "5")
	assert.Equal(t, exit.Failed, r.code)
	assert.Contains(t, r.err, "there is no process or thread 2147483647")
	r = h.run("nice", "no-such-name-here", "5")
	assert.Equal(t, exit.Failed, r.code)
	assert.Contains(t, r.err, `no process matches "no-such-name-here"`)
	assert.Empty(t, r.out)
	r = h.run("pin", "2147483647")
	assert.Equal(t, exit.Failed, r.code)
	assert.Contains(t, r.err, "there is no process or thread")

	for _, other := range []string{"2147483647", "no-such-name-here"} {
		r = h.run("nice", other, fmt.Sprint(pid), "6")
		assert.Equal(t, exit.Failed, r.code, r.err)
		assert.Contains(t, r.err, other)
		assert.Equal(t, before, niceOf(t, pid), "nothing is changed")
	}
}

func TestDyingProcess(t *testing.T) {
	cmd := exec.Command("true")
	require.NoError(t, cmd.Start())
	pid := cmd.Process.Pid
	eventually(t, "a zombie", func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err == nil && strings.Contains(string(stat), ") Z ")
	})
	h := newHome(t)
	r := h.run("nice", fmt.Sprint(pid), "5")
	assert.Equal(t, exit.Failed, r.code)
	assert.Contains(t, r.err, "zombie")
	require.NoError(t, cmd.Wait())
	r = h.run("nice", fmt.Sprint(pid), "5")
	assert.Equal(t, exit.Failed, r.code)
}

func TestImpossibleCPU(t *testing.T) {
	h, pid := newHome(t), sleeper(t)
	before := affinityOf(t, pid)
	r := h.run("pin", fmt.Sprint(pid), "--cpu", "65000")
	assert.Equal(t, exit.Failed, r.code)
	assert.Contains(t, r.err, "65000")
	assert.Equal(t, before, affinityOf(t, pid))
}

// TestRealTimeOnABusyTask is refused unless --yes is given.
func TestRealTimeOnABusyTask(t *testing.T) {
	needRights(t)
	h, busy := newHome(t), spinner(t)
	require.NoError(t, sched.SetNice(busy, -15)) // so that it runs whatever else does
	eventually(t, "it spins", func() bool {
		stat, err := procfs.New("/").Schedstat(busy, busy)
		return err == nil && stat.RunNs > 1e8
	})
	r := h.run("policy", fmt.Sprint(busy), "fifo:1", "-o", "json")
	assert.Equal(t, exit.Failed, r.code)
	assert.Contains(t, r.err, "--yes")
	changes := ofType(jsonLines(t, r.out), "change")
	require.Len(t, changes, 1)
	assert.Equal(t, "refused", changes[0]["status"])
	assert.EqualValues(t, exit.Failed, ofType(jsonLines(t, r.out), "summary")[0]["exit_code"])
	attr, err := sched.Attr(busy)
	require.NoError(t, err)
	assert.Equal(t, kernel.Other, attr.Policy)

	r = h.run("policy", fmt.Sprint(busy), "rr:1", "--yes")
	assert.Zero(t, r.code, r.err)
	r = h.run("policy", fmt.Sprint(busy), "other")
	assert.Zero(t, r.code, r.err)
}

func TestTheJournalMustBeWritten(t *testing.T) {
	h, pid := newHome(t), sleeper(t)
	file, before := filepath.Join(t.TempDir(), "file"), levelOf(t, pid)
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	h.env = append(h.env, "XDG_STATE_HOME="+file)
	r := h.run("ionice", fmt.Sprint(pid), "best-effort:5")
	assert.Equal(t, exit.Failed, r.code)
	assert.Contains(t, r.err, "journal")
	assert.Equal(t, before, levelOf(t, pid))
}

func TestRun(t *testing.T) {
	h, cpu := newHome(t), oneCPU(t)
	nice := max(4, niceOf(t, kernel.TID(os.Getpid()))) // not lower than it is: not everybody may
	for _, tt := range []struct {
		args string
		code int
		out  string
	}{
		{"run -- sh -c|exit 7", 7, ""},
		{fmt.Sprintf("run --nice %d -- nice", nice), 0, fmt.Sprintln(nice)},
		{fmt.Sprintf("run --pin %d -- sh -c|while read k v; do case $k in Cpus_allowed_list:) echo $v;; esac; done </proc/$$/status", cpu), 0, fmt.Sprintln(cpu)},
		{"run -- sh -c|kill -9 $$", -1, ""},
		{"run --policy batch -- sh -c|while read k v; do case $k in policy) echo policy$v;; esac; done </proc/$$/sched", 0, "policy: 3\n"},
		{"run -- no-such-command-here", 127, ""},
		{"run -- /etc/passwd", 126, ""},
		{"run -- /", 126, ""},
	} {
		words, last, more := strings.Cut(tt.args, "|")
		args := strings.Fields(words)
		if more {
			args = append(args, last)
		}
		cmd := h.program(args...)
		out, _ := cmd.Output()
		assert.Equal(t, tt.code, cmd.ProcessState.ExitCode(), tt.args)
		assert.Equal(t, tt.out, string(out), tt.args)
	}
}
