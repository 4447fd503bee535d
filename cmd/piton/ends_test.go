package main_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"
	"github.com/creack/pty"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/crash"
	"piton/internal/kernel/kerneltest"
)

// shell leads the session of a terminal, runs a command in the foreground group, as one with job
// control does, and ends as the command.
func shell(args []string) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP) // caught, the command does not ignore it
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Foreground: true, Ctty: 0}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	go func() {
		<-hangups
		_, _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGHUP), syscall.Kill(-cmd.Process.Pid, syscall.SIGCONT)
	}()
	_ = cmd.Wait()
	os.Exit(cmd.ProcessState.ExitCode())
}

// onPTY is a piton on a terminal of its own, whose session it leads, or its shell.
type onPTY struct {
	t      *testing.T
	cmd    *exec.Cmd
	piton  *os.Process // of cmd, or of its shell
	master *os.File
	slave  *os.File
	before *term.State
	ended  chan struct{}

	mu  sync.Mutex
	out bytes.Buffer
}

func startOnPTY(t *testing.T, args ...string) *onPTY {
	t.Helper()
	p := openPTY(t, args...)
	p.start()
	go p.read()
	return p
}

// startInShell is startOnPTY below a shell, which can continue piton.
func startInShell(t *testing.T, args ...string) *onPTY {
	t.Helper()
	p := openPTY(t, args...)
	self, err := os.Executable()
	require.NoError(t, err)
	p.cmd.Path, p.cmd.Args = self, append([]string{self}, p.cmd.Args...)
	p.cmd.Env = append(p.cmd.Env, helperMode+"=shell")
	p.start()
	go p.read()
	piton, err := os.Stat(binary)
	require.NoError(t, err)
	p.until("a command of the shell", func() bool {
		of, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", p.cmd.Process.Pid)) // of each thread
		require.NoError(t, err)
		for _, children := range of {
			b, _ := os.ReadFile(children) // none: the thread has ended
			pid := strings.TrimSpace(string(b))
			// Before its first child Go makes another, to see whether there are pidfds, which ends at once.
			if exe, err := os.Stat(filepath.Join("/proc", pid, "exe")); pid == "" || err != nil || !os.SameFile(exe, piton) {
				continue
			}
			number, err := strconv.Atoi(pid)
			require.NoError(t, err)
			p.piton, err = os.FindProcess(number)
			require.NoError(t, err)
			return true
		}
		return false
	})
	t.Cleanup(func() { _ = p.piton.Kill() })
	return p
}

func openPTY(t *testing.T, args ...string) *onPTY {
	t.Helper()
	p := &onPTY{t: t, cmd: pitonAt(t.TempDir(), args...), ended: make(chan struct{})}
	p.cmd.Env = append(p.cmd.Env, "TERM=xterm-256color", "LC_ALL=C.UTF-8")
	master, slave, err := pty.Open()
	require.NoError(t, err)
	p.slave = slave
	fd, err := syscall.Dup(int(master.Fd())) // Close of a file that waits for nothing does not end its reader
	require.NoError(t, err)
	require.NoError(t, master.Close())
	syscall.CloseOnExec(fd)
	require.NoError(t, syscall.SetNonblock(fd, true))
	p.master = os.NewFile(uintptr(fd), "terminal")
	require.NoError(t, pty.Setsize(p.slave, &pty.Winsize{Rows: 40, Cols: 120}))
	p.before, err = term.GetState(p.slave.Fd())
	require.NoError(t, err)
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = p.slave, p.slave, p.slave
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	return p
}

// start starts piton, and ends it with the test.
func (p *onPTY) start() {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Start())
	p.piton = p.cmd.Process
	go func() { defer close(p.ended); _ = p.cmd.Wait() }()
	p.t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.ended
		_, _ = p.master.Close(), p.slave.Close()
	})
}

// read keeps what is written, and answers as terminals do.
func (p *onPTY) read() {
	b := make([]byte, 1<<16)
	for {
		n, err := p.master.Read(b)
		if err != nil {
			return
		}
		p.mu.Lock()
		p.out.Write(b[:n])
		p.mu.Unlock()
		for range bytes.Count(b[:n], []byte(ansi.RequestPrimaryDeviceAttributes)) {
			_, _ = p.master.WriteString("\x1b[?62;22c")
		}
	}
}

// wait waits until text was written since the last keys.
func (p *onPTY) wait(text string) {
	p.t.Helper()
	p.until(text, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return strings.Contains(ansi.Strip(p.out.String()), text)
	})
}

func (p *onPTY) until(what string, ok func() bool) {
	p.t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(20 * time.Millisecond) {
		select {
		case <-p.ended:
			p.t.Fatalf("piton ended before: %s\n%s", what, p.out.String())
		default:
		}
		if time.Now().After(end) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.t.Fatalf("not so after %s: %s\n%s", patience, what, ansi.Strip(p.out.String()))
		}
	}
}

