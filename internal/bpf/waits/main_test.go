package waits

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
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
	"piton/internal/cpuset"
	"piton/internal/feature"
	"piton/internal/kernel"
	"piton/internal/kernel/kerneltest"
	"piton/internal/procfs"
	"piton/internal/why"
)

func TestMain(m *testing.M) { bpftest.Main(m, play) }

// play starts so many threads that spin, prints their tids in a line, and waits for the end. With
// "nap" they spin for a millisecond and sleep for one, with "flood" they send packets, which the
// machine receives in softirqs.
func play(role []string) error {
	threads, err := strconv.Atoi(role[1])
	if err != nil {
		return err
	}
	runtime.GOMAXPROCS(threads + 2)
	tids := make(chan int)
	var run sync.WaitGroup
	for range threads {
		run.Add(1)
		go func() {
			runtime.LockOSThread()
			tids <- syscall.Gettid()
			run.Done()
			for role[0] == "nap" {
				for begun := time.Now(); time.Since(begun) < time.Millisecond; {
				}
				_ = syscall.Nanosleep(&syscall.Timespec{Nsec: 1e6}, nil)
			}
			if role[0] == "flood" {
				flood()
			}
			//lint:ignore SA5002 to spin is the role
			for {
			}
		}()
	}
	var line []string
	for range threads {
		line = append(line, strconv.Itoa(<-tids))
	}
	run.Wait()
	fmt.Println(strings.Join(line, " "))
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// flood sends itself packets without end, and reads none.
func flood() {
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM, 0)
	to := syscall.Sockaddr(&syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	if err == nil {
		err = syscall.Bind(socket, to)
	}
	if err == nil {
		to, err = syscall.Getsockname(socket)
	}
	for packet := make([]byte, 1000); err == nil; {
		_ = syscall.Sendto(socket, packet, 0, to)
	}
	panic(err)
}

// child is a running role.
type child struct{ *bpftest.Child }

// start starts a role, its threads on one CPU.
func start(t *testing.T, cpu cpuset.CPU, role string, threads int) *child {
	t.Helper()
	c := &child{bpftest.Start(t, bpftest.Command(role, strconv.Itoa(threads)))}
	require.Len(t, c.TIDs, threads)
	for _, task := range c.Tasks(t) {
		require.NoError(t, task.SetAffinity(cpuset.Of(cpu)))
	}
	return c
}

// hold stops or continues the child, and returns when no thread of it runs or waits any more.
func (c *child) hold(t *testing.T, held bool) {
	t.Helper()
	signal := syscall.SIGCONT
	if held {
		signal = syscall.SIGSTOP
	}
	require.NoError(t, syscall.Kill(int(c.PID), signal))
	require.Eventually(t, func() bool {
		for _, tid := range c.TIDs {
			stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/stat", c.PID, tid))
			require.NoError(t, err)
			if held && !strings.Contains(string(stat), ") T ") {
				return false
			}
		}
		return true
	}, time.Minute, 5*time.Millisecond)
}

func (c *child) delay(t *testing.T) (sum time.Duration) {
	t.Helper()
	for _, tid := range c.TIDs {
		s, err := procfs.New("/").Schedstat(c.PID, tid)
		require.NoError(t, err)
		sum += time.Duration(s.RunDelayNs)
	}
	return sum
}

// needGuest skips a test whose real-time tasks and weights would starve the tests beside it, but in
// the machines of make guests.
func needGuest(t *testing.T) {
	t.Helper()
	if os.Getenv("PITON_VM_SHAPE") == "" {
		t.Skip("runs in the machine that make guests boots")
	}
}

// need opens a watcher, or skips with the reason. On a kernel that has what it takes, with all
// rights, a refusal is a failure.
func need(t *testing.T, targets Targets) *Watcher {
	t.Helper()
	w, err := Open(targets)
	able := len(object.MissingCapabilities()) == 0 && kernel.InitialNamespace("pid") && !object.ReleaseBefore(5, 18)
	if errors.Is(err, feature.ErrNotSupported) && !able {
		t.Skip(err)
	}
	require.NoError(t, err)
	t.Cleanup(w.Close)
	return w
}

// watch watches the threads of a child from when it begins to run until it is stopped, and
// returns by how much the kernel's own count of their waiting grew.
func watch(t *testing.T, c *child, span time.Duration, meanwhile func()) (o why.Observation, delay time.Duration) {
	t.Helper()
	c.hold(t, true)
	w := need(t, Targets{Threads: c.TIDs})
	before := c.delay(t)
	c.hold(t, false)
	until := time.Now().Add(span)
	if meanwhile != nil {
		meanwhile()
	}
	time.Sleep(time.Until(until))
	c.hold(t, true)
	after := c.delay(t)
	all, err := w.Read()
	require.NoError(t, err)
	o = all[0]
	t.Logf("waited %v, ran %v of %v; lost %d, cost %v", o.Waited, o.Ran, o.Span, o.Lost, o.Cost)
	for _, by := range o.By[:min(8, len(o.By))] {
		t.Logf("  %v %s %q %d: %v in %d", by.Cause, by.Group, by.Command, by.PID, by.Time, by.Waits)
	}
	return o, after - before
}

// causes is the time of each cause.
func causes(o why.Observation) (sum [why.Causes]time.Duration) {
	for _, by := range o.By {
		sum[by.Cause] += by.Time
	}
	return sum
}

// cgroup makes a control group with so much weight that what else runs on this machine does not
// matter, and a limit in CPUs, 0 for none. It is a path from the root of the hierarchy.
func cgroup(t *testing.T, path string, limit float64) string {
	t.Helper()
	kerneltest.NeedRoot(t, "a control group")
	mount, err := procfs.New("/").CgroupMount("cpu")
	if err != nil {
		t.Skip(err)
	}
	dir := mount.File(path, "")
	require.NoError(t, os.Mkdir(dir, 0o755))
	t.Cleanup(func() {
		require.Eventually(t, func() bool { return os.Remove(dir) == nil }, time.Minute, 20*time.Millisecond)
	})
	const period = 100_000 // µs
	files := map[string]string{"cpu.shares": "262144"}
	if mount.Unified {
		if os.WriteFile(filepath.Join(filepath.Dir(dir), "cgroup.subtree_control"), []byte("+cpu"), 0) != nil {
			t.Skip("the cpu controller cannot be had here")
		}
		files = map[string]string{"cpu.weight": "10000"}
	}
	switch quota := strconv.Itoa(int(limit * period)); {
	case limit == 0:
	case mount.Unified:
		files["cpu.max"] = quota + " " + strconv.Itoa(period)
	default:
		files["cpu.cfs_quota_us"] = quota
	}
	for name, value := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(value), 0))
	}
	return path
}

