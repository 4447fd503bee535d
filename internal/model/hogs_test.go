package model_test

import (
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

	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// The load of a live test is children of its own: the test program again, as a
// hog. It ends when its standard input does, so also when the test is killed.
const hogVariable = "PITON_MODEL_TEST_HOG"

func TestMain(m *testing.M) {
	hog, ok := os.LookupEnv(hogVariable)
	if !ok {
		os.Exit(m.Run())
	}
	if err := playHog(hog); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// hog is a task that is busy for a share of each period.
type hog struct {
	percent int
	period  time.Duration
	nice    int
	fifo    bool
}

func always() hog { return hog{percent: 100, period: 100 * time.Millisecond} }

func duty(percent int, period time.Duration) hog { return hog{percent: percent, period: period} }

func (h hog) String() string {
	return fmt.Sprintf("%d %d %d %t", h.percent, h.period, h.nice, h.fifo)
}

func playHog(text string) error {
	var h hog
	if _, err := fmt.Sscan(text, &h.percent, &h.period, &h.nice, &h.fifo); err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	runtime.LockOSThread()
	sys := kernel.System()
	if err := sys.SetNice(0, h.nice); err != nil {
		return err
	}
	if h.fifo {
		if err := sys.SetPolicy(0, kernel.FIFO, 1, false); err != nil {
			return err
		}
	}
	busy := h.period * time.Duration(h.percent) / 100
	for began := time.Now(); ; began = time.Now() {
		for time.Since(began) < busy {
		}
		time.Sleep(h.period - busy)
	}
}

// startHog pins a hog to a CPU.
func startHog(t *testing.T, h hog, cpu cpuset.CPU) kernel.TID {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	// One P, so that Go has no second thread that looks for work.
	cmd.Env = append(os.Environ(), hogVariable+"="+h.String(), "GOMAXPROCS=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	// A child starts with the mask of the thread that makes it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	sys := kernel.System()
	own, err := sys.Affinity(0)
	require.NoError(t, err)
	require.NoError(t, sys.SetAffinity(0, cpuset.Of(cpu)))
	err = cmd.Start()
	require.NoError(t, sys.SetAffinity(0, own))
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Process.Signal(resume)
		_ = cmd.Wait()
	})
	return kernel.TID(cmd.Process.Pid)
}

// used is the CPU time of a process.
func used(t *testing.T, pid kernel.TID) time.Duration {
	t.Helper()
	ns, err := kernel.ProcessTime(pid)
	require.NoError(t, err)
	return time.Duration(ns)
}

// windows is how many windows a live test looks at, from its environment
// variable; it skips without.
func windows(t *testing.T, variable string) int {
	n, err := strconv.Atoi(strings.TrimSpace(os.Getenv(variable)))
	if err != nil || n < 1 {
		t.Skipf("it loads the machine: %s=20 runs it, over so many windows for each load", variable)
	}
	return n
}

const (
	pause  = syscall.SIGSTOP
	resume = syscall.SIGCONT
)

func signal(pid kernel.TID, s syscall.Signal) error { return syscall.Kill(int(pid), s) }
