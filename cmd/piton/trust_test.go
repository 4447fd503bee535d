package main_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/kernel"
	"piton/internal/kernel/kerneltest"
)

// The tests of this file do to piton from outside what a hostile machine does: they
// kill it, take its disk, its PIDs and its CPUs. Each works on children of its own.

// trusted is a piton with a state directory of its own.
type trusted struct {
	*testing.T
	state string
	env   []string
}

func trust(t *testing.T) trusted {
	if testing.Short() {
		t.Skip("skipped with -short: kills piton again and again")
	}
	kerneltest.NeedRoot(t, "for real-time policies and namespaces")
	state := t.TempDir()
	return trusted{t, state, append(os.Environ(), "XDG_STATE_HOME="+state, "TERM=dumb")}
}

func (p trusted) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Env = p.env
	return cmd
}

// run returns what piton prints and its exit code.
func (p trusted) run(args ...string) (string, int) {
	p.Helper()
	return p.outcome(p.command(binary, args...))
}

func (p trusted) outcome(cmd *exec.Cmd) (string, int) {
	p.Helper()
	out, err := cmd.CombinedOutput()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		require.NoError(p, err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// guardsEnd waits until no change waits to be kept.
func (p trusted) guardsEnd() {
	p.Helper()
	require.Eventually(p, func() bool {
		out, _ := p.run("keep")
		return strings.Count(out, "\n") <= 1
	}, patience, 50*time.Millisecond, "the guards have ended")
}

func (p trusted) journal() string { return filepath.Join(p.state, "piton", "journal") }

// child starts a process that sleeps, and ends with the test.
func (p trusted) child() *exec.Cmd {
	p.Helper()
	cmd := exec.Command("sleep", "300")
	require.NoError(p, cmd.Start())
	p.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

func pidOf(cmd *exec.Cmd) kernel.TID { return kernel.TID(cmd.Process.Pid) }

func maskOf(t *testing.T, pid kernel.TID) string {
	t.Helper()
	set, err := kernel.System().Affinity(pid)
	require.NoError(t, err)
	return set.String()
}

func needCPUs01(t *testing.T) {
	t.Helper()
	if own := maskOf(t, 0); !strings.HasPrefix(own, "0-") {
		t.Skip("needs CPUs 0 and 1, has ", own)
	}
}

// reuse starts a process with a PID that is free now. Others may take the number
// first, so it is tried again.
func reuse(t *testing.T, pid int) *exec.Cmd {
	t.Helper()
	const last = "/proc/sys/kernel/ns_last_pid"
	for range 200 {
		if err := os.WriteFile(last, []byte(strconv.Itoa(pid-1)), 0); err != nil {
			t.Skip("PIDs cannot be chosen here: ", err)
		}
		cmd := exec.Command("sleep", "300")
		require.NoError(t, cmd.Start())
		if cmd.Process.Pid == pid {
			t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
			return cmd
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	t.Skip("others were always faster")
	return nil
}

// TestTrustReusedPID is a guard whose target has ended, and its number means another
// process with the same policy.
func TestTrustReusedPID(t *testing.T) {
	p := trust(t)
	target := exec.Command("sleep", "300")
	require.NoError(t, target.Start())
	pid := target.Process.Pid
	out, code := p.run("policy", strconv.Itoa(pid), "fifo:5", "--revert-after", "2s")
	require.Zero(t, code, out)
	require.NoError(t, target.Process.Kill())
	_ = target.Wait()
	reuse(t, pid)
	chrt, err := exec.Command("chrt", "-f", "-p", "5", strconv.Itoa(pid)).CombinedOutput()
	require.NoError(t, err, string(chrt))
	p.guardsEnd()
	a, err := kernel.System().Attr(kernel.TID(pid))
	require.NoError(t, err)
	assert.Equal(t, kernel.FIFO, a.Policy, "it is another process")
	out, code = p.run("undo", "--all")
	assert.Zero(t, code, out)
	a, err = kernel.System().Attr(kernel.TID(pid))
	require.NoError(t, err)
	assert.Equal(t, kernel.FIFO, a.Policy)
}

// TestTrustStackedChanges kills a piton at each of its writes of a change that is made
// on top of another.
func TestTrustStackedChanges(t *testing.T) {
	p := trust(t)
	needCPUs01(t)
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("needs strace to end piton at a system call")
	}
	for n := 1; n <= 6; n++ {
		child := exec.Command("python3", "-c", "import threading,time\nfor _ in range(5): threading.Thread(target=time.sleep,args=(300,),daemon=True).start()\nprint(1,flush=True)\ntime.sleep(300)")
		ready, err := child.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, child.Start())
		_, err = ready.Read(make([]byte, 1))
		require.NoError(t, err)
		pid := strconv.Itoa(child.Process.Pid)
		before := masks(t, pid)
		require.Len(t, before, 6)
		out, code := p.run("pin", pid, "--cpu", "0")
		require.Zero(t, code, out)
		_, _ = p.outcome(p.command("strace", "-f", "-o", "/dev/null", "-e", "trace=sched_setaffinity",
			"-e", fmt.Sprintf("inject=sched_setaffinity:signal=KILL:when=%d", n), binary, "pin", pid, "--cpu", "1"))
		out, code = p.run("undo", "--all")
		assert.Zero(t, code, "killed at write %d: %s", n, out)
		assert.Equal(t, before, masks(t, pid), "killed at write %d: %s", n, out)
		_ = child.Process.Kill()
		_ = child.Wait()
	}
}

// masks are those of the threads of a process.
func masks(t *testing.T, pid string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir("/proc/" + pid + "/task")
	require.NoError(t, err)
	out := map[string]string{}
	for _, e := range entries {
		tid, err := strconv.Atoi(e.Name())
		require.NoError(t, err)
		out[e.Name()] = maskOf(t, kernel.TID(tid))
	}
	return out
}

// TestTrustManyAtOnce runs pins, guards and undos of the same tasks at once.
func TestTrustManyAtOnce(t *testing.T) {
	p := trust(t)
	needCPUs01(t)
	var pids []string
	for range 5 {
		pids = append(pids, strconv.Itoa(p.child().Process.Pid))
	}
	before := maskOf(t, pid(t, pids[0]))
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			args := append([]string{"pin"}, pids...)
			args = append(args, "--cpu", strconv.Itoa(i%2))
			switch i % 4 {
			case 2:
				args = append(args, "--revert-after", "300ms")
			case 3:
				args = []string{"undo"}
			}
			_, _ = p.outcome(p.command(binary, args...))
		})
	}
	wait.Wait()
	p.guardsEnd()
	out, code := p.run("undo", "--all")
	assert.Zero(t, code, out)
	for _, word := range pids {
		assert.Equal(t, before, maskOf(t, pid(t, word)), out)
	}
}

