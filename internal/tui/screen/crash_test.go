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

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"
	"github.com/creack/pty"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/crash"
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

// A command that has the terminal ends with the program, also one that ignores SIGTERM.
func TestCommandEndsWithTheProgram(t *testing.T) {
	for _, test := range []struct {
		script string
		sig    syscall.Signal
	}{{"echo begun; exec sleep 600", syscall.SIGTERM}, {"echo begun; exec sleep 600", syscall.SIGHUP},
		{"trap '' TERM; echo begun; while :; do sleep 1; done", syscall.SIGTERM}} {
		master, slave, err := pty.Open()
		require.NoError(t, err)
		cmd := onTerminal(t, slave, "run "+test.script)
		require.NoError(t, cmd.Start())
		require.NoError(t, slave.Close())
		out := bufio.NewReader(master)
		for line := ""; !strings.Contains(line, "begun"); {
			line, err = out.ReadString('\n')
			require.NoError(t, err)
		}
		require.NoError(t, cmd.Process.Signal(test.sig))
		_ = cmd.Wait()
		assert.Equal(t, 128+int(test.sig), cmd.ProcessState.ExitCode(), test.script)
		_, _ = io.ReadAll(out) // until nobody has the terminal any more
		require.NoError(t, master.Close())
	}
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