// throttled is for how long run queues of a group were throttled.
func throttled(t *testing.T, group string) time.Duration {
	t.Helper()
	mount, err := procfs.New("/").CgroupMount("cpu")
	require.NoError(t, err)
	stat, err := os.ReadFile(mount.File(group, "cpu.stat"))
	require.NoError(t, err)
	for line := range strings.Lines(string(stat)) {
		var n int64
		if _, err := fmt.Sscanf(line, "throttled_usec %d", &n); err == nil {
			return time.Duration(n) * time.Microsecond
		}
		if _, err := fmt.Sscanf(line, "throttled_time %d", &n); err == nil { // ns, in version 1
			return time.Duration(n)
		}
	}
	t.Fatalf("no time in %q", stat)
	return 0
}

// join puts a child into a control group until the test ends.
func (c *child) join(t *testing.T, group string) *child {
	t.Helper()
	mount, err := procfs.New("/").CgroupMount("cpu")
	require.NoError(t, err)
	pid := []byte(strconv.Itoa(int(c.PID)))
	home, err := procfs.New("/").Cgroup(c.PID)
	require.NoError(t, err)
	from, ok := home.Controller("cpu")
	if !ok {
		from, _ = home.Unified()
	}
	require.NoError(t, os.WriteFile(mount.File(group, "cgroup.procs"), pid, 0))
	t.Cleanup(func() { _ = os.WriteFile(mount.File(from, "cgroup.procs"), pid, 0) })
	return c
}

// lastCPU is the last one that this process may use.
func lastCPU(t *testing.T) cpuset.CPU {
	t.Helper()
	cpus, err := kernel.System().Affinity(0)
	require.NoError(t, err)
	return cpus.Last()
}

// confined makes a control group that has one CPU, and is the file that processes are put into.
func confined(t *testing.T, cpu cpuset.CPU) (procs string) {
	t.Helper()
	kerneltest.NeedRoot(t, "a cpuset")
	mount, err := procfs.New("/").CgroupMount("cpuset")
	if err != nil {
		t.Skip(err)
	}
	if mount.Unified {
		_ = os.WriteFile(filepath.Join(mount.Point, "cgroup.subtree_control"), []byte("+cpuset"), 0)
	}
	dir := mount.File(fmt.Sprintf("/piton-waits-set-%d", os.Getpid()), "")
	require.NoError(t, os.Mkdir(dir, 0o755))
	t.Cleanup(func() {
		require.Eventually(t, func() bool { return os.Remove(dir) == nil }, time.Minute, 20*time.Millisecond)
	})
	if err := os.WriteFile(filepath.Join(dir, "cpuset.cpus"), []byte(fmt.Sprint(cpu)), 0); err != nil {
		t.Skip(err)
	}
	if !mount.Unified {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "cpuset.mems"), []byte("0"), 0))
	}
	return filepath.Join(dir, "cgroup.procs")
}

// idleTime is how long a CPU was idle.
func idleTime(t *testing.T, cpu cpuset.CPU) time.Duration {
	t.Helper()
	stat, err := os.ReadFile("/proc/stat")
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(stat), fmt.Sprintf("\ncpu%d ", cpu))
	fields := strings.Fields(rest)
	require.Greater(t, len(fields), 3)
	ticks, err := strconv.Atoi(fields[3])
	require.NoError(t, err)
	return time.Duration(ticks) * 10 * time.Millisecond
}
