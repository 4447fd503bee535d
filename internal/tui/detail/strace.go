package detail

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	tea "charm.land/bubbletea/v2"

	"piton/internal/field"
	"piton/internal/kernel"
	"piton/internal/tui/screen"
)

// Strace gives the terminal to strace(1), attached to a thread, or to all threads
// of a process, until ^C. done gets "", or a sentence that says why it failed.
func Strace(tid kernel.TID, whole bool, done func(failure string) tea.Msg) tea.Cmd {
	path, err := exec.LookPath("strace")
	if err != nil {
		return func() tea.Msg { return done("strace is not installed; the package is called strace") }
	}
	args := []string{"-tt", "-T", "-s", "256", "-p", fmt.Sprint(tid)}
	if whole {
		args = append([]string{"-f"}, args...)
	}
	out := &traceOutput{to: os.Stdout}
	c := exec.Command(path, args...)
	c.Stderr = out // strace writes there, its errors too
	begun := screen.Exec(c, func(err error) tea.Msg { return done(out.failure(tid, err)) })
	return func() tea.Msg {
		fmt.Fprintf(&out.head, "strace of %d: system calls as they are made; ^C ends it and returns to piton\r\n", tid)
		return begun()
	}
}

// traceOutput shows what strace writes and keeps its last line, which says why it
// ended.
type traceOutput struct {
	to   *os.File
	head bytes.Buffer
	last []byte
}

// lastMost bounds what is kept.
const lastMost = 512

// Write shows the title before the first output. The terminal is strace's meanwhile.
func (o *traceOutput) Write(b []byte) (n int, err error) {
	err = kernel.WithoutTTOU(func() error { n, err = o.write(b); return err })
	return n, err
}

func (o *traceOutput) write(b []byte) (int, error) {
	if o.head.Len() > 0 {
		if _, err := o.head.WriteTo(o.to); err != nil {
			return 0, err
		}
	}
	o.last = append(o.last, b...)
	o.last = o.last[max(len(o.last)-lastMost, 0):]
	return o.to.Write(b)
}

// failure is why strace could not trace; "" when it did, however it ended. strace
// exits with 1 for errors of its own, and after ^C by the signal.
func (o *traceOutput) failure(tid kernel.TID, err error) string {
	exit := (*exec.ExitError)(nil)
	text := string(o.last)
	switch {
	case err == nil:
		return ""
	case !errors.As(err, &exit):
		return fmt.Sprintf("strace of %d not started: %v", tid, err)
	case exit.ExitCode() != 1:
		return ""
	case strings.Contains(text, "Operation not permitted"):
		return fmt.Sprintf("strace of %d not permitted: needs CAP_SYS_PTRACE, and no other tracer (see kernel.yama.ptrace_scope)", tid)
	case strings.Contains(text, "No such process"):
		return fmt.Sprintf("strace of %d failed: the process has ended", tid)
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return fmt.Sprintf("strace of %d failed: %s", tid, field.Clean(lines[len(lines)-1]))
}
