package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/bpf"
	"piton/internal/kernel/kerneltest"
)

// seize opens the tuner on bouncing processes, filters for them, waits until one
// is seen to bounce, and puts the cursor on the first of them.
func seize(t *testing.T, width, height int) (*terminal, int) {
	t.Helper()
	pid := startBouncers(t, "hopper", 5)
	term := openTerminal(t, width, height)
	term.run("piton")
	term.wait(`\[1 Processes\]`)
	term.keys(`\`, "hopper", "Enter")
	term.wait(`hopper.*$`)
	term.keys("B") // by migrations
	term.wait(`\s[1-9][0-9]*\.[0-9]\s+[▁▂▃▄▅▆▇█]+.*hopper`)
	term.keys("/", pidText(pid), "Enter")
	term.wait(`^▌\s*` + pidText(pid) + ` `)
	return term, pid
}

func affinityOf(t *testing.T, pid int) string {
	t.Helper()
	_, list, ok := strings.Cut(output(t, "taskset", "-cp", pidText(pid)), ": ")
	require.True(t, ok)
	return list
}

func needRoot(t *testing.T) {
	t.Helper()
	kerneltest.NeedRoot(t, "to set real-time policies")
}

func TestSeePinUndo(t *testing.T) {
	term, pid := seize(t, 120, 40)
	before := affinityOf(t, pid)
	if !strings.ContainsAny(before, ",-") {
		t.Skip("needs two CPUs to choose from")
	}
	term.keys("p")
	reason := term.wait(`→ CPU (\d+) \(was .*\): (.*)$`)
	assert.Equal(t, reason[1], affinityOf(t, pid), "taskset agrees with what the screen says")
	assert.NotEmpty(t, reason[2], "the screen says why")
	term.wait(`^▌\s*` + pidText(pid) + ` .*\s` + reason[1] + `\s`) // ALLOWED follows

	term.keys("z")
	term.until("the undo", func() bool { return affinityOf(t, pid) == before })
	term.keys("5")
	term.wait(`hopper`)
	term.wait(`undone`)
	term.keys("q")
	term.wait(`ready> *$`)
}

func TestCoresShowEachMove(t *testing.T) {
	m, err := bpf.OpenMigrations()
	if err != nil {
		t.Skipf("needs eBPF: %v", err)
	}
	m.Close()
	term, pid := seize(t, 120, 40)
	term.wait(`migrations .* exact \(eBPF\)`)
	term.keys("Enter")
	term.wait(`(each move|moves of \d+): (one|\d+ in)`) // of the thread that moved, if the first did not
	term.keys("2")
	term.wait(`Migrations between CPUs`)
	term.keys("Enter") // the busiest cell
	term.wait(`show among the processes`)
	term.wait(`hopper`)
	term.keys("Escape") // with the next key it would be one with Alt
	term.wait(`Migrations between CPUs`)
	term.keys("l")
	term.wait(`Esc close`)
	row := term.wait(`(\d+) hopper .*p moves it`)
	assert.NotEmpty(t, row[1])
	term.keys("1")
	term.wait(`^▌\s*` + pidText(pid) + ` `)
	term.keys("q")
	term.wait(`ready> *$`)
}

func TestIRQsByRate(t *testing.T) {
	term := openTerminal(t, 120, 40)
	term.run("piton")
	term.wait(`\[1 Processes\]`)
	term.keys("3")
	term.wait(`\[3 IRQs\]`)
	term.wait(`Interrupts  \d+/\d+  \d+ lines.* \d+(\.\d)?k?/s`)
	term.keys("n", `\`, "rcu") // the softirq that every machine has
	term.wait(`^▌ +RCU .*softirq`)
	term.keys("Enter")
	term.wait(`filter rcu`)
	term.keys("2")
	term.wait(`\[2 Cores\]`)
	term.keys("q")
	term.wait(`ready> *$`)
}

func TestNiceAndPolicies(t *testing.T) {
	needRoot(t)
	term, pid := seize(t, 120, 40)
	nice := func() int {
		n, err := strconv.Atoi(output(t, "ps", "-o", "ni=", "-p", pidText(pid)))
		require.NoError(t, err)
		return n
	}
	first := nice()
	policy := func() string {
		return strings.Join(strings.Fields(output(t, "chrt", "-p", pidText(pid))), " ")
	}
	term.keys("[")
	term.until("nice 1 higher", func() bool { return nice() == first+1 })
	term.keys("F8")
	term.until("nice 2 higher", func() bool { return nice() == first+2 })
	term.keys("]")
	term.until("nice 1 higher again", func() bool { return nice() == first+1 })

	for _, want := range []struct {
		name, chrt string
		downs      int // from the policy in force to this one, in the dialog's list
	}{{"FIFO", "SCHED_FIFO", 3}, {"RR", "SCHED_RR", 1}} {
		term.keys("Y")
		term.wait(`Policy of hopper`)
		for range want.downs {
			term.keys("Down")
		}
		term.wait(`▌. +\(•\) ` + want.name + ` `)
		term.keys("7", "Enter")
		term.until(want.chrt, func() bool {
			if frame := term.frame(); strings.Contains(frame, "Keep it?") || strings.Contains(frame, "y apply") {
				// Its task was busy, perhaps on every CPU; a dialog that opens by itself lets keys in flight pass.
				time.Sleep(300 * time.Millisecond)
				term.keys("y")
				return false
			}
			got := policy()
			return strings.Contains(got, want.chrt) && strings.Contains(got, "priority: 7")
		})
		time.Sleep(500 * time.Millisecond)
		term.until("kept", func() bool {
			if frame := term.frame(); strings.Contains(frame, "Keep it?") || strings.Contains(frame, "y apply") {
				term.keys("y")
				return false
			}
			return true
		})
	}
	term.keys("z")
	term.until("FIFO again", func() bool { return strings.Contains(policy(), "SCHED_FIFO") })
	term.wait(`undo: hopper .*FIFO`)
	term.keys("z")
	term.until("OTHER again", func() bool { return strings.Contains(policy(), "SCHED_OTHER") })
	term.keys("q")
	term.wait(`ready> *$`)
}

func TestBenchInTheResultsPane(t *testing.T) {
	term := openTerminal(t, 120, 40)
	term.run("piton")
	term.wait(`\[1 Processes\]`)
	term.keys("b")
	term.wait(`\[4 Bench\]`)
	term.keys("n")
	term.wait(`Start a study`)
	term.keys("Down", "C-u", "12")
	term.wait(`n\s+12\s+queens`)
	term.keys("Enter")
	term.wait(`44 of 44 right`)
	term.wait(`Runs of [0-9.]+ ms are too short to judge: use a larger -n`)
	term.wait(`normal\s+[0-9.]+ m?s`)
	term.wait(`least-loaded\s+[0-9.]+ m?s\s+too short to judge`)
	term.keys("1")
	term.wait(`\[1 Processes\]`)
	term.keys("q")
	term.wait(`ready> *$`)
}

func TestResizeSuspendAndSignals(t *testing.T) {
	term := openTerminal(t, 80, 24)
	before := modes(term)
	pidFile := filepath.Join(t.TempDir(), "pid")
	piton := func() int {
		b, err := os.ReadFile(pidFile)
		require.NoError(t, err)
		pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
		require.NoError(t, err)
		return pid
	}
	start := func() {
		term.run("sh -c 'echo $$ >" + pidFile + "; exec piton -d 5s'")
		term.wait(`\[1 Processes\]`)
	}
	start()
	term.tmux("resize-window", "-x", "10", "-y", "3")
	term.wait(`small`)
	term.tmux("resize-window", "-x", "120", "-y", "40")
	term.wait(`\[1 Processes\]`)
	term.keys("C-z")
	term.wait(`Stopped`)
	assert.Equal(t, before, modes(term), "the shell has its terminal back while piton is stopped")
	term.run("fg")
	term.wait(`\[1 Processes\]`)
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGINT} {
		require.NoError(t, syscall.Kill(piton(), sig))
		term.wait(`ready> *$`)
		assert.Equal(t, before, modes(term), "after %v", sig)
		start()
	}
	term.keys("F10")
	term.wait(`ready> *$`)
	assert.Equal(t, before, modes(term))
	term.run("echo status=$?")
	term.wait(`status=0`)
}

// modes is the terminal's line settings, as the shell's stty prints them.
func modes(term *terminal) string {
	term.t.Helper()
	term.run("clear")
	term.run("stty -g | md5sum")
	return term.wait(`([0-9a-f]{32})  -`)[1]
}

func TestWithoutColour(t *testing.T) {
	for _, env := range []string{"NO_COLOR=yes", "NO_COLOR=0"} {
		term := openTerminal(t, 120, 40, env, "TERM=screen-256color")
		term.run("piton")
		term.wait(`\[1 Processes\]`)
		frame := term.tmux("capture-pane", "-p", "-e")
		assert.NotRegexp(t, `\x1b\[[0-9;]*(3[0-7]|4[0-7]|9[0-7]|38|48)[;m]`, frame, env)
		term.keys("q")
	}
}

func TestNoTerminal(t *testing.T) {
	for name, start := range map[string]func() *exec.Cmd{
		"no terminal": func() *exec.Cmd { return exec.Command(binary) },
		"dumb": func() *exec.Cmd {
			cmd := exec.Command(binary)
			cmd.Env = append(os.Environ(), "TERM=dumb")
			return cmd
		},
	} {
		var out, errs strings.Builder
		cmd := start()
		cmd.Args = []string{"piton"}
		cmd.Stdout, cmd.Stderr = &out, &errs
		assert.Error(t, cmd.Run(), name)
		assert.Empty(t, out.String(), name)
		assert.Contains(t, errs.String(), "--headless", name)
		assert.Equal(t, 1, strings.Count(errs.String(), "\n"), "%s: one sentence: %s", name, errs.String())
	}
	term := openTerminal(t, 80, 24, "TERM=dumb")
	term.run("piton; echo status=$?")
	term.wait(`--headless`)
	term.wait(`status=1`)
}

// Streams that are closed are /dev/null (Go opens it in their place): no file that piton writes
// gets what was meant for one, and exit codes are the same.
func TestClosedStreams(t *testing.T) {
	child := exec.Command("sleep", "600")
	require.NoError(t, child.Start())
	t.Cleanup(func() { _ = child.Process.Kill(); _ = child.Wait() })
	pid := pidText(child.Process.Pid)
	for _, closed := range []string{"", ">&-", "2>&-", "<&-", "<&- >&- 2>&-"} {
		home := t.TempDir()
		for _, test := range []struct {
			args, out, errs string
			code            int
		}{
			{"policy " + pid + " batch", "BATCH", "", 0}, {"journal", "batch", "", 0}, {"undo --all", "done", "", 0}, // what anybody may revert
			{"pin " + pid + " --cpu 99999", "", "99999", 2}, {"verify /nonexistent", "", "no profile", 1}, {"--headless -n 1", "PID", "", 0}, {"", "", "terminal", 1},
		} {
			cmd := exec.Command("sh", "-c", `exec "$0" "$@" `+closed, binary)
			cmd.Args = append(cmd.Args, strings.Fields(test.args)...)
			cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+home)
			var out, errs strings.Builder
			cmd.Stdout, cmd.Stderr = &out, &errs
			_ = cmd.Run()
			what := fmt.Sprintf("piton %s %s: %s%s", test.args, closed, out.String(), errs.String())
			assert.Equal(t, test.code, cmd.ProcessState.ExitCode(), what)
			if !strings.Contains(closed, ">&-") || strings.HasPrefix(closed, "2") {
				assert.Contains(t, out.String(), test.out, what)
			}
			if test.errs != "" && !strings.Contains(closed, "2>&-") {
				assert.Contains(t, errs.String(), test.errs, what)
				assert.Equal(t, 1, strings.Count(errs.String(), "\n"), "%s: one sentence", what)
			}
		}
		journal, err := os.ReadFile(filepath.Join(home, "piton", "journal"))
		require.NoError(t, err)
		for line := range strings.Lines(string(journal)) {
			assert.Regexp(t, `^[0-9a-f]{8} \{.*\}\n$`, line, closed)
		}
	}
}

func TestClosedStdout(t *testing.T) {
	out := output(t, "sh", "-c", fmt.Sprintf("%s --headless -n 1 | head -1", binary))
	assert.NotEmpty(t, out)
	assert.NotContains(t, out, "\n")
}
