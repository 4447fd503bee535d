package model_test

import (
	"fmt"
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
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/procfs"
)

// The load of a live test is children of its own: the test program again, as a
// hog. It ends with the test, also when that is killed.
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

// hog is a task that works for a share of a period and sleeps the rest of it.
type hog struct {
	percent int
	period  time.Duration
	work    work
	nice    int
	fifo    bool
	session bool   // of its own
	cgroup  string // directory, "" for none
}

// work is what ends a hog's work, and so what becomes of it where the hog has to wait.
type work int

// The kinds of work.
const (
	wallWork work = iota // the clock: waiting takes it away
	cpuWork              // the time that it had of the CPU: waiting makes it later, and all that follows
	openWork             // the same, begun with each period: waiting makes it later
)

func always() hog { return hog{percent: 100, period: 100 * time.Millisecond} }

func duty(percent int, period time.Duration) hog { return hog{percent: percent, period: period} }

func (h hog) String() string {
	return fmt.Sprintf("%d %d %d %d %t", h.percent, h.period, h.work, h.nice, h.fifo)
}

func playHog(text string) error {
	var h hog
	if _, err := fmt.Sscan(text, &h.percent, &h.period, &h.work, &h.nice, &h.fifo); err != nil {
		return err
	}
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
	for due := time.Now(); ; {
		h.spin(busy)
		rest := h.period - busy
		if h.work == openWork {
			due = due.Add(h.period)
			if rest = time.Until(due); rest < -h.period { // it does not make up for more than one
				due = time.Now()
			}
		}
		if rest > 0 {
			pauseFor(rest)
		}
	}
}

// pauseFor sleeps in a way that wakes no other thread of the Go runtime.
func pauseFor(d time.Duration) {
	left := unix.NsecToTimespec(int64(d))
	_, _, _ = unix.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&left)), 0, 0)
}

// spin works for a time by the hog's clock.
func (h hog) spin(busy time.Duration) {
	if h.work == wallWork {
		for began := time.Now(); time.Since(began) < busy; {
		}
		return
	}
	clock := func() time.Duration {
		ns, err := kernel.ProcessTime(0)
		if err != nil {
			panic(err)
		}
		return time.Duration(ns)
	}
	for end := clock() + busy; clock() < end; {
	}
}

// startHog pins a hog to a CPU.
func startHog(t *testing.T, h hog, cpu cpuset.CPU) kernel.TID {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	// One P, and no signals to it, so that Go's other threads have next to nothing to do.
	cmd.Env = append(os.Environ(), hogVariable+"="+h.String(), "GOMAXPROCS=1", "GODEBUG=asyncpreemptoff=1")
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: h.session, Pdeathsig: syscall.SIGKILL}
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
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if h.cgroup != "" {
		// The thread that works alone, where a group may have it alone: each time that Go's others
		// wake the kernel weighs the group anew, and Linux 6.18 may give another group on the CPU
		// nothing for 16 s then.
		file := filepath.Join(h.cgroup, "tasks")
		if _, err := os.Stat(file); err != nil {
			file = filepath.Join(h.cgroup, "cgroup.procs")
		}
		require.NoError(t, os.WriteFile(file, []byte(strconv.Itoa(cmd.Process.Pid)), 0))
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
