package cli

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cli/exit"
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

func TestMoveErrors(t *testing.T) {
	h, pid := newHome(t), sleeper(t)
	before := affinityOf(t, pid)
	for _, tt := range []struct {
		args string
		code int
		want string
	}{
		{"move", exit.Usage, "piton move needs CPUS"},
		{"move 0", exit.Usage, "missing targets: use -t TARGETS, -q IRQS, or both"},
		{"move 0 1 -t PID", exit.Usage, `takes one list of CPUs, not "1" as well`},
		{"move 60000 -t PID", exit.Failed, "this machine has no CPU 60000"},
		{"spread 60000 -t PID", exit.Failed, "this machine has no CPU 60000"},
		{"move node:99 -t PID", exit.Failed, "this machine has no node 99"},
		{"move x -t PID", exit.Usage, "neither a CPU number or range"},
		{"move 0 -t nosuchtask", exit.Failed, `no process matches "nosuchtask"`},
		{"move 0 -q nosuchline", exit.Failed, `no interrupt line matches "nosuchline"`},
		{"move 0 -t nosuchtask -q nosuchline", exit.Failed, `no interrupt line matches "nosuchline"`},
		{"move 0 -t PID --thread --tree", exit.Usage, "exclude each other"},
		{"move 0 -t 4194304", exit.Failed, "there is no process or thread 4194304"},
		{"isolate", exit.Usage, "piton isolate needs CPUS"},
		{"isolate 60000", exit.Failed, "this machine has no CPU 60000"},
		{"isolate online", exit.Failed, "would leave no CPU"},
		{"isolate 0 --dry-run --verify 3s", exit.Usage, "--verify and --dry-run exclude each other"},
		{"include", exit.Usage, "piton include needs CPUS"},
		{"include 60000", exit.Failed, "this machine has no CPU 60000"},
	} {
		r := h.run(strings.Fields(strings.ReplaceAll(tt.args, "PID", fmt.Sprint(pid)))...)
		assert.Equal(t, tt.code, r.code, "%s: %s", tt.args, r.err)
		assert.Contains(t, r.err, tt.want, tt.args)
		assert.Equal(t, 1, strings.Count(r.err, "\n")+strings.Count(r.out, "nothing"), "%s: one sentence, not %q", tt.args, r.err)
	}
	assert.Equal(t, before, affinityOf(t, pid))
}

// TestCPUsThatTheMachineDoesNotHave are refused in the same words by every command, also
// beside ones that it has.
func TestCPUsThatTheMachineDoesNotHave(t *testing.T) {
	first, _ := twoCPUs(t)
	h, pid := newHome(t), sleeper(t)
	before := affinityOf(t, pid)
	for _, args := range []string{
		"--headless -n 1 --cpu CPUS", "--headless --pid PID --pin CPUS", "--headless --pid PID --pin spread --within CPUS", "--cpu CPUS",
		"irq list --now --cpu CPUS", "irq default CPUS", "irq move 1 --cpu CPUS", "irq spread --cpu CPUS", "irq queues lo --rps CPUS",
		"save - --cpu CPUS", "pin PID --cpu CPUS", "pin PID --place pack --within CPUS", "pin PID --cpu CPUS --dry-run",
		"run --pin CPUS -- true", "run --pin spread --within CPUS -- true", "move CPUS -t PID", "spread CPUS -t PID",
		"isolate CPUS", "include CPUS",
	} {
		for _, cpus := range []string{"60000", fmt.Sprint(first, ",60000"), fmt.Sprint(first, "-60000"), "online,60000", "0x8" + strings.Repeat("0", 15000)} {
			r := h.run(strings.Fields(strings.NewReplacer("PID", fmt.Sprint(pid), "CPUS", cpus).Replace(args))...)
			assert.Equal(t, exit.Failed, r.code, "%s of %.20s: %s", args, cpus, r.err)
			assert.Empty(t, r.out, args)
			assert.Equal(t, 1, strings.Count(r.err, "\n"), "%s: %s", args, r.err)
			assert.Contains(t, r.err, ": this machine has no CPU ", args)
		}
	}
	assert.Equal(t, before, affinityOf(t, pid))
	assert.Empty(t, h.run("journal", "-o", "json").out)
}

