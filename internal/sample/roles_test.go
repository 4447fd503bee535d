package sample

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"piton/internal/bpf/bpftest"
	"piton/internal/kernel"
)

// Some tests act on children of their own: the test program again, in one of
// the roles below. A child ends when its standard input does, so also when the
// test is killed.
const roleVariable = "PITON_SAMPLE_TEST_ROLE"

// The first thread is not for tests: its row is that of the whole process.
func init() { runtime.LockOSThread() }

func TestMain(m *testing.M) {
	role, ok := os.LookupEnv(roleVariable)
	if !ok {
		os.Exit(m.Run())
	}
	if err := playRole(strings.Fields(role)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func playRole(role []string) error {
	switch role[0] {
	case "threads":
		return playThreads(role[1:])
	case "spin":
		return playSpin()
	case "sample":
		return playSample(role[1])
	case "end":
		return nil
	}
	return fmt.Errorf("no role %q", role)
}

// playThreads starts a sleeping thread for each name, given in hex so that it
// may hold anything, prints their tids and waits for the end of its input.
func playThreads(names []string) error {
	tids := make(chan int)
	for _, name := range names {
		go func() {
			runtime.LockOSThread()
			raw, _ := hex.DecodeString(name)
			tid := syscall.Gettid()
			if err := os.WriteFile(fmt.Sprintf("/proc/self/task/%d/comm", tid), raw, 0); err != nil {
				tid = -1
			}
			tids <- tid
			syscall.Pause()
		}()
	}
	line := make([]string, len(names))
	for i := range line {
		line[i] = strconv.Itoa(<-tids)
	}
	fmt.Println(strings.Join(line, " "))
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

// playSpin keeps a thread busy that does nothing else, and prints its tid.
func playSpin() error {
	runtime.GOMAXPROCS(3)
	go func() {
		runtime.LockOSThread()
		fmt.Println(syscall.Gettid())
		for end := time.Now().Add(10 * time.Minute); time.Now().Before(end); {
		}
	}()
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

// seenAs is what a sampler says of its sources.
type seenAs struct {
	Tasks                                    int
	TasksRung, TasksBetter, Moves, MoveNeeds string
}

// playSample takes a right from itself and reads two samples.
func playSample(right string) error {
	var err error
	switch right {
	case "bpf(2)":
		err = bpftest.ForbidBPF()
	case "btf":
		err = errors.Join(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""),
			unix.Mount("none", "/sys/kernel/btf", "tmpfs", 0, ""))
	case "proc":
		err = errors.Join(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""),
			unix.Mount("proc", "/proc", "proc", 0, ""))
	}
	if err != nil {
		return err
	}
	s, err := New(Options{EBPF: EBPFNow})
	if err != nil {
		return err
	}
	defer s.Close()
	var n *Sample
	for range 2 {
		if n, err = s.Read(); err != nil {
			return err
		}
	}
	seen := seenAs{Tasks: len(n.Tasks), Moves: n.Migrations.String()}
	for _, c := range n.Collectors {
		switch c.Name {
		case "tasks":
			seen.TasksRung, seen.TasksBetter = c.Rung, c.Better
		case "migrations":
			seen.MoveNeeds = c.Better
		}
		if c.Err != nil {
			return c.Err
		}
	}
	return json.NewEncoder(os.Stdout).Encode(seen)
}

func command(role ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), roleVariable+"="+strings.Join(role, " "), "GODEBUG=asyncpreemptoff=1")
	return cmd
}

// start runs a role and returns its process and the tids that it printed. end
// closes its input; the test's cleanup does that too.
func start(tb testing.TB, role ...string) (pid kernel.TID, tids []kernel.TID, end func()) {
	tb.Helper()
	pid, tids, _, end = bpftest.Start(tb, command(role...))
	return pid, tids, end
}
