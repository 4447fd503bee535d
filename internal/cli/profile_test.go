package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cli/exit"
	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// namesake makes programs of a name that no other process has: a profile finds
// tasks by name, and must find nobody else's.
type namesake struct {
	t          *testing.T
	name, path string
}

func newNamesake(t *testing.T) namesake {
	t.Helper()
	name := fmt.Sprintf("pt%d", os.Getpid())
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\nread wait\n"), 0o755))
	return namesake{t, name, path}
}

// start starts one, which ends with the test.
func (n namesake) start(args ...string) kernel.TID {
	n.t.Helper()
	cmd := exec.Command(n.path, args...)
	in, err := cmd.StdinPipe() // it waits for a line that never comes
	require.NoError(n.t, err)
	require.NoError(n.t, cmd.Start())
	n.t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	eventually(n.t, "it became the script", func() bool {
		comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", cmd.Process.Pid))
		return err == nil && strings.TrimSpace(string(comm)) == n.name
	})
	return kernel.TID(cmd.Process.Pid)
}

// profileFile writes a profile.
func profileFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "p.toml")
	require.NoError(t, os.WriteFile(path, []byte("version = 1\n"+text), 0o644))
	return path
}

// tunedNice is what tuneChild sets, another value than this process and its children have.
func tunedNice(t *testing.T) int {
	t.Helper()
	own := niceOf(t, 0)
	if own > 5 {
		return own - 1
	}
	return own + 1
}

// tuneChild gives a child one of everything.
func tuneChild(t *testing.T, pid kernel.TID) {
	t.Helper()
	require.NoError(t, sched.SetAffinity(pid, cpuset.Of(oneCPU(t))))
	require.NoError(t, sched.SetNice(pid, tunedNice(t)))
	require.NoError(t, sched.SetIOPrio(pid, kernel.IOPrio{Class: kernel.IOBestEffort, Level: 6}))
	require.NoError(t, sched.SetPolicy(pid, kernel.Batch, 0, true))
}

func stateOf(t *testing.T, pid kernel.TID) string {
	t.Helper()
	attr, err := sched.Attr(pid)
	require.NoError(t, err)
	nice, err := sched.Nice(pid)
	require.NoError(t, err)
	prio, err := sched.IOPrio(pid)
	require.NoError(t, err)
	return fmt.Sprint(affinityOf(t, pid), " ", nice, " ", attr.Policy, attr.RTPrio, attr.ResetOnFork, " ", prio)
}

// TestProfileOverARestart saves a tuned process, starts it anew, and makes the new
// one as the old one was.
func TestProfileOverARestart(t *testing.T) {
	needRights(t) // an undo lowers nice, and removes reset-on-fork
	severalCPUs(t)
	h, n := newHome(t), newNamesake(t)
	old := n.start("a")
	tuneChild(t, old)
	want := stateOf(t, old)
	file := filepath.Join(t.TempDir(), "saved.toml")
	r := h.run("save", file, fmt.Sprint(old))
	require.Zero(t, r.code, r.err)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Contains(t, string(text), fmt.Sprintf("name = %q\n", n.name))
	assert.NotContains(t, strings.ReplaceAll(string(text), n.name, ""), fmt.Sprint(old), "no number is saved")
	r = h.run("verify", file)
	require.Zero(t, r.code, r.out+r.err)

	fresh := n.start("a")
	before := stateOf(t, fresh)
	require.NoError(t, endChild(old))
	r = h.run("verify", file, "-o", "json")
	require.Equal(t, exit.Drift, r.code, r.err)
	drift := ofType(jsonLines(t, r.out), "drift")
	require.Len(t, drift, 4, r.out)
	assert.Equal(t, "affinity", drift[0]["attribute"])
	assert.Equal(t, affinityOf(t, fresh), drift[0]["actual"])
	assert.Equal(t, fmt.Sprint(oneCPU(t)), drift[0]["expected"])
	assert.Equal(t, "not piton", drift[0]["set_by"])
	assert.EqualValues(t, fresh, drift[0]["pid"])

	r = h.run("apply", file, "--check")
	assert.Equal(t, exit.Drift, r.code, r.err)
	assert.Contains(t, r.out, "planned")
	assert.Equal(t, before, stateOf(t, fresh), "--check changes nothing")
	r = h.run("apply", file, "-o", "json")
	require.Zero(t, r.code, r.err)
	assert.EqualValues(t, 4, ofType(jsonLines(t, r.out), "summary")[0]["done"])
	assert.Equal(t, want, stateOf(t, fresh))
	r = h.run("verify", file)
	require.Zero(t, r.code, r.out+r.err)
	r = h.run("apply", file)
	require.Zero(t, r.code, r.err)
	assert.Contains(t, r.out, "nothing to change")
	assert.Len(t, ofType(jsonLines(t, h.run("journal", "-o", "json").out), "entry"), 1)

	require.NoError(t, sched.SetNice(fresh, -7))
	r = h.run("verify", file)
	assert.Equal(t, exit.Drift, r.code)
	assert.Regexp(t, fmt.Sprintf(`nice +%d +-7 +somebody else, after entry 1`, tunedNice(t)), r.out)
	r = h.run("apply", file, "--check")
	assert.Equal(t, exit.Drift, r.code)
	require.NoError(t, sched.SetNice(fresh, tunedNice(t)))
	r = h.run("undo")
	require.Zero(t, r.code, r.err)
	assert.Equal(t, before, stateOf(t, fresh))
}