// TestNothingIsChangedForUnknownWords has words that mean nothing beside ones that
// mean something: the error comes before any change, whatever the order.
func TestNothingIsChangedForUnknownWords(t *testing.T) {
	pid, other := sleeper(t), sleeper(t)
	nice := niceOf(t, pid)
	before, now := affinityOf(t, pid), strings.Fields(newHome(t).run("sysctl", "vm.swappiness").out)[3]
	for args, want := range map[string]string{
		"move 0 -t PID,nosuchtask":                     `no process matches "nosuchtask"`,
		"move 0 -t PID -t nosuchtask -o json":          `no process matches "nosuchtask"`,
		"move 0 -t nosuchtask,PID":                     `no process matches "nosuchtask"`,
		"move 0 -t PID -q nosuchline":                  `no interrupt line matches "nosuchline"`,
		"move 0 -t PID,2147483647":                     "there is no process or thread 2147483647",
		"spread 0 -t PID,thread:/nosuchthread/":        `no thread matches "thread:/nosuchthread/"`,
		"spread 0 -t PID -q nosuchline":                `no interrupt line matches "nosuchline"`,
		"pin PID OTHER nosuchtask --cpu 0":             `no process matches "nosuchtask"`,
		"pin 2147483647 PID":                           "there is no process or thread 2147483647",
		"nice PID nosuchtask 2147483647 5":             `no process matches "nosuchtask"; there is no process or thread 2147483647`,
		"policy PID nosuchtask batch":                  `no process matches "nosuchtask"`,
		"ionice PID user:nosuchuser idle":              `there is no user "nosuchuser"`,
		"slice PID nosuchtask 1ms":                     `no process matches "nosuchtask"`,
		"--headless --pid PID,2147483647 --nice 5":     "there is no process or thread 2147483647",
		"cookie create PID nosuchtask":                 `no process matches "nosuchtask"`,
		"irq move nosuchline --cpu 0":                  `no interrupt line matches "nosuchline"`,
		"irq reset nosuchline":                         `no interrupt line matches "nosuchline"`,
		"sysctl vm.swappiness=SWAP kernel.nosuch=1":    "there is no kernel setting kernel.nosuch here",
		"save FILE PID nosuchtask":                     `no process matches "nosuchtask"`,
		"undo 1 2":                                     "there is no entry",
		"move 0 -t PID -t /nosuchtask/,OTHER,cgroup:a": "no process matches",
	} {
		h, file := newHome(t), filepath.Join(t.TempDir(), "file")
		words := strings.NewReplacer("PID", fmt.Sprint(pid), "OTHER", fmt.Sprint(other), "SWAP", now, "FILE", file).Replace(args)
		r := h.run(strings.Fields(words)...)
		assert.Contains(t, []int{exit.Failed, exit.Usage, exit.NotPermitted}, r.code, "%s: %s", args, r.err)
		assert.Contains(t, r.err, want, args)
		assert.Equal(t, 1, strings.Count(r.err, "\n"), args)
		assert.Empty(t, h.run("journal", "-o", "json").out, args)
		assert.NoFileExists(t, file)
	}
	assert.Equal(t, before, affinityOf(t, pid))
	assert.Equal(t, nice, niceOf(t, pid))
}

// TestIsolateDryRun reads the machine and changes nothing.
func TestIsolateDryRun(t *testing.T) {
	_, last := twoCPUs(t)
	h := newHome(t)
	r := h.run("isolate", fmt.Sprint(last), "--dry-run", "-o", "json")
	if r.code != exit.Done && r.code != exit.Some { // what this container may not even plan is refused
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
	assert.Equal(t, exit.Failed, r.code)
	assert.Contains(t, r.err, "--revert-after 15s reverts it unless piton keep confirms it")
	assert.Empty(t, h.run("journal", "-o", "json").out)
}
