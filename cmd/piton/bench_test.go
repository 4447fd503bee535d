package main_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"
)

// The benchmarks of this file start the program as a user does, interleaved with its
// peer where there is one, and give medians: means say more of the machine's
// neighbours.

// contest runs each program in turn, as often as b.N says.
func contest(b *testing.B, programs map[string]func(i int) *exec.Cmd) {
	times := map[string][]time.Duration{}
	for i := range b.N {
		for name, program := range programs {
			cmd := program(i)
			began := time.Now()
			out, err := cmd.CombinedOutput()
			times[name] = append(times[name], time.Since(began))
			require.NoError(b, err, "%s: %s", name, out)
		}
	}
	for name, took := range times {
		b.ReportMetric(milliseconds(median(took)), name+"-ms")
	}
	if times["tuna"] != nil {
		b.ReportMetric(float64(median(times["piton"]))/float64(median(times["tuna"])), "of-tuna")
	}
	b.ReportMetric(0, "ns/op") // of all together, which says nothing
}

func median(d []time.Duration) time.Duration { return slices.Sorted(slices.Values(d))[len(d)/2] }

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// pitonAt is the program with a state folder of its own.
func pitonAt(home string, args ...string) *exec.Cmd {
	cmd := exec.Command(binary, args...)
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+home)
	return cmd
}

// tunaIs returns tuna's command line in the words of the version that is installed,
// or nil without tuna: since 0.16 it has subcommands.
func tunaIs(old, since16 []string) func(i int) *exec.Cmd {
	help, err := exec.Command("tuna", "--help").CombinedOutput()
	if err != nil {
		return nil
	}
	args := since16
	if bytes.Contains(help, []byte("--move")) {
		args = old
	}
	return func(i int) *exec.Cmd {
		words := slices.Clone(args)
		for n := range words {
			words[n] = strings.ReplaceAll(words[n], "@", strconv.Itoa(i%2))
		}
		return exec.Command("tuna", words...)
	}
}

// sleep is a process of so many threads, or a few more of Go's own, that do nothing,
// for ten minutes at most.
func sleep(threads int) {
	for range threads - 1 {
		go func() {
			runtime.LockOSThread()
			syscall.Pause()
		}()
	}
	time.Sleep(10 * time.Minute)
}

// startSleep starts one, and returns its PID when its threads are there.
func startSleep(b *testing.B, threads int) string {
	self, err := os.Executable()
	require.NoError(b, err)
	cmd := exec.Command(self, strconv.Itoa(threads))
	cmd.Env = append(os.Environ(), helperMode+"=sleep")
	require.NoError(b, cmd.Start())
	b.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	pid := strconv.Itoa(cmd.Process.Pid)
	require.Eventually(b, func() bool {
		tasks, _ := os.ReadDir("/proc/" + pid + "/task")
		return len(tasks) >= threads
	}, time.Minute, time.Millisecond)
	return pid
}

// idle starts n processes that only sleep, and waits until they do.
func idle(b *testing.B, n int) {
	for range n {
		cmd := exec.Command("sleep", "600")
		require.NoError(b, cmd.Start())
		b.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	}
	time.Sleep(time.Second)
}

func needTwoCPUs(b *testing.B) {
	if out, err := exec.Command("taskset", "-c", "0,1", "taskset", "-cp", strconv.Itoa(os.Getpid())).CombinedOutput(); err != nil {
		b.Skipf("needs CPUs 0 and 1: %s", out)
	}
}

// BenchmarkPin is a one-shot pin, the synced journal included, from fork to exit.
func BenchmarkPin(b *testing.B) {
	needTwoCPUs(b)
	home, pid := b.TempDir(), startSleep(b, 1)
	contest(b, map[string]func(int) *exec.Cmd{
		"piton": func(i int) *exec.Cmd { return pitonAt(home, "pin", pid, "--cpu", strconv.Itoa(i%2)) },
	})
}

// BenchmarkMove100Threads moves a process of 100 threads from CPU to CPU.
func BenchmarkMove100Threads(b *testing.B) {
	needTwoCPUs(b)
	home, pid := b.TempDir(), startSleep(b, 100)
	programs := map[string]func(int) *exec.Cmd{
		"piton": func(i int) *exec.Cmd { return pitonAt(home, "move", strconv.Itoa(i%2), "-t", pid) },
	}
	if tuna := tunaIs([]string{"-t", pid, "-c", "@", "-m"}, []string{"move", "-c", "@", "-t", pid}); tuna != nil {
		programs["tuna"] = tuna
	}
	contest(b, programs)
}

// BenchmarkThreads3000 lists every thread among 3,000 idle processes, with tuna's
// columns.
func BenchmarkThreads3000(b *testing.B) {
	idle(b, 3000)
	home := b.TempDir()
	programs := map[string]func(int) *exec.Cmd{"piton": func(int) *exec.Cmd {
		return pitonAt(home, "--headless", "--threads", "-n", "1", "--columns",
			"pid,tid,policy,rtprio,affinity,voluntary_switches,involuntary_switches,comm")
	}}
	if tuna := tunaIs([]string{"-P"}, []string{"show_threads"}); tuna != nil {
		programs["tuna"] = tuna
	}
	contest(b, programs)
}

// BenchmarkFirstScreen is the time from exec until the frame stands, and until the
// list of processes is in it.
func BenchmarkFirstScreen(b *testing.B) {
	for _, n := range []int{0, 5000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			idle(b, n)
			home := b.TempDir()
			var frame, list []time.Duration
			for range b.N {
				f, l := firstScreen(b, home)
				frame, list = append(frame, f), append(list, l)
			}
			b.ReportMetric(milliseconds(median(frame)), "frame-ms")
			b.ReportMetric(milliseconds(median(list)), "list-ms")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func firstScreen(b *testing.B, home string) (frame, list time.Duration) {
	cmd := pitonAt(home)
	cmd.Env = append(cmd.Env, "TERM=xterm-256color", "LC_ALL=C.UTF-8")
	began := time.Now()
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 50, Cols: 200})
	require.NoError(b, err)
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_, _ = io.Copy(io.Discard, terminal) // it restores the terminal first
		_ = cmd.Wait()
		_ = terminal.Close()
	}()
	var shown []byte
	buf := make([]byte, 1<<16)
	for frame == 0 || list == 0 {
		n, err := terminal.Read(buf)
		require.NoError(b, err)
		shown = append(shown, buf[:n]...)
		if frame == 0 && bytes.Contains(shown, []byte("Processes")) {
			frame = time.Since(began)
		}
		if list == 0 && bytes.Count(shown, []byte("OTHER")) > 1 {
			list = time.Since(began)
		}
		require.Less(b, time.Since(began), 20*time.Second)
	}
	return frame, list
}
