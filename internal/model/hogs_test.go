package model_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/procfs"
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
	session bool   // of its own
	cgroup  string // directory, "" for none
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
	if err := syscall.Setpriority(syscall.PRIO_PROCESS, 0, h.nice); err != nil {
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
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: h.session}
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
	if h.cgroup != "" {
		require.NoError(t, os.WriteFile(filepath.Join(h.cgroup, "cgroup.procs"), []byte(strconv.Itoa(cmd.Process.Pid)), 0))
	}
	return kernel.TID(cmd.Process.Pid)
}

// newCgroup makes a cgroup with a cpu.weight below the root group, which goes with
// the test.
func newCgroup(t *testing.T, name string, weight int) string {
	t.Helper()
	m, err := procfs.New("/").CgroupMount("cpu")
	if err != nil {
		t.Skip(err)
	}
	file, value := "cpu.weight", weight
	if !m.Unified {
		file, value = "cpu.shares", weight*1024/100
	} else if control := filepath.Join(m.Point, "cgroup.subtree_control"); !enabled(t, control) {
		if err := os.WriteFile(control, []byte("+cpu"), 0); err != nil {
			t.Skip(err)
		}
		t.Cleanup(func() { assert.NoError(t, os.WriteFile(control, []byte("-cpu"), 0)) })
	}
	dir := filepath.Join(m.Point, fmt.Sprintf("piton-test-%d-%s", os.Getpid(), name))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { assert.NoError(t, os.Remove(dir)) })
	require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(strconv.Itoa(value)), 0))
	return dir
}

func enabled(t *testing.T, control string) bool {
	b, err := os.ReadFile(control)
	require.NoError(t, err)
	return slices.Contains(strings.Fields(string(b)), "cpu")
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
