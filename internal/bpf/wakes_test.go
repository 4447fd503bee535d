package bpf

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"piton/internal/bpf/bpftest"
	"piton/internal/bpf/object"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/procfs"
)

// playPair starts two threads that send a byte to and fro, over pipes or over
// sockets of the loopback interface, so many times after each SIGUSR1, and says
// so. With nap the second thread only sleeps so many times.
func playPair(kind string, words []string) error {
	trips, err := strconv.Atoi(words[0])
	if err != nil {
		return err
	}
	runtime.GOMAXPROCS(8)
	there, back, err := channels(kind)
	if err != nil {
		return err
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR1)
	tids, begin, ended := make(chan int), make(chan bool), make(chan bool)
	thread := func(f func()) {
		runtime.LockOSThread()
		// A woken BATCH thread never preempts its waker (check_preempt_wakeup_fair), so
		// that each sleeps once a trip where they share a CPU.
		raw20, _ := unix.Getpriority(unix.PRIO_PROCESS, 0) // 20 less the nice value, which stays
		attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_BATCH, Nice: int32(20 - raw20)}
		if unix.SchedSetAttr(0, &attr, 0) != nil {
			tids <- -1
		}
		tids <- syscall.Gettid()
		f()
	}
	go thread(func() {
		for range begin {
			for range trips {
				if kind == "nap" {
					pause := syscall.Timespec{Nsec: 500_000}
					syscall.RawSyscall(syscall.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&pause)), 0, 0)
					continue
				}
				raw(syscall.SYS_WRITE, there[1])
				raw(syscall.SYS_READ, back[0])
			}
			ended <- true
		}
	})
	first := <-tids
	go thread(func() {
		for raw(syscall.SYS_READ, there[0]) {
			raw(syscall.SYS_WRITE, back[1])
		}
	})
	fmt.Println(first, <-tids)
	go func() {
		for range signals {
			begin <- true
			<-ended
			fmt.Println("done")
		}
	}()
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// channels are two ways, each with the end to read and the one to write.
func channels(kind string) (there, back [2]int, err error) {
	for _, way := range []*[2]int{&there, &back} {
		if kind != "udp" {
			err = errors.Join(err, syscall.Pipe(way[:]))
			continue
		}
		for i := range way {
			var one error
			way[i], one = syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM, 0)
			err = errors.Join(err, one)
		}
		err = errors.Join(err, syscall.Bind(way[0], &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
		address, one := syscall.Getsockname(way[0])
		if err = errors.Join(err, one); err == nil {
			err = syscall.Connect(way[1], address)
		}
	}
	return there, back, err
}

// raw reads or writes a byte without Go's scheduler, which would wake threads of
// its own meanwhile.
func raw(call uintptr, fd int) bool {
	var one [1]byte
	n, _, _ := syscall.RawSyscall(call, uintptr(fd), uintptr(unsafe.Pointer(&one)), 1)
	return n == 1
}

// pair is a child of playPair.
type pair struct {
	*bpftest.Child
	cpu   cpuset.CPU
	trips int
}

// startPair starts a pair on one CPU.
func startPair(tb testing.TB, kind string, cpu cpuset.CPU, trips int) pair {
	tb.Helper()
	c := start(tb, kind, strconv.Itoa(trips))
	require.NotContains(tb, c.TIDs, kernel.TID(-1), "SCHED_BATCH is not refused")
	for _, task := range c.Tasks(tb) {
		require.NoError(tb, task.SetAffinity(cpuset.Of(cpu)))
	}
	return pair{c, cpu, trips}
}

// run has pairs make their trips and waits for the end.
func run(tb testing.TB, pairs ...pair) {
	tb.Helper()
	for _, p := range pairs {
		require.NoError(tb, syscall.Kill(int(p.PID), syscall.SIGUSR1))
	}
	for _, p := range pairs {
		line, err := p.Out.ReadString('\n')
		require.NoError(tb, err)
		require.Equal(tb, "done\n", line)
	}
}

// wakeups drains and returns the counts by waker and wakee; none were lost.
func wakeups(t *testing.T, w *Wakes) map[[2]kernel.TID]WakeCount {
	t.Helper()
	counts, stats, err := w.Drain(nil)
	require.NoError(t, err)
	require.Zero(t, stats.Lost)
	assert.Positive(t, stats.Window)
	all := map[[2]kernel.TID]WakeCount{}
	for _, c := range counts {
		key := [2]kernel.TID{c.Waker.TID, c.Wakee.TID}
		require.NotContains(t, all, key)
		all[key] = c
	}
	return all
}

// trips is how often pairs send: less often on the emulated CPUs of make guests.
var trips = func() int {
	if bpftest.InGuest {
		return 1000
	}
	return 10000
}()

// sleeps is how often a thread slept so far.
func sleeps(t *testing.T, pid, tid kernel.TID) uint64 {
	t.Helper()
	status, err := procfs.New("/").ThreadStatus(pid, tid)
	require.NoError(t, err)
	return status.VoluntarySwitches
}

// checkPairs has pairs make their trips and compares what is counted of those that
// are watched with the trips, and with the kernel's count of each thread's sleeps,
// each of which a wakeup ends. There are fewer sleeps than trips where other tasks
// take the CPU of a thread between its write and its read.
func checkPairs(t *testing.T, w *Wakes, watched []pair, pairs ...pair) map[[2]kernel.TID]WakeCount {
	t.Helper()
	_, _, err := w.Drain(nil) // what others did until now may have had no room
	require.NoError(t, err)
	slept := map[kernel.TID]uint64{}
	for _, p := range watched {
		for _, tid := range p.TIDs {
			slept[tid] = sleeps(t, p.PID, tid)
		}
	}
	run(t, pairs...)
	for _, p := range watched {
		for _, tid := range p.TIDs {
			slept[tid] = sleeps(t, p.PID, tid) - slept[tid]
		}
	}
	all := wakeups(t, w)
	woken := map[kernel.TID]uint64{}
	for key, one := range all {
		woken[key[1]] += one.Count
	}
	for _, p := range watched {
		for i, tid := range p.TIDs {
			other := p.TIDs[1-i]
			one := all[[2]kernel.TID{other, tid}]
			t.Logf("%d trips: %d wakes %d %d times; woken %d times, slept %d times", p.trips, other, tid, one.Count, woken[tid], slept[tid])
			assert.InDelta(t, slept[tid], woken[tid], 5+float64(p.trips)/100)
			assert.LessOrEqual(t, one.Count, uint64(p.trips)+5)
			assert.GreaterOrEqual(t, float64(one.Count), 0.95*float64(slept[tid])-5, "nearly all wakeups are by the other")
			assert.Positive(t, one.Count)
			assert.Equal(t, []kernel.TID{p.PID, p.PID}, []kernel.TID{one.Waker.TGID, one.Wakee.TGID})
			assert.Equal(t, one.Waker.Comm, one.Wakee.Comm)
			assert.NotEmpty(t, one.Waker.Comm)
			assert.Equal(t, []cpuset.CPU{p.cpu, p.cpu}, []cpuset.CPU{one.Waker.CPU, one.Wakee.CPU})
		}
	}
	return all
}

func TestWakesAreExact(t *testing.T) {
	// Without targets all of the machine is counted: room for a busy one.
	w := bpftest.Must(t, 5, 11, func() (*Wakes, error) { return OpenWakes(16 * WakesPairs) })
	defer w.Close()
	cpus := onlineCPUs(t)
	var pairs []pair
	for i := range 3 {
		pairs = append(pairs, startPair(t, "pipe", cpus[i%len(cpus)], trips))
	}
	checkPairs(t, w, pairs, pairs...)

	require.NoError(t, w.SetTargets(pairs[0].PID))
	for _, one := range checkPairs(t, w, pairs[:1], pairs...) {
		assert.True(t, one.Waker.TGID == pairs[0].PID || one.Wakee.TGID == pairs[0].PID, "%v", one)
	}
	require.NoError(t, w.SetTargets(pairs[1].PID, pairs[2].TIDs[1]))
	all := checkPairs(t, w, pairs[1:2], pairs...)
	assert.Greater(t, all[[2]kernel.TID{pairs[2].TIDs[1], pairs[2].TIDs[0]}].Count, uint64(trips/100), "a thread")
	assert.NotContains(t, all, [2]kernel.TID{pairs[0].TIDs[0], pairs[0].TIDs[1]})
}

// A timer has no waker, whichever task it interrupts; what a task sends to this
// machine itself has.
func TestWakesOfInterrupts(t *testing.T) {
	w := bpftest.Must(t, 5, 11, func() (*Wakes, error) { return OpenWakes(WakesPairs) })
	defer w.Close()
	cpus := onlineCPUs(t)
	napper, talkers := startPair(t, "nap", cpus[0], trips/10), startPair(t, "udp", cpus[0], trips)
	spinner := start(t, append([]string{"spin"}, hex("interrupted")...)...)
	require.NoError(t, spinner.Tasks(t)[0].SetAffinity(cpuset.Of(cpus[0])))
	require.NoError(t, w.SetTargets(napper.PID, talkers.PID, spinner.PID))
	_, _, err := w.Drain(nil) // what others did until now may have had no room
	require.NoError(t, err)
	run(t, napper)
	all := wakeups(t, w)
	assert.InEpsilon(t, napper.trips, all[[2]kernel.TID{0, napper.TIDs[0]}].Count, 0.02)
	for key, one := range all {
		if key[1] == napper.TIDs[0] && key[0] != 0 {
			assert.Less(t, one.Count, uint64(max(3, napper.trips/50)), "%v", one)
		}
		assert.False(t, key[0] == 0 && (one.Waker.TGID != 0 || one.Waker.Comm != ""), "%v", one)
	}
	checkPairs(t, w, []pair{talkers}, talkers)
}

func TestWakesSaysWhatHadNoRoom(t *testing.T) {
	w := bpftest.Must(t, 5, 11, func() (*Wakes, error) { return OpenWakes(1) })
	defer w.Close()
	p := startPair(t, "pipe", onlineCPUs(t)[0], trips/10)
	require.NoError(t, w.SetTargets(p.PID))
	_, _, err := w.Drain(nil)
	require.NoError(t, err)
	slept := sleeps(t, p.PID, p.TIDs[0]) + sleeps(t, p.PID, p.TIDs[1])
	run(t, p)
	slept = sleeps(t, p.PID, p.TIDs[0]) + sleeps(t, p.PID, p.TIDs[1]) - slept
	counts, stats, err := w.Drain(nil)
	require.NoError(t, err)
	require.Len(t, counts, 1)
	assert.Positive(t, stats.Lost)
	assert.GreaterOrEqual(t, counts[0].Count+stats.Lost+5, slept*99/100, "all are counted, or lost")
}

func TestWakesLeavesNothing(t *testing.T) {
	w := bpftest.Must(t, 5, 11, func() (*Wakes, error) { return OpenWakes(16) })
	info, err := w.Objects.Programs["count_wake"].Info()
	require.NoError(t, err)
	id, ok := info.ID()
	require.True(t, ok)
	loaded := func() bool {
		all, err := Loaded()
		if err != nil {
			t.Skip(err)
		}
		return slices.ContainsFunc(all, func(p Program) bool { return p.ID == uint32(id) })
	}
	require.True(t, loaded())
	w.Close()
	require.Eventually(t, func() bool { return !loaded() }, bpftest.Patience, bpftest.Tick)
	w.Close()
	_, _, err = w.Drain(nil)
	assert.ErrorIs(t, err, object.ErrClosed)
	assert.ErrorIs(t, w.SetTargets(1), object.ErrClosed)
}

// BenchmarkWake is the kernel's share of counting one wakeup, of all tasks and of
// others than the one that is asked for.
func BenchmarkWake(b *testing.B) {
	for name, ids := range map[string][]kernel.TID{"all": nil, "another": {1 << 22}, "two-others": {1<<22 - 1, 1 << 22}} {
		b.Run(name, func(b *testing.B) {
			w := bpftest.Must(b, 5, 11, func() (*Wakes, error) { return OpenWakes(WakesPairs, ids...) })
			defer w.Close()
			p := startPair(b, "pipe", 0, b.N)
			countRuns(b)
			b.ResetTimer()
			run(b, p)
			b.StopTimer()
			reportRuns(b, w.Objects, "count_wake")
			reportRuns(b, w.Objects, "wakes_timer")
		})
	}
}
