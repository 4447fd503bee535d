package screen

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"
	"github.com/creack/pty"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/crash"
	"piton/internal/kernel"
	"piton/internal/procfs"
)

// crashIn makes the test binary a program whose screen panics somewhere.
const crashIn = "PITON_TEST_CRASH"

func TestMain(m *testing.M) {
	if where := os.Getenv(crashIn); where != "" {
		_, err := Run(context.Background(), crasher(where), Options{Input: os.Stdin, Output: os.Stdout, Env: []string{"TERM=xterm"}})
		if by, ok := errors.AsType[Signalled](err); ok {
			os.Exit(128 + int(by.Signal))
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// crasher panics in a method, or in a goroutine that it starts.
type crasher string

func (c crasher) at(where string) {
	if string(c) == where {
		panic("on purpose in " + where)
	}
}

func (c crasher) Init() tea.Cmd {
	if script, ok := strings.CutPrefix(string(c), "run "); ok {
		return Exec(exec.Command("sh", "-c", script), func(error) tea.Msg { return nil })
	}
	return func() tea.Msg { return resizedMsg{} }
}

func (c crasher) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	c.at("Update")
	nothing := func() tea.Msg { return nil }
	return c, tea.Batch(nothing, func() tea.Msg {
		c.at("command")
		return tea.BatchMsg{nothing, func() tea.Msg { c.at("batch"); return nil }}
	})
}

func (c crasher) View() tea.View {
	c.at("View")
	if c == "goroutine" {
		go func() { defer crash.Handle(); c.at("goroutine") }()
	}
	return tea.NewView("shown")
}

// onTerminal is the program, leader of a session on the terminal.
func onTerminal(t *testing.T, slave *os.File, where string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), crashIn+"="+where)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	t.Cleanup(func() {
		if cmd.Process != nil {
			_ = cmd.Process.Kill()
		}
	})
	return cmd
}

// lent is the program while a shell script, which has said "begun", has the terminal.
type lent struct {
	*exec.Cmd
	t             *testing.T
	master, slave *os.File
	before        *term.State
	out           *bufio.Reader
}

func lend(t *testing.T, script string) lent {
	t.Helper()
	master, slave, err := pty.Open()
	require.NoError(t, err)
	before, err := term.GetState(slave.Fd())
	require.NoError(t, err)
	fd, err := syscall.Dup(int(master.Fd())) // one that takes deadlines
	require.NoError(t, err)
	require.NoError(t, master.Close())
	syscall.CloseOnExec(fd)
	require.NoError(t, syscall.SetNonblock(fd, true))
	master = os.NewFile(uintptr(fd), "terminal")
	t.Cleanup(func() { _, _ = master.Close(), slave.Close() })
	l := lent{onTerminal(t, slave, "run "+script), t, master, slave, before, bufio.NewReader(master)}
	require.NoError(t, l.Start())
	l.wait("begun")
	return l
}

// wait waits for a line.
func (l lent) wait(text string) {
	l.t.Helper()
	require.NoError(l.t, l.master.SetReadDeadline(time.Now().Add(time.Minute)))
	for line := ""; !strings.Contains(line, text); {
		var err error
		line, err = l.out.ReadString('\n')
		require.NoError(l.t, err, text)
	}
}

// ends expects the end by a signal, of all that the program has started, and the terminal as
// it was, unless that is closed.
func (l lent) ends(sig syscall.Signal, closed bool) {
	l.t.Helper()
	_ = l.Wait()
	assert.Equal(l.t, 128+int(sig), l.ProcessState.ExitCode())
	fs := procfs.New("/")
	left := func() (left []kernel.TID) {
		pids, err := fs.Processes()
		require.NoError(l.t, err)
		for _, pid := range pids {
			if st, err := fs.Stat(pid); err == nil && st.Session == kernel.TID(l.Process.Pid) && st.State != 'Z' && st.State != 'X' {
				left = append(left, pid)
			}
		}
		return left
	}
	// A busy machine may take longer than piton waits.
	if !assert.Eventually(l.t, func() bool { return len(left()) == 0 }, time.Minute, 20*time.Millisecond) {
		for _, pid := range left() {
			_ = syscall.Kill(int(pid), syscall.SIGKILL)
		}
	}
	if !closed {
		after, err := term.GetState(l.slave.Fd())
		require.NoError(l.t, err)
		assert.Equal(l.t, l.before, after)
	}
}

// A command that has the terminal ends with the program, and with what it has started, also
// where that ignores SIGTERM, has lost its parent, or has taken the echo away.
func TestCommandEndsWithTheProgram(t *testing.T) {
	for _, script := range []string{
		"echo begun; exec sleep 600",
		"sleep 600 & stty -echo; echo begun; wait",
		"(sleep 600 & sleep 600 &); trap '' HUP; echo begun; while :; do sleep 1; done",
		"trap '' TERM; (while :; do sleep 1; done) & trap - TERM; echo begun; exec sleep 600",
	} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			l := lend(t, script)
			require.NoError(t, l.Process.Signal(syscall.SIGTERM))
			l.ends(syscall.SIGTERM, false)
			if strings.Contains(script, "'' TERM") { // it takes graceTime each time
				return
			}
			l = lend(t, script)
			require.NoError(t, l.Process.Signal(syscall.SIGHUP))
			l.ends(syscall.SIGHUP, false)
			l = lend(t, script)
			require.NoError(t, l.master.Close())
			l.ends(syscall.SIGHUP, true)
		})
	}
}

// ^C is for the command and what it has started, and so is ^Z: there is no shell here, so that
// they are continued.
func TestKeysForACommand(t *testing.T) {
	// It starts nothing: a shell waits for what it starts by vfork, and cannot stop when ^Z comes
	// in that moment.
	l := lend(t, "trap 'echo interrupted' INT; trap 'echo continued' CONT; echo begun; while :; do read line; done")
	for range 2 {
		_, err := l.master.WriteString("\x1a")
		require.NoError(t, err)
		l.wait("continued")
		_, err = l.master.WriteString("\x03")
		require.NoError(t, err)
		l.wait("interrupted")
	}
	require.NoError(t, l.Process.Signal(syscall.SIGTERM))
	l.ends(syscall.SIGTERM, false)
}

func TestPanicGivesTheTerminalBack(t *testing.T) {
	for _, where := range []string{"Update", "View", "command", "batch", "goroutine"} {
		master, slave, err := pty.Open()
		require.NoError(t, err)
		before, err := term.GetState(slave.Fd())
		require.NoError(t, err)
		var message strings.Builder
		cmd := onTerminal(t, slave, where)
		cmd.Stderr = &message
		require.NoError(t, cmd.Start())
		drawn := make(chan string)
		go func() { b, _ := io.ReadAll(master); drawn <- string(b) }()
		_ = cmd.Wait()
		after, err := term.GetState(slave.Fd())
		require.NoError(t, err)
		require.NoError(t, slave.Close())
		written := <-drawn
		require.NoError(t, master.Close())
		assert.Equal(t, crash.Code, cmd.ProcessState.ExitCode(), "%s: %s", where, message.String())
		assert.Equal(t, before, after, where)
		assert.Greater(t, strings.LastIndex(written, ansi.ResetModeAltScreenSaveCursor), strings.LastIndex(written, ansi.SetModeAltScreenSaveCursor), where)
		assert.Contains(t, message.String(), "piton crashed: on purpose in "+where)
		assert.Contains(t, message.String(), "crash_test.go", "its stack")
		assert.NotContains(t, message.String(), "\r\n")
	}
}
