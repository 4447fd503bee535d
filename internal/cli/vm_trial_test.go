package cli

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/change/guard"
	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// display is a terminal with piton's screen in it.
type display struct {
	t      *testing.T
	master *os.File
	mu     sync.Mutex
	shown  bytes.Buffer // all that was written to it
}

// wait waits until a word has been shown since it was last called.
func (p *display) wait(word string) {
	p.t.Helper()
	defer func() {
		if p.t.Failed() {
			p.t.Logf("what was written: %q", p.shown.String())
		}
	}()
	eventually(p.t, word+" is shown", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		_, after, found := strings.Cut(p.shown.String(), word)
		if found {
			p.shown.Reset()
			p.shown.WriteString(after)
		}
		return found
	})
}

func (p *display) press(keys string) {
	for _, k := range keys {
		_, err := p.master.WriteString(string(k))
		require.NoError(p.t, err)
		time.Sleep(50 * time.Millisecond) // two keys in one read may be a paste
	}
}

// screen starts the tuner in a terminal of 120×40 cells.
func (h *home) screen() (*display, *exec.Cmd) {
	piton := h.program()
	piton.Env = append(piton.Env, "TERM=xterm-256color")
	master, err := pty.StartWithSize(piton, &pty.Winsize{Rows: 40, Cols: 120})
	require.NoError(h.t, err)
	h.t.Cleanup(func() { _ = piton.Process.Kill(); _ = piton.Wait(); _ = master.Close() })
	p := &display{t: h.t, master: master}
	go func() {
		buf := make([]byte, 1<<16)
		for {
			n, err := master.Read(buf)
			if err != nil {
				return
			}
			p.mu.Lock()
			p.shown.Write(buf[:n])
			p.mu.Unlock()
		}
	}()
	return p, piton
}

// TestVMTrialOutlivesTheScreen sets FIFO on a busy task by keys, kills the screen
// while it asks whether to keep that, and waits for the guard.
func TestVMTrialOutlivesTheScreen(t *testing.T) {
	needGuardVM(t)
	h, pid := newHome(t), child(t, "sh", "-c", "while :; do :; done")
	terminal, piton := h.screen()
	terminal.wait("Processes")
	terminal.press(fmt.Sprintf("\\pid=%d\r", pid)) // digits alone may come so late here that each begins a new search
	terminal.press("Y")
	terminal.wait("Policy of") // the dialog; FIFO is in the list as well
	terminal.press("f\r")
	terminal.wait("Keep")
	assert.Equal(t, kernel.FIFO, policyOf(t, pid))
	pidOfGuard := h.guardOf()
	require.NoError(t, piton.Process.Kill())
	_ = piton.Wait()
	require.NoError(t, terminal.master.Close())
	gone(t, pidOfGuard)
	assert.Equal(t, kernel.Other, policyOf(t, pid))
	assert.Contains(t, h.run("journal", "-o", "json").out, "not confirmed within 16s")
}

// TestVMTrialOfStarvedScreen starts a screen on a CPU that leaves it next to
// nothing, and lets it have the priority that it asks for.
func TestVMTrialOfStarvedScreen(t *testing.T) {
	shape := needGuardVM(t)
	h, last := newHome(t), cpuset.Of(cpuset.CPU(shape.cpus-1))
	pid := child(t, "sh", "-c", "while :; do :; done")
	require.NoError(t, sched.SetAffinity(pid, last))
	require.NoError(t, sched.SetPolicy(pid, kernel.FIFO, 80, false))
	var terminal *display
	var piton *exec.Cmd
	require.NoError(t, kernel.OnThread(func() error {
		err := sched.SetAffinity(0, last) // what the thread starts has it, too
		terminal, piton = h.screen()
		return err
	}))
	terminal.wait("starved")
	self := kernel.TID(piton.Process.Pid)
	assert.Equal(t, kernel.Other, policyOf(t, self), "not unasked")
	eventually(t, "it is raised", func() bool {
		terminal.press("y") // a dialog that opened by itself lets keys in flight pass
		return policyOf(t, self) == kernel.RR
	})
	attr, err := sched.Attr(self)
	require.NoError(t, err)
	assert.Equal(t, guard.SelfPriority, attr.RTPrio)
	assert.True(t, attr.ResetOnFork)
	terminal.press("q") // which it obeys in time now
	gone(t, self)
}