func pid(t *testing.T, word string) kernel.TID {
	n, err := strconv.Atoi(word)
	require.NoError(t, err)
	return kernel.TID(n)
}

// TestTrustLostGuard kills a guard, and stops one: both are seen, and keep nobody
// waiting.
func TestTrustLostGuard(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGSTOP} {
		p := trust(t)
		child := p.child()
		out, code := p.run("nice", pidText(child.Process.Pid), "5", "--revert-after", "1h", "-o", "json")
		require.Zero(t, code, out)
		_, rest, _ := strings.Cut(out, `"guard_pid":`)
		guard, err := strconv.Atoi(strings.SplitN(rest, ",", 2)[0])
		require.NoError(t, err, out)
		require.NoError(t, syscall.Kill(guard, sig))
		word := map[syscall.Signal]string{syscall.SIGKILL: "guard lost", syscall.SIGSTOP: "guard stopped"}[sig]
		require.Eventually(t, func() bool { // its heartbeat is late
			out, _ := p.run("journal")
			return strings.Contains(out, word)
		}, patience, 50*time.Millisecond, word)
		for _, command := range [][]string{{"journal"}, {"keep"}, {"undo"}} {
			out, code := p.run(command...)
			assert.Zero(t, code, out)
			assert.Contains(t, out, word, "%v", command)
		}
		if sig == syscall.SIGSTOP {
			require.NoError(t, syscall.Kill(guard, syscall.SIGCONT))
		}
	}
}