func endChild(pid kernel.TID) error {
	p, err := os.FindProcess(int(pid))
	if err != nil {
		return err
	}
	if err := p.Kill(); err != nil {
		return err
	}
	_, err = p.Wait()
	return err
}

// TestProfileCPUsEach deals CPUs out to workers, whoever is which.
func TestProfileCPUsEach(t *testing.T) {
	h, n := newHome(t), newNamesake(t)
	mask, err := sched.Affinity(kernel.TID(os.Getpid()))
	require.NoError(t, err)
	if mask.Len() < 2 {
		t.Skip("needs two CPUs")
	}
	pids := []kernel.TID{n.start(), n.start(), n.start()}
	file := profileFile(t, fmt.Sprintf("[[task]]\nname = %q\ncpus_each = ['%d', '%d']\n", n.name, mask.First(), mask.Last()))
	require.Zero(t, h.run("apply", file).code)
	got := map[string]int{}
	for _, pid := range pids {
		got[affinityOf(t, pid)]++
	}
	assert.Equal(t, map[string]int{fmt.Sprint(mask.First()): 2, fmt.Sprint(mask.Last()): 1}, got)
	require.Zero(t, h.run("verify", file).code)
	r := h.run("save", "-", n.name)
	require.Zero(t, r.code, r.err)
	assert.Regexp(t, `cpus_each = \[("\d+"(, )?){3}\]`, r.out)
}

func TestProfileExitCodes(t *testing.T) {
	h, n := newHome(t), newNamesake(t)
	n.start()
	here := fmt.Sprintf("[[task]]\nname = %q\n", n.name)
	asIs := fmt.Sprintf("nice = %d\n", niceOf(t, kernel.TID(os.Getpid())))
	nowhere := "[[task]]\nname = 'pt-no-such-process'\nnice = 1\n"
	tests := []struct {
		name, text            string
		verify, check, really int
		says                  string
	}{
		{"corrupt", "[[task\n", 2, 2, 2, "p.toml: line 2, column 7: "},
		{"unknown setting", here + "niceness = 3\n", 2, 2, 2, "p.toml: line 4, column 1: there is no setting"},
		{"nothing means anything", nowhere, 5, 1, 1, `no item of the profile matches this machine, such as [[task]] of line 2: nothing has name "pt-no-such-process"`},
		{"some do", here + asIs + nowhere, 5, 3, 3, `[[task]] of line 5: nothing has name`},
		{"optional", here + asIs + nowhere + "optional = true\n", 0, 0, 0, ""},
		{"drift", here + "ioprio = 'be:3'\n", 5, 5, 0, ""},
		{"drift and missing", here + "ioprio = 'be:4'\n" + nowhere, 5, 5, 3, ""},
		{"impossible", here + "cpus = '4000'\n", 5, 1, 1, "none of 4000 is online"},
		{"mistyped, optional", here + "cpus = 'nod:1'\noptional = true\n", 2, 2, 2, "p.toml: line 4, column 1: CPUS"},
		{"no such package, optional", here + "cpus = 'package:4000'\noptional = true\n", 5, 1, 1, `CPUS "package:4000": this machine has no package`},
		{"a program", "[sysctl]\n'kernel.core_pattern' = '|/bin/sh'\n", 5, 4, 4, "piton does not set it"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := profileFile(t, tt.text)
			r := h.run("verify", file)
			assert.Equal(t, tt.verify, r.code, r.out+r.err)
			r = h.run("apply", file, "--check")
			assert.Equal(t, tt.check, r.code, r.out+r.err)
			r = h.run("apply", file)
			assert.Equal(t, tt.really, r.code, r.out+r.err)
			assert.Contains(t, r.out+r.err, tt.says)
		})
	}
	r := h.run("apply", filepath.Join(t.TempDir(), "none.toml"))
	assert.Equal(t, exit.Failed, r.code)
	assert.Equal(t, exit.Usage, h.run("apply").code)
	assert.Equal(t, exit.Usage, h.run("save").code)
	assert.Equal(t, exit.Usage, h.run("save", "-", "--all", "x").code)
	assert.Equal(t, exit.Failed, h.run("save", "-", "pt-no-such-process").code)
	assert.Equal(t, exit.Usage, h.run("export", "bash", "1").code)
}

