package bpf

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"piton/internal/bpf/bpftest"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/kernel/kerneltest"
)

// cost is what opening one subject took.
type cost struct {
	CPU      time.Duration
	RSSBytes int64
}

// playCost opens a subject in a process of its own and prints the cost.
func playCost(subject string) error {
	before, err := spent()
	if err != nil {
		return err
	}
	for _, f := range Features {
		if f.ID != subject {
			continue
		}
		if err := f.Probe(); err != nil {
			return err
		}
	}
	after, err := spent()
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(cost{after.CPU - before.CPU, after.RSSBytes - before.RSSBytes})
}

// spent is the process's CPU time and resident memory so far.
func spent() (cost, error) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return cost{}, err
	}
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return cost{}, err
	}
	var size, resident int64
	if _, err := fmt.Sscan(string(statm), &size, &resident); err != nil {
		return cost{}, err
	}
	return cost{time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), resident * int64(os.Getpagesize())}, nil
}

// BenchmarkOpen opens, uses once and closes each subject, in a new process.
func BenchmarkOpen(b *testing.B) {
	bpftest.Must(b, 5, 8, OpenMigrations).Close()
	for _, f := range Features {
		b.Run(f.ID, func(b *testing.B) {
			var sum cost
			for range b.N {
				out, err := bpftest.Command("cost", f.ID).Output()
				require.NoError(b, err, "%s", out)
				var one cost
				require.NoError(b, json.Unmarshal(out, &one))
				sum.CPU += one.CPU
				sum.RSSBytes += one.RSSBytes
			}
			b.ReportMetric(float64(sum.CPU.Milliseconds())/float64(b.N), "cpu-ms/open")
			b.ReportMetric(float64(sum.RSSBytes)/float64(b.N)/(1<<20), "rss-MiB/open")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// startIdle starts n processes that sleep in read(2) on a pipe of which the
// benchmark holds the other end: they end when it does, however it ends.
func startIdle(b *testing.B, n int) {
	b.Helper()
	r, w, err := os.Pipe()
	require.NoError(b, err)
	sh := exec.Command("sh", "-c", fmt.Sprintf(
		`i=0; while [ $i -lt %d ]; do (read x <&3) & i=$((i+1)); done; echo; read x <&3`, n))
	sh.ExtraFiles = []*os.File{r}
	ready, err := sh.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, sh.Start())
	require.NoError(b, r.Close())
	b.Cleanup(func() {
		_ = w.Close()
		_ = sh.Wait()
	})
	_, err = ready.Read(make([]byte, 1))
	require.NoError(b, err)
}

func BenchmarkWalk(b *testing.B) {
	for _, n := range []int{1000, 5000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			startIdle(b, n)
			for _, rung := range []Rung{RungArray, RungSeq} {
				b.Run(strings.ReplaceAll(string(rung), " ", "-"), func(b *testing.B) { benchmarkWalk(b, rung) })
			}
		})
	}
}

// benchmarkWalk reports CPU time: the machine may be busy with something else.
func benchmarkWalk(b *testing.B, rung Rung) {
	w := bpftest.Must(b, 5, 8, func() (*Walk, error) { return OpenWalk(WalkOptions{Rung: rung}) })
	defer w.Close()
	_, _, stats, err := w.Read(false) // makes room
	require.NoError(b, err)
	b.ReportAllocs()
	before, err := spent()
	require.NoError(b, err)
	b.ResetTimer()
	for range b.N {
		_, _, stats, err = w.Read(false)
		require.NoError(b, err)
	}
	b.StopTimer()
	after, err := spent()
	require.NoError(b, err)
	b.ReportMetric(float64((after.CPU-before.CPU).Nanoseconds())/float64(b.N)/float64(stats.Tasks), "cpu-ns/task")
	b.ReportMetric(float64(stats.Tasks), "tasks")
}

// BenchmarkWalkLateness is by how much a FIFO thread that wakes every half millisecond is
// late while a walk of 10,000 tasks runs on its CPU, again and again.
func BenchmarkWalkLateness(b *testing.B) {
	startIdle(b, 10000)
	for _, rung := range []Rung{RungArray, RungSeq} {
		b.Run(strings.ReplaceAll(string(rung), " ", "-"), func(b *testing.B) {
			w := bpftest.Must(b, 5, 8, func() (*Walk, error) { return OpenWalk(WalkOptions{Rung: rung}) })
			defer w.Close()
			cpu := onlineCPUs(b)[0]
			var walking atomic.Bool
			done := make(chan []time.Duration)
			go func() { done <- lateness(b, cpu, &walking) }()
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			own := kerneltest.Of(b, kernel.TID(os.Getpid()), kernel.TID(syscall.Gettid()))
			before, err := kernel.System().Affinity(kernel.TID(syscall.Gettid()))
			require.NoError(b, err)
			require.NoError(b, own.SetAffinity(cpuset.Of(cpu)))
			defer func() { require.NoError(b, own.SetAffinity(before)) }()
			walking.Store(true)
			for range b.N {
				_, _, _, err := w.Read(true)
				require.NoError(b, err)
			}
			walking.Store(false)
			late := <-done
			slices.Sort(late)
			for name, part := range map[string]float64{"p50-us": 0.5, "p90-us": 0.9, "p99-us": 0.99, "worst-us": 1} {
				b.ReportMetric(float64(late[int(part*float64(len(late)-1))].Microseconds()), name)
			}
		})
	}
}

// lateness is by how much each wakeup of a FIFO thread on a CPU was late.
func lateness(b *testing.B, cpu cpuset.CPU, going *atomic.Bool) (late []time.Duration) {
	runtime.LockOSThread() // for good: the thread ends with the goroutine, and its policy with it
	own := kerneltest.Of(b, kernel.TID(os.Getpid()), kernel.TID(syscall.Gettid()))
	if err := own.SetAffinity(cpuset.Of(cpu)); err != nil {
		b.Error(err)
	}
	if err := own.SetPolicy(kernel.FIFO, 50, false); err != nil {
		b.Error(err)
	}
	for !going.Load() {
		time.Sleep(time.Millisecond)
	}
	for next := time.Now(); going.Load(); {
		next = next.Add(500 * time.Microsecond)
		wait := unix.NsecToTimespec(time.Until(next).Nanoseconds())
		_, _, _ = unix.RawSyscall6(unix.SYS_CLOCK_NANOSLEEP, unix.CLOCK_MONOTONIC, 0, uintptr(unsafe.Pointer(&wait)), 0, 0, 0)
		late = append(late, time.Since(next))
		next = time.Now()
	}
	return append(late, 0)
}

// countRuns turns on the kernel's own clock for programs (BPF_ENABLE_STATS);
// its baseline, about 50 ns for each run, is part of what it shows.
func countRuns(b *testing.B) {
	b.Helper()
	counting, err := ebpf.EnableStats(unix.BPF_STATS_RUN_TIME)
	require.NoError(b, err)
	b.Cleanup(func() { _ = counting.Close() })
}

func reportRuns(b *testing.B, c *ebpf.Collection, program string) {
	b.Helper()
	stats, err := c.Programs[program].Stats()
	require.NoError(b, err)
	b.ReportMetric(float64(stats.Runtime.Nanoseconds())/float64(max(stats.RunCount, 1)), program+"-ns")
	b.ReportMetric(float64(stats.RunCount), program+"-runs")
}

func startFlipped(b *testing.B) (*bpftest.Child, []cpuset.CPU) {
	b.Helper()
	spinner := start(b, append([]string{"spin"}, hex("a", "b", "c", "d")...)...)
	online, err := kernel.System().Affinity(spinner.PID)
	require.NoError(b, err)
	if online.Len() < 2 {
		b.Skip("a migration takes two CPUs")
	}
	return spinner, []cpuset.CPU{online.First(), online.Last()}
}

// BenchmarkMigrationEvent is the kernel's share of counting and of reporting one move.
func BenchmarkMigrationEvent(b *testing.B) {
	m := bpftest.Must(b, 5, 8, OpenMigrations)
	defer m.Close()
	single := bpftest.Must(b, 5, 8, func() (*Moves, error) { return OpenMoves(MovesBytes) })
	defer single.Close()
	spinner, cpus := startFlipped(b)
	require.NoError(b, single.SetTargets(spinner.PID))
	countRuns(b)
	b.ResetTimer()
	flip(b, spinner.Tasks(b), cpus, b.N)
	b.StopTimer()
	reportRuns(b, m.Objects, "count_move")
	reportRuns(b, single.Objects, "report_move")
}

func BenchmarkDrain(b *testing.B) {
	m := bpftest.Must(b, 5, 8, OpenMigrations)
	defer m.Close()
	spinner, cpus := startFlipped(b)
	b.ReportAllocs()
	before, err := spent()
	require.NoError(b, err)
	var counts []MoveCount
	for range b.N {
		flip(b, spinner.Tasks(b), cpus, 8)
		counts, _, err = m.Drain(counts[:0])
		require.NoError(b, err)
	}
	after, err := spent()
	require.NoError(b, err)
	b.ReportMetric(float64((after.CPU-before.CPU).Microseconds())/float64(b.N), "cpu-us/drain")
}

// BenchmarkSwitch is the kernel's share of the ledger for one context switch.
func BenchmarkSwitch(b *testing.B) {
	l := bpftest.Must(b, 5, 14, OpenLedger)
	defer l.Close()
	countRuns(b)
	bpftest.Switches(b)
	reportRuns(b, l.Objects, "on_switch")
}