// TestTrustFullDisk fills the disk before a change, and before an undo.
func TestTrustFullDisk(t *testing.T) {
	p := trust(t)
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=64k", "piton", p.state).CombinedOutput(); err != nil {
		t.Skip("no tmpfs can be mounted here: ", string(out))
	}
	t.Cleanup(func() { _ = exec.Command("umount", p.state).Run() })
	child := p.child()
	out, code := p.run("nice", pidText(child.Process.Pid), "5")
	require.Zero(t, code, out)
	fill := filepath.Join(p.state, "fill")
	_ = os.WriteFile(fill, bytes.Repeat([]byte{1}, 128<<10), 0o600)
	f, err := os.OpenFile(p.journal(), os.O_WRONLY|os.O_APPEND, 0)
	require.NoError(t, err)
	for _, err = f.Write([]byte("\n")); err == nil; _, err = f.Write([]byte("\n")) { // the last page, too
	}
	require.NoError(t, f.Close())

	out, code = p.run("nice", pidText(child.Process.Pid), "7")
	assert.Equal(t, 1, code, out)
	nice, err := kernel.System().Nice(pidOf(child))
	require.NoError(t, err)
	assert.Equal(t, 5, nice, "without a record nothing is changed")
	out, code = p.run("undo")
	assert.Equal(t, 3, code, "it is undone, and not recorded: %s", out)
	nice, err = kernel.System().Nice(pidOf(child))
	require.NoError(t, err)
	assert.Zero(t, nice, out)
	require.NoError(t, os.Remove(fill))
	out, code = p.run("undo")
	assert.Zero(t, code, out)
}

// TestTrustOtherNamespace undoes in another time namespace, where every start time is
// another one.
func TestTrustOtherNamespace(t *testing.T) {
	p := trust(t)
	child := p.child()
	out, code := p.run("nice", pidText(child.Process.Pid), "5")
	require.Zero(t, code, out)
	cmd := p.command("unshare", "-T", "--boottime", "100000", binary, "undo", "--all")
	out, code = p.outcome(cmd)
	if strings.Contains(out, "unshare failed") || strings.Contains(out, "unrecognized") {
		t.Skip("no time namespaces here: ", out)
	}
	assert.Zero(t, code, out)
	assert.Contains(t, out, "left alone: entry 1 of another time namespace; undo works only there")
	out, code = p.run("undo", "--all")
	assert.Zero(t, code, "it is not consumed: %s", out)
	nice, err := kernel.System().Nice(pidOf(child))
	require.NoError(t, err)
	assert.Zero(t, nice)
}

// TestTrustAlteredRecord flips a digit of a value in the journal.
func TestTrustAlteredRecord(t *testing.T) {
	p := trust(t)
	child := p.child()
	out, code := p.run("nice", pidText(child.Process.Pid), "5")
	require.Zero(t, code, out)
	text, err := os.ReadFile(p.journal())
	require.NoError(t, err)
	altered := strings.Replace(string(text), `"before":"0"`, `"before":"1"`, 1)
	require.NotEqual(t, string(text), altered)
	require.NoError(t, os.WriteFile(p.journal(), []byte(altered), 0o600))
	out, code = p.run("undo", "--all")
	assert.NotZero(t, code, out)
	assert.Contains(t, out, "damaged")
	nice, err := kernel.System().Nice(pidOf(child))
	require.NoError(t, err)
	assert.Equal(t, 5, nice, "nothing is done that the record does not vouch for")
}