// TestApplySummary: the summary's exit code is that with which piton ends, also
// where an item means nothing.
func TestApplySummary(t *testing.T) {
	h, n := newHome(t), newNamesake(t)
	n.start()
	here, nowhere := fmt.Sprintf("[[task]]\nname = %q\n", n.name), "[[task]]\nname = 'pt-no-such-process'\nnice = 1\n"
	check := func(code int, text string, args ...string) {
		t.Helper()
		r := h.run(append([]string{"apply", profileFile(t, text), "-o", "json"}, args...)...)
		assert.Equal(t, code, r.code, r.err)
		summary := ofType(jsonLines(t, r.out), "summary")
		require.Len(t, summary, 1, r.out)
		assert.EqualValues(t, code, summary[0]["exit_code"])
	}
	check(exit.Some, here+"ioprio = 'be:3'\n"+nowhere, "--dry-run")
	check(exit.Some, here+"ioprio = 'be:3'\n"+nowhere)
	check(exit.Some, here+"ioprio = 'be:3'\n"+nowhere) // as it should be by now
	check(exit.Failed, nowhere)
	check(exit.Failed, nowhere, "--dry-run")
	check(exit.Failed, here+"cpus = '4000'\n"+nowhere)
	check(exit.Done, here+"ioprio = 'be:3'\n"+nowhere+"optional = true\n")
}

// TestSaveOfAThread: a thread's number means its process, as it does for pin, and
// threads by name, of which there is no profile, leave the file as it is.
func TestSaveOfAThread(t *testing.T) {
	h := newHome(t)
	cmd := h.program("--headless", "-d", "1m", "--filter", "pid=1")
	require.NoError(t, cmd.Start())
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	pid, tid := fmt.Sprint(cmd.Process.Pid), ""
	eventually(t, "a thread", func() bool {
		dirs, _ := filepath.Glob("/proc/" + pid + "/task/*")
		for _, dir := range dirs {
			if tid = filepath.Base(dir); tid != pid {
				return true
			}
		}
		return false
	})
	file := filepath.Join(t.TempDir(), "p.toml")
	r := h.run("save", file, tid)
	require.Zero(t, r.code, r.err)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Contains(t, string(text), "[[task]]")

	r = h.run("save", file, "thread:/./")
	assert.Equal(t, exit.Usage, r.code)
	assert.Contains(t, r.err, "a profile is of whole processes")
	again, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(text), string(again))
}

// TestSaveLeavesEditsAlone writes over its own file only.
func TestSaveLeavesEditsAlone(t *testing.T) {
	h, n := newHome(t), newNamesake(t)
	pid := fmt.Sprint(n.start())
	file := filepath.Join(t.TempDir(), "p.toml")
	require.Zero(t, h.run("save", file, pid).code)
	require.Zero(t, h.run("save", file, pid).code)
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteString("# by hand\n")
	require.NoError(t, err)
	require.NoError(t, f.Close())
	r := h.run("save", file, pid)
	assert.Equal(t, exit.Failed, r.code)
	assert.Contains(t, r.err, "has been edited since; --force overwrites it")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.True(t, strings.HasSuffix(string(text), "# by hand\n"))
	require.Zero(t, h.run("save", file, pid, "--force").code)
}
