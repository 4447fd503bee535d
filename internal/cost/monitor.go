package main

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/creack/pty"
)

// monitor is a program on a terminal of its own.
type monitor struct {
	cmd      *exec.Cmd
	terminal *os.File
	written  atomic.Int64  // bytes
	wrote    chan struct{} // something was
	ended    chan struct{}
}

// answers are what a terminal says to the questions that programs wait for.
var answers = map[string]string{
	"\x1b[c":      "\x1b[?62;22c",
	"\x1b[5n":     "\x1b[0n",
	"\x1b[6n":     "\x1b[1;1R",
	"\x1b]11;?\a": "\x1b]11;rgb:0000/0000/0000\a",
}

const longestQuestion = 8

func start(program string, size pty.Winsize) (*monitor, error) {
	m := &monitor{cmd: exec.Command("sh", "-c", "exec "+program), wrote: make(chan struct{}, 1), ended: make(chan struct{})}
	m.cmd.Env = append(os.Environ(), "TERM=xterm-256color", "COLORTERM=truecolor", "LC_ALL=C.UTF-8")
	var err error
	if m.terminal, err = pty.StartWithSize(m.cmd, &size); err != nil {
		return nil, err
	}
	go m.read()
	return m, nil
}

// read plays the terminal until the program ends.
func (m *monitor) read() {
	defer close(m.ended)
	buf := make([]byte, 1<<16)
	var asked []byte // what was read and may hold, or begin, a question
	for {
		n, err := m.terminal.Read(buf)
		if err != nil {
			return
		}
		m.written.Add(int64(n))
		asked = append(asked, buf[:n]...)
		rest := max(0, len(asked)-longestQuestion+1)
		for question, answer := range answers {
			for at := 0; ; at++ {
				next := bytes.Index(asked[at:], []byte(question))
				if next < 0 {
					break
				}
				at += next
				rest = max(rest, at+len(question))
				_, _ = m.terminal.WriteString(answer)
			}
		}
		asked = append(asked[:0], asked[rest:]...)
		select {
		case m.wrote <- struct{}{}:
		default:
		}
	}
}

// stop ends the program and waits for it.
func (m *monitor) stop() {
	_ = m.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-m.ended:
	case <-time.After(2 * time.Second):
		_ = m.cmd.Process.Kill()
	}
	_ = m.cmd.Wait()
	_ = m.terminal.Close()
}

// measure runs a program once and returns its figures in the order of the headings.
func measure(program string, s setting, interrupted <-chan os.Signal) ([]float64, error) {
	m, err := start(program, s.size)
	if err != nil {
		return nil, err
	}
	defer m.stop()
	wait := func(d time.Duration) error {
		select {
		case <-interrupted:
			return errors.New("interrupted")
		case <-m.ended:
			return errors.New("ended early")
		case <-time.After(d):
			return nil
		}
	}
	if err := wait(s.settle); err != nil {
		return nil, err
	}
	if s.keys > 0 {
		return m.press(s.keys, wait)
	}
	cpu, written, began := cpuTime(m.cmd.Process.Pid), m.written.Load(), time.Now()
	if err := wait(s.over); err != nil {
		return nil, err
	}
	took := time.Since(began).Seconds()
	used := cpuTime(m.cmd.Process.Pid) - cpu
	return []float64{
		used.Seconds() * 1000 / took, float64(m.written.Load()-written) / took, rss(m.cmd.Process.Pid),
	}, nil
}

// press sends Down and Up at random moments, and returns the median, the 95th
// percentile and the greatest time to the first byte, in milliseconds, and how many
// took more than 100 ms.
func (m *monitor) press(keys int, wait func(time.Duration) error) ([]float64, error) {
	took := make([]float64, keys)
	late := 0.0
	for i := range took {
		if err := wait(50*time.Millisecond + rand.N(100*time.Millisecond)); err != nil {
			return nil, err
		}
		select {
		case <-m.wrote: // figures
		default:
		}
		began := time.Now()
		if _, err := m.terminal.WriteString([]string{"\x1b[B", "\x1b[A"}[i%2]); err != nil {
			return nil, err
		}
		select {
		case <-m.wrote:
		case <-time.After(5 * time.Second):
		}
		if took[i] = time.Since(began).Seconds() * 1000; took[i] > 100 {
			late++
		}
	}
	slices.Sort(took)
	return []float64{took[keys/2], took[keys*95/100], took[keys-1], late}, nil
}

// cpuTime is that of a process and its children: of the live threads from schedstat
// (nanoseconds, proc(5)), of children that ended from stat (clock ticks of 10 ms).
func cpuTime(pid int) time.Duration {
	var sum time.Duration
	dir := fmt.Sprint("/proc/", pid)
	if _, rest, ok := strings.Cut(text(dir+"/stat"), ") "); ok {
		if f := strings.Fields(rest); len(f) > 14 {
			for _, ticks := range f[13:15] { // cutime, cstime
				n, _ := strconv.Atoi(ticks)
				sum += time.Duration(n) * 10 * time.Millisecond
			}
		}
	}
	tasks, _ := filepath.Glob(dir + "/task/*")
	for _, task := range tasks {
		if f := strings.Fields(text(task + "/schedstat")); len(f) > 0 {
			ns, _ := strconv.ParseInt(f[0], 10, 64)
			sum += time.Duration(ns)
		}
		for child := range strings.FieldsSeq(text(task + "/children")) {
			if n, err := strconv.Atoi(child); err == nil {
				sum += cpuTime(n)
			}
		}
	}
	return sum
}

// rss is the resident memory in MB (2^20 bytes).
func rss(pid int) float64 {
	f := strings.Fields(text(fmt.Sprintf("/proc/%d/statm", pid)))
	if len(f) < 2 {
		return 0
	}
	pages, _ := strconv.Atoi(f[1])
	return float64(pages*os.Getpagesize()) / (1 << 20)
}

// text is a file's contents, nothing where it is gone.
func text(path string) string {
	data, _ := os.ReadFile(path)
	return string(data)
}