func (p *onPTY) keys(keys string) {
	p.mu.Lock()
	p.out.Reset()
	p.mu.Unlock()
	_, _ = p.master.WriteString(keys)
}

// exitCode waits for the end.
func (p *onPTY) exitCode() int {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.t.Fatal("it did not end")
	}
	return p.cmd.ProcessState.ExitCode()
}

// stateOf is a process's state of /proc, such as T.
func stateOf(t *testing.T, pid int) string {
	b, err := os.ReadFile(filepath.Join("/proc", pidText(pid), "stat"))
	require.NoError(t, err)
	return strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))[0]
}

func tracerOf(t *testing.T, pid int) string {
	b, err := os.ReadFile(filepath.Join("/proc", pidText(pid), "status"))
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(b), "TracerPid:")
	return strings.Fields(rest)[0]
}

// TestScreenEndsWithItsTerminal ends the screen in each of its states, by SIGTERM, by SIGHUP,
// and by closing its terminal.
func TestScreenEndsWithItsTerminal(t *testing.T) {
	if testing.Short() {
		t.Skip("drives a real terminal")
	}
	target := exec.Command("sleep", "600")
	require.NoError(t, target.Start())
	t.Cleanup(func() { _ = target.Process.Kill(); _ = target.Wait() })
	table := func(p *onPTY) { p.wait("PID") }
	then := func(keys, text string) func(*onPTY) {
		return func(p *onPTY) {
			table(p)
			p.wait("1/1") // its row is there
			p.keys(keys)
			p.wait(text)
		}
	}
	states := map[string]func(*onPTY){
		"start":  func(p *onPTY) { p.until("a terminal in use", func() bool { return p.changed() }) },
		"table":  table,
		"filter": then(`\`, "Filter"),
		"dialog": then("a", "Affinity"),
		"menu":   then(">", "Sort"),
		"help":   then("?", "Help"),
		"bench": func(p *onPTY) {
			then("b", "Bench")(p)
			p.keys("n")
			p.wait("Start a study")
			p.keys("\r")
			p.wait("warm-up")
		},
		"command": func(p *onPTY) {
			if _, err := exec.LookPath("strace"); err != nil {
				p.t.Skip(err)
			}
			kerneltest.NeedRoot(p.t, "to trace a task that is not its child, under yama")
			then("s", "strace of")(p)
			p.until("a tracer", func() bool { return tracerOf(p.t, target.Process.Pid) != "0" })
		},
		"stopped": func(p *onPTY) {
			table(p)
			p.keys("\x1a")
			p.until("stopped", func() bool { return stateOf(p.t, p.piton.Pid) == "T" })
		},
	}
	for name, reach := range states {
		for _, how := range []string{"SIGTERM", "SIGHUP", "closed"} {
			t.Run(name+" "+how, func(t *testing.T) {
				start := startOnPTY
				if name == "stopped" {
					start = startInShell
				}
				p := start(t, "--filter", "pid="+pidText(target.Process.Pid))
				reach(p)
				want := 128 + int(syscall.SIGHUP)
				switch how {
				case "SIGTERM":
					want = 128 + int(syscall.SIGTERM)
					require.NoError(t, p.piton.Signal(syscall.SIGTERM))
				case "SIGHUP":
					require.NoError(t, p.piton.Signal(syscall.SIGHUP))
				default:
					require.NoError(t, p.master.Close())
				}
				if name == "stopped" { // the kernel continues what loses its terminal, and it may have ended by now
					if err := p.piton.Signal(syscall.SIGCONT); !errors.Is(err, os.ErrProcessDone) {
						require.NoError(t, err)
					}
				}
				assert.Equal(t, want, p.exitCode())
				if how != "closed" {
					assert.False(t, p.changed(), "the terminal has its modes back")
				}
				if name == "command" {
					assert.Eventually(t, func() bool { return tracerOf(t, target.Process.Pid) == "0" }, patience, 20*time.Millisecond)
				}
			})
		}
	}
}

// TestSuspendStrace types ^Z and ^C for strace, which has the terminal: it stops with piton, goes
// on with it, and ends alone.
func TestSuspendStrace(t *testing.T) {
	if testing.Short() {
		t.Skip("drives a real terminal")
	}
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip(err)
	}
	kerneltest.NeedRoot(t, "to trace a task that is not its child, under yama")
	target := exec.Command("sleep", "600")
	require.NoError(t, target.Start())
	t.Cleanup(func() { _ = target.Process.Kill(); _ = target.Wait() })
	p := startInShell(t, "--filter", "pid="+pidText(target.Process.Pid))
	p.wait("1/1")
	p.keys("s")
	p.wait("strace of")
	tracer := 0
	p.until("a tracer", func() bool {
		tracer, _ = strconv.Atoi(tracerOf(t, target.Process.Pid))
		return tracer != 0
	})
	for range 2 {
		p.keys("\x1a")
		p.until("both stopped", func() bool { return stateOf(t, p.piton.Pid) == "T" && stateOf(t, tracer) == "T" })
		assert.False(t, p.changed(), "the terminal has its modes")
		require.NoError(t, syscall.Kill(-p.piton.Pid, syscall.SIGCONT)) // fg; the group is piton's
		p.until("strace goes on", func() bool { return stateOf(t, tracer) != "T" && stateOf(t, p.piton.Pid) != "T" })
	}
	p.keys("\x03")
	p.until("no tracer", func() bool { return tracerOf(t, target.Process.Pid) == "0" })
	p.wait("1/1")
	require.NoError(t, p.piton.Signal(syscall.SIGTERM))
	assert.Equal(t, 128+int(syscall.SIGTERM), p.exitCode())
}

// TestSuspendWithoutAShell types ^Z, and sends its signal, where nobody would continue piton.
func TestSuspendWithoutAShell(t *testing.T) {
	if testing.Short() {
		t.Skip("drives a real terminal")
	}
	p := startOnPTY(t, "--filter", "pid=4194304") // no process, and so no other words in the line of messages
	p.wait("PID")
	p.keys("\x1a")
	p.wait("not stopped: there is no shell")
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGTSTP))
	p.keys("?")
	p.wait("Help")
	assert.NotEqual(t, "T", stateOf(t, p.cmd.Process.Pid))
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
	assert.Equal(t, 128+int(syscall.SIGTERM), p.exitCode())
}

// changed reports whether the terminal has other modes than at first.
func (p *onPTY) changed() bool {
	now, err := term.GetState(p.slave.Fd())
	return err != nil || *now != *p.before
}

// TestSignalBeforeTheFirstFrame sends a signal when piton has changed the modes of a terminal
// that takes no byte yet.
func TestSignalBeforeTheFirstFrame(t *testing.T) {
	if testing.Short() {
		t.Skip("drives a real terminal")
	}
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGHUP, syscall.SIGINT, syscall.SIGABRT, syscall.SIGSEGV, syscall.SIGILL} {
		p := openPTY(t)
		fd := int(p.slave.Fd())
		require.NoError(t, syscall.SetNonblock(fd, true))
		for err := error(nil); err == nil; {
			_, err = syscall.Write(fd, []byte("full "))
		}
		require.NoError(t, syscall.SetNonblock(fd, false))
		p.start()
		p.until("a terminal in use", p.changed)
		require.NoError(t, p.cmd.Process.Signal(sig))
		go p.read()
		assert.Equal(t, 128+int(sig), p.exitCode(), sig)
		assert.False(t, p.changed(), "the terminal has its modes back after %s", sig)
		assert.NotContains(t, p.out.String(), "goroutine", sig)
	}
}

// TestSignalsWithoutStacks sends what Go answers with its stacks to a command that has
// something to end, and to one that has not.
func TestSignalsWithoutStacks(t *testing.T) {
	for _, sig := range append([]syscall.Signal{syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGINT}, sent()...) {
		for _, args := range [][]string{{"verify", "-"}, {"--headless", "-d", "100ms"}} {
			cmd := exec.Command(binary, args...)
			var errs bytes.Buffer
			cmd.Stderr = &errs
			stdin, feed, err := os.Pipe()
			require.NoError(t, err)
			cmd.Stdin = stdin
			out, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			ended := make(chan error, 1)
			if args[0] == "verify" { // it waits for the rest
				_, err = feed.WriteString("version = 1\n")
				require.NoError(t, err)
				require.Eventually(t, func() bool { return unread(t, stdin) == 0 }, patience, time.Millisecond)
			} else {
				_, err = out.Read(make([]byte, 1))
				require.NoError(t, err)
			}
			go func() { _, _ = io.Copy(io.Discard, out); ended <- cmd.Wait() }()
			require.NoError(t, cmd.Process.Signal(sig))
			select {
			case <-ended:
			case <-time.After(patience):
				_ = cmd.Process.Kill()
				t.Fatalf("%v does not end %v", sig, args)
			}
			status := cmd.ProcessState.Sys().(syscall.WaitStatus)
			code := status.ExitStatus()
			if status.Signaled() {
				code = 128 + int(status.Signal())
			}
			assert.Equal(t, 128+int(sig), code, "%v %v", sig, args)
			assert.NotContains(t, errs.String(), "goroutine", "%v %v", sig, args)
			_, _ = stdin.Close(), feed.Close()
		}
	}
}

// sent are crash.Sent.
func sent() (out []syscall.Signal) {
	for _, sig := range crash.Sent {
		out = append(out, sig.(syscall.Signal))
	}
	return out
}

// unread is how many bytes nobody has read from a pipe yet.
func unread(t *testing.T, pipe *os.File) (n int32) {
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, pipe.Fd(), syscall.TIOCINQ, uintptr(unsafe.Pointer(&n)))
	require.Zero(t, errno)
	return n
}
