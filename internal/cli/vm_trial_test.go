package cli

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/guard"
	"piton/internal/kernel"
)

// pty is a terminal with a program in it.
type pty struct {
	t      *testing.T
	master *os.File
	mu     sync.Mutex
	shown  bytes.Buffer // all that was written to it
}

// openPty returns a terminal of 120×40 cells and its other end (pty(7)).
func openPty(t *testing.T) (*pty, *os.File) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = master.Close() })
	control := func(request uintptr, arg unsafe.Pointer) {
		_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, master.Fd(), request, uintptr(arg))
		require.Zero(t, errno)
	}
	var locked, number int32
	size := [4]uint16{40, 120}
	control(syscall.TIOCSPTLCK, unsafe.Pointer(&locked))
	control(syscall.TIOCGPTN, unsafe.Pointer(&number))
	control(syscall.TIOCSWINSZ, unsafe.Pointer(&size))
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(t, err)
	p := &pty{t: t, master: master}
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
	return p, slave
}

// wait waits until a word has been shown since it was last called.
func (p *pty) wait(word string) {
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

func (p *pty) press(keys string) {
	for _, k := range keys {
		_, err := p.master.WriteString(string(k))
		require.NoError(p.t, err)
		time.Sleep(50 * time.Millisecond) // two keys in one read may be a paste
	}
}

// screen starts the tuner in a terminal.
func (h *home) screen() (*pty, *exec.Cmd) {
	terminal, inside := openPty(h.t)
	piton := h.program()
	piton.Env = append(piton.Env, "TERM=xterm-256color")
	piton.Stdin, piton.Stdout, piton.Stderr = inside, inside, inside
	piton.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	require.NoError(h.t, piton.Start())
	_ = inside.Close()
	h.t.Cleanup(func() { _ = piton.Process.Kill(); _ = piton.Wait() })
	return terminal, piton
}

// TestVMTrialOutlivesTheScreen sets FIFO on a busy task by keys, kills the screen
// while it asks whether to keep that, and waits for the guard.
func TestVMTrialOutlivesTheScreen(t *testing.T) {
	needGuardVM(t)
	h, pid := newHome(t), child(t, "sh", "-c", "while :; do :; done")
	terminal, piton := h.screen()
	terminal.wait("Processes")
	terminal.press(fmt.Sprint(pid))
	terminal.wait(fmt.Sprint(pid))
	terminal.press("Y")
	terminal.wait("FIFO") // in the dialog
	terminal.press("f\r")
	terminal.wait("Keep")
	assert.Equal(t, kernel.FIFO, policyOf(t, pid))
	pidOfGuard := h.guardOf()
	require.NoError(t, piton.Process.Kill())
	_ = piton.Wait()
	require.NoError(t, terminal.master.Close())
	gone(t, pidOfGuard)
	assert.Equal(t, kernel.Other, policyOf(t, pid))
	assert.Contains(t, h.run("journal").out, "not confirmed within 16s")
}

// TestVMTrialOfStarvedScreen starts a screen on a CPU that leaves it next to
// nothing, and lets it have the priority that it asks for.
func TestVMTrialOfStarvedScreen(t *testing.T) {
	shape, _ := needGuardVM(t)
	h, last := newHome(t), cpuset.Of(cpuset.CPU(shape.cpus-1))
	pid := child(t, "sh", "-c", "while :; do :; done")
	require.NoError(t, sched.SetAffinity(pid, last))
	require.NoError(t, sched.SetPolicy(pid, kernel.FIFO, 80, false))
	var terminal *pty
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
	terminal.wait("until the machine is not starved any more") // which it can show in time now
}