// TestTrustForeignState is root in the state directory of somebody else.
func TestTrustForeignState(t *testing.T) {
	p := trust(t)
	child := p.child()
	victim := filepath.Join(t.TempDir(), "victim")
	require.NoError(t, os.WriteFile(victim, []byte("x"), 0o600))
	dir := filepath.Join(p.state, "piton")
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, os.Symlink(victim, p.journal()))
	out, code := p.run("nice", pidText(child.Process.Pid), "5")
	assert.NotZero(t, code, out)
	text, err := os.ReadFile(victim)
	require.NoError(t, err)
	assert.Equal(t, "x", string(text), "a link is not followed")

	require.NoError(t, os.Remove(p.journal()))
	require.NoError(t, os.WriteFile(p.journal(), nil, 0o600))
	require.NoError(t, os.Chown(p.journal(), strangersID, strangersID))
	out, code = p.run("nice", pidText(child.Process.Pid), "5")
	assert.NotZero(t, code, out)
	nice, err := kernel.System().Nice(pidOf(child))
	require.NoError(t, err)
	assert.Zero(t, nice)
}

// TestTrustWholeMachine means every process of a PID namespace.
func TestTrustWholeMachine(t *testing.T) {
	p := trust(t)
	for _, word := range []string{"'*'", "'/./'", "cgroup:/"} {
		script := fmt.Sprintf(`sleep 5 & sleep 5 & "$0" nice %s 5; echo "exit $?"; "$0" nice %s 5 --dry-run >/dev/null; cat /proc/[0-9]*/stat | cut -d' ' -f2,19`, word, word)
		out, code := p.outcome(p.command("unshare", "-fp", "--mount-proc", "--kill-child", "sh", "-c", script, binary))
		if code != 0 && strings.Contains(out, "unshare") {
			t.Skip("no PID namespaces here: ", out)
		}
		assert.Contains(t, out, "exit 1", "%s: %s", word, out)
		assert.Contains(t, out, "refused", "%s", word)
		assert.NotContains(t, out, "(sleep) 5", "%s", word)
	}
	out, code := p.run("nice", "cgroup:../..", "5")
	assert.Equal(t, 2, code, out)
}

// TestTrustReadOnly tries to change something in read-only mode, in all its spellings.
func TestTrustReadOnly(t *testing.T) {
	p := trust(t)
	child := p.child()
	before, err := kernel.System().Nice(pidOf(child))
	require.NoError(t, err)
	for _, args := range [][]string{
		{"--readonly=1", "nice"}, {"--readonly=T", "nice"}, {"nice", "--readonly=1"}, {"--host-root", "/", "nice"}, {"--host-root=/", "pin"},
	} {
		words := append(args, pidText(child.Process.Pid), "5")
		out, code := p.run(words...)
		assert.NotZero(t, code, "%v: %s", words, out)
	}
	for _, word := range []string{"--readonly=1", "--readonly=T"} {
		out, code := p.run(word, "rescue", "--list")
		assert.NotZero(t, code, out)
	}
	nice, err := kernel.System().Nice(pidOf(child))
	require.NoError(t, err)
	assert.Equal(t, before, nice)
}

// TestTrustUnknownWord names a task that is there and an interrupt that is not.
func TestTrustUnknownWord(t *testing.T) {
	p := trust(t)
	needCPUs01(t)
	child := p.child()
	before := maskOf(t, pidOf(child))
	out, code := p.run("move", "0", "-t", pidText(child.Process.Pid), "-q", "nope")
	assert.NotZero(t, code, out)
	assert.Equal(t, before, maskOf(t, pidOf(child)), "nothing is done by halves")
}

// TestTrustUnprivilegedIsolate is nobody who isolates a CPU: only own processes move,
// and the journal tells of nothing else.
func TestTrustUnprivilegedIsolate(t *testing.T) {
	needCPUs01(t)
	s := newStranger(t)
	out, code := s.run(t, nil, "isolate", "1", "--yes")
	assert.NotZero(t, code, out)
	text, _ := s.run(t, nil, "journal", "-o", "json")
	for line := range strings.Lines(text) {
		if strings.Contains(line, `"object":"`) {
			assert.NotContains(t, line, `"status":"done"`, "no interrupt has moved")
		}
	}
	out, code = s.run(t, nil, "undo", "--all")
	assert.Zero(t, code, out)
}
