package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
)

func TestMove(t *testing.T) {
	first, last := twoCPUs(t)
	h, one, two := newHome(t), sleeper(t), sleeper(t)
	before := affinityOf(t, one)
	r := h.run("move", fmt.Sprint(last), "-t", fmt.Sprintf("%d,%d", one, two))
	require.Zero(t, r.code, r.err)
	assert.Equal(t, fmt.Sprint(last), affinityOf(t, one))
	assert.Equal(t, fmt.Sprint(last), affinityOf(t, two))
	r = h.run("move", fmt.Sprint(first), "-t", fmt.Sprint(one), "-t", fmt.Sprint(two), "--dry-run", "-o", "json")
	require.Zero(t, r.code, r.err)
	assert.Len(t, ofType(jsonLines(t, r.out), "change"), 2)
	assert.Equal(t, fmt.Sprint(last), affinityOf(t, one))
	require.Zero(t, h.run("undo").code)
	assert.Equal(t, before, affinityOf(t, one))
}

// TestSpread deals the threads of a process and of another out to two CPUs.
func TestSpread(t *testing.T) {
	first, last := twoCPUs(t)
	h, m, alone := newHome(t), startMover(t, "3"), sleeper(t)
	pid := m.pid
	threads := func() map[string]int {
		count := map[string]int{}
		for _, c := range ofType(jsonLines(t, h.run("move", "online", "--dry-run", "-o", "json", "-t", fmt.Sprintf("%d,%d", pid, alone)).out), "change") {
			count[fmt.Sprint(c["before"])]++
		}
		return count
	}
	all := 0
	for _, n := range threads() {
		all += n
	}
	require.Greater(t, all, 4)
	r := h.run("spread", fmt.Sprintf("%d,%d", first, last), "-t", fmt.Sprint(pid), "-t", fmt.Sprint(alone))
	require.Zero(t, r.code, r.err)
	got := threads()
	assert.Len(t, got, 2, "%v", got)
	assert.InDelta(t, got[fmt.Sprint(first)], got[fmt.Sprint(last)], 1, "%v", got)
	require.Zero(t, h.run("undo").code)
}

// TestMoveSummary: the summary's exit code is that with which piton ends, also
// where a word meant nothing.
func TestMoveSummary(t *testing.T) {
	first, _ := twoCPUs(t)
	h, pid := newHome(t), sleeper(t)
	for _, args := range []string{"move %d -t %d,nosuchname -o json", "move %d -t %d -q nosuchline -o json", "pin --cpu %d %d nosuchname -o json"} {
		r := h.run(strings.Fields(fmt.Sprintf(args, first, pid))...)
		require.Equal(t, ExitSome, r.code, "%s: %s", args, r.err)
		summary := ofType(jsonLines(t, r.out), "summary")
		require.Len(t, summary, 1)
		assert.EqualValues(t, ExitSome, summary[0]["exit_code"], args)
	}
}

func TestMoveErrors(t *testing.T) {
	h, pid := newHome(t), sleeper(t)
	before := affinityOf(t, pid)
	for _, tt := range []struct {
		args string
		code int
		want string
	}{
		{"move", ExitUsage, "piton move needs CPUS"},
		{"move 0", ExitUsage, "what? say -t TARGETS, -q IRQS, or both"},
		{"move 0 1 -t PID", ExitUsage, `takes one list of CPUs, not "1" as well`},
		{"move 60000 -t PID", ExitUsage, "this machine has no CPU 60000"},
		{"spread 60000 -t PID", ExitUsage, "this machine has no CPU 60000"},
		{"move node:99 -t PID", ExitUsage, "this machine has no node 99"},
		{"move x -t PID", ExitUsage, "neither a CPU number or range"},
		{"move 0 -t nosuchtask", ExitFailed, `no process matches "nosuchtask"`},
		{"move 0 -q nosuchline", ExitFailed, `no interrupt line matches "nosuchline"`},
		{"move 0 -t nosuchtask -q nosuchline", ExitFailed, `no interrupt line matches "nosuchline"`},
		{"move 0 -t PID --thread --tree", ExitUsage, "exclude each other"},
		{"move 0 -t 4194304", ExitFailed, "there is no process or thread 4194304"},
		{"isolate", ExitUsage, "piton isolate needs CPUS"},
		{"isolate 60000", ExitUsage, "this machine has no CPU 60000"},
		{"isolate online", ExitFailed, "all that there"},
		{"isolate 0 --dry-run --verify 3s", ExitUsage, "--dry-run does nothing"},
		{"include", ExitUsage, "piton include needs CPUS"},
		{"include 60000", ExitUsage, "this machine has no CPU 60000"},
	} {
		r := h.run(strings.Fields(strings.ReplaceAll(tt.args, "PID", fmt.Sprint(pid)))...)
		assert.Equal(t, tt.code, r.code, "%s: %s", tt.args, r.err)
		assert.Contains(t, r.err, tt.want, tt.args)
		assert.Equal(t, 1, strings.Count(r.err, "\n")+strings.Count(r.out, "nothing"), "%s: one sentence, not %q", tt.args, r.err)
	}
	assert.Equal(t, before, affinityOf(t, pid))
}

// TestMoveSome: what matches is moved though other words match nothing.
func TestMoveSome(t *testing.T) {
	_, last := twoCPUs(t)
	h, pid := newHome(t), sleeper(t)
	r := h.run("move", fmt.Sprint(last), "-t", fmt.Sprintf("%d,nosuchtask", pid))
	assert.Equal(t, ExitSome, r.code)
	assert.Contains(t, r.err, `no process matches "nosuchtask"`)
	assert.Equal(t, fmt.Sprint(last), affinityOf(t, pid))
}

// TestIsolateDryRun reads the machine and changes nothing.
func TestIsolateDryRun(t *testing.T) {
	_, last := twoCPUs(t)
	h := newHome(t)
	r := h.run("isolate", fmt.Sprint(last), "--dry-run", "-o", "json")
	if r.code != ExitDone && r.code != ExitSome { // what this container may not even plan is refused
		t.Fatalf("exit %d: %s", r.code, r.err)
	}
	lines := jsonLines(t, r.out)
	planned := false
	for _, c := range ofType(lines, "change") {
		planned = planned || c["status"] == "planned" && c["attribute"] == "affinity"
		after, err := cpuset.Parse(fmt.Sprint(c["after"]))
		require.NoError(t, err)
		assert.False(t, after.Has(last), "%v", c)
	}
	assert.True(t, planned)
	for _, u := range ofType(lines, "unmovable") {
		assert.Equal(t, "before", u["when"])
		assert.NotEmpty(t, u["why"])
		assert.Equal(t, fmt.Sprint(last), u["cpus"])
	}
	assert.Empty(t, h.run("journal", "-o", "json").out)
	r = h.run("isolate", fmt.Sprint(last), "--dry-run")
	assert.Contains(t, r.out, "default-irq-affinity")
	r = h.run("isolate", fmt.Sprint(last))
	assert.Equal(t, ExitFailed, r.code)
	assert.Contains(t, r.err, "--revert-after 15s takes it back unless you confirm it")
	assert.Empty(t, h.run("journal", "-o", "json").out)
}
