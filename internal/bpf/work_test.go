package bpf

import (
	"fmt"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/bpf/bpftest"
	"piton/internal/kernel"
	"piton/internal/procfs"
)

func openTestWork(t *testing.T, kinds WorkKinds, pids ...kernel.TID) *Work {
	t.Helper()
	w := bpftest.Must(t, 5, 11, func() (*Work, error) { return OpenWork(kinds, pids...) })
	t.Cleanup(w.Close)
	return w
}

// copying is a program that copies blocks once it is told to, and its process.
func copying(t *testing.T, blocks int) (tell func(), pid kernel.TID, ended func()) {
	t.Helper()
	cmd := exec.Command("sh", "-c", fmt.Sprintf("read go; exec dd if=/dev/zero of=/dev/null bs=1000 count=%d", blocks))
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	tell = func() {
		_, err := in.Write([]byte("go\n"))
		require.NoError(t, err)
	}
	return tell, kernel.TID(cmd.Process.Pid), func() { require.NoError(t, cmd.Wait()) }
}

func TestWorkCountsCallsAndBytes(t *testing.T) {
	const blocks = 5000
	tell, pid, ended := copying(t, blocks)
	w := openTestWork(t, WorkCalls|WorkBytes|WorkWaits, pid)
	tell()
	ended()
	sums, err := w.Read()
	require.NoError(t, err)
	// Beside the copying the shell, the loader and dd's last words.
	assert.GreaterOrEqual(t, sums.Calls, uint64(2*blocks))
	assert.LessOrEqual(t, sums.Calls, uint64(2*blocks+1000))
	assert.GreaterOrEqual(t, sums.Bytes, uint64(2*blocks*1000))
	assert.LessOrEqual(t, sums.Bytes, uint64(2*blocks*1000+20000))
}

func TestWorkLeavesOthersOut(t *testing.T) {
	w := openTestWork(t, WorkCalls|WorkBytes|WorkWaits, 1<<30)
	_, _ = procfs.New("/").Processes()
	sums, err := w.Read()
	require.NoError(t, err)
	assert.Equal(t, WorkSums{}, sums)
}

// TestWorkCountsEachWait compares with the kernel's own account of each thread.
func TestWorkCountsEachWait(t *testing.T) {
	p := startPair(t, "pipe", onlineCPUs(t)[0], trips)
	w := openTestWork(t, WorkWaits, p.PID)
	waitsOf := func(tid kernel.TID) (uint64, time.Duration) {
		s, err := procfs.New("/").Schedstat(p.PID, tid)
		require.NoError(t, err)
		return s.Slices, time.Duration(s.RunDelayNs)
	}
	threads, err := procfs.New("/").Threads(p.PID)
	require.NoError(t, err)
	opened := map[kernel.TID]uint64{}
	for _, tid := range threads {
		opened[tid], _ = waitsOf(tid)
	}
	run(t, p)
	// The first wait of a thread that has not run since is not counted.
	seen := slices.DeleteFunc(slices.Clone(threads), func(tid kernel.TID) bool { n, _ := waitsOf(tid); return n == opened[tid] })
	account := func(tids []kernel.TID) (waits uint64, total time.Duration) {
		for _, tid := range tids {
			n, delay := waitsOf(tid)
			waits, total = waits+n, total+delay
		}
		return waits, total
	}
	// What waits between two readings is in one of them only: one pair of accounts begins
	// before and ends after the counter's, the other the other way round.
	outerWaits, outerTotal := account(threads)
	first, err := w.Read()
	require.NoError(t, err)
	innerWaits, innerTotal := account(seen)
	run(t, p)
	waits, total := account(seen)
	innerWaits, innerTotal = waits-innerWaits, total-innerTotal
	last, err := w.Read()
	require.NoError(t, err)
	threads, err = procfs.New("/").Threads(p.PID)
	require.NoError(t, err)
	waits, total = account(threads)
	outerWaits, outerTotal = waits-outerWaits, total-outerTotal
	var counted, shortest, longest float64
	for i := range last.Waits {
		n := float64(last.Waits[i] - first.Waits[i])
		counted += n
		longest += n * float64(bucketEnd(i))
		if i > 0 {
			shortest += n * float64(bucketEnd(i-1))
		}
	}
	slack := 0.01*counted + 8
	assert.GreaterOrEqual(t, counted, float64(innerWaits)-slack, "each arrival on a CPU is a wait")
	assert.LessOrEqual(t, counted, float64(outerWaits)+slack, "and nothing else")
	assert.GreaterOrEqual(t, float64(outerTotal), 0.95*shortest)
	assert.LessOrEqual(t, float64(innerTotal), 1.05*longest)
}

func TestWaitIsThatOfAShare(t *testing.T) {
	var before, now WorkSums
	before.Waits[3], now.Waits[3] = 10, 10
	assert.Zero(t, now.Wait(&before, 0.99), "nothing has waited")
	now.Waits[3] += 98 // to 512 ns
	now.Waits[41] += 2 // from 2^18 ns
	assert.Equal(t, 448*time.Nanosecond, now.Wait(&before, 0.5))
	assert.Equal(t, 448*time.Nanosecond, now.Wait(&before, 0.98))
	assert.Equal(t, time.Duration(1<<18+1<<16), now.Wait(&before, 0.99))
}
