package bpf

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"piton/internal/bpf/bpftest"
	"piton/internal/bpf/object"
	"piton/internal/feature"
	"piton/internal/kernel"
	"piton/internal/kernel/kerneltest"
)

// The tests act on children of their own: the test program again, in one of the
// roles below. A child ends when its standard input does, so also when the test
// is killed.
const roleVariable = "PITON_BPF_TEST_ROLE"

func TestMain(m *testing.M) {
	if role, ok := os.LookupEnv(roleVariable); ok {
		if err := playRole(strings.Fields(role)); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func playRole(role []string) error {
	switch role[0] {
	case "sleep", "spin":
		return playThreads(role[0] == "spin", role[1:])
	case "pipe", "udp", "nap":
		return playPair(role[0], role[1:])
	case "tcp", "splice", "udp-flow":
		return bpftest.PlayFlows(append([]string{strings.TrimSuffix(role[0], "-flow")}, role[1:]...))
	case "end":
		return nil
	case "open":
		return playOpen(role[1:])
	case "aggregate":
		return playAggregate()
	case "cost":
		return playCost(role[1])
	}
	return fmt.Errorf("no role %q", role)
}

// playThreads starts as many threads as there are names, which are hex so that
// they may hold anything, prints their tids in a line when all run, and waits for
// the end.
func playThreads(spin bool, names []string) error {
	// A thread without a turn of Go's scheduler would sleep and not spin; command
	// keeps Go from taking turns away.
	runtime.GOMAXPROCS(len(names) + 2)
	tids := make(chan int)
	var run sync.WaitGroup // a thread that waits for its turn of the channel sleeps
	for _, name := range names {
		run.Add(1)
		go func() {
			runtime.LockOSThread()
			var raw []byte
			fmt.Sscanf(name, "%x", &raw)
			tid := syscall.Gettid()
			if err := os.WriteFile(fmt.Sprintf("/proc/self/task/%d/comm", tid), raw, 0); err != nil {
				tid = -1
			}
			tids <- tid
			run.Done()
			//lint:ignore SA5002 to spin is the role
			for spin {
			}
			syscall.Pause()
		}()
	}
	var line []string
	for range names {
		line = append(line, strconv.Itoa(<-tids))
	}
	run.Wait()
	fmt.Println(strings.Join(line, " "))
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

// child is a running role.
type child struct {
	pid  kernel.TID
	tids []kernel.TID // in the order of the names given
	out  *bufio.Reader
	held []kernel.Task
}

// tasks are its threads as what can be changed.
func (c *child) tasks(tb testing.TB) []kernel.Task {
	tb.Helper()
	if c.held == nil {
		for _, tid := range c.tids {
			c.held = append(c.held, kerneltest.Of(tb, c.pid, tid))
		}
	}
	return c.held
}

func command(role ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), roleVariable+"="+strings.Join(role, " "), "GODEBUG=asyncpreemptoff=1")
	cmd.Stderr = os.Stderr
	return cmd
}

// start runs a role and waits for its first line. The child is ended, but not
// yet waited for, by end; the test's cleanup does both.
func start(tb testing.TB, role ...string) (c *child, end func()) {
	tb.Helper()
	pid, tids, out, end := bpftest.Start(tb, command(role...))
	return &child{pid: pid, tids: tids, out: out}, end
}

// hex writes names as the roles take them.
func hex(names ...string) []string {
	var all []string
	for _, n := range names {
		all = append(all, fmt.Sprintf("%x", n))
	}
	return all
}

// must opens a subject, or skips with the reason. On a kernel that has what
// it takes, with all rights, a refusal is a failure.
func must[T any](tb testing.TB, major, minor int, open func() (T, error)) T {
	tb.Helper()
	subject, err := open()
	if err == nil {
		return subject
	}
	able := len(object.MissingCapabilities()) == 0 && kernel.InitialNamespace("pid") && kernel.InitialNamespace("user") && !object.ReleaseBefore(major, minor)
	if _, noBTF := os.Stat(object.BTFFile); errors.Is(err, feature.ErrNotSupported) && (!able || noBTF != nil) {
		tb.Skip(err)
	}
	require.NoError(tb, err)
	return subject
}

// tick is how often a test looks for something that has to happen.
const tick = 20 * time.Millisecond

// patience is how long it waits: the emulated CPUs of a guest are one of the host's, which may be busy.
var patience = func() time.Duration {
	if inGuest {
		return 5 * time.Minute
	}
	return time.Minute
}()

// inGuest: the tests run in a machine of make guests.
var inGuest = os.Getenv("PITON_VM_SHAPE") != ""
