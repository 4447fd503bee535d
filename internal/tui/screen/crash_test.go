package screen

import (
	"context"
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
		_, _ = Run(context.Background(), crasher(where), Options{Input: os.Stdin, Output: os.Stdout, Env: []string{"TERM=xterm"}})
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

func (c crasher) Init() tea.Cmd { return func() tea.Msg { return resizedMsg{} } }

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

func TestPanicGivesTheTerminalBack(t *testing.T) {
	for _, where := range []string{"Update", "View", "command", "batch", "goroutine"} {
		master, slave, err := pty.Open()
		require.NoError(t, err)
		before, err := term.GetState(slave.Fd())
		require.NoError(t, err)
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), crashIn+"="+where)
		var message strings.Builder
		cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, &message
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
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
