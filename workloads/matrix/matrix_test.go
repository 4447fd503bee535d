package matrix

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// affinities is a Scheduler that hands out CPUs 0-2 and records what is set;
// any other call panics on the nil interface inside.
type affinities struct {
	kernel.Own
	mu   sync.Mutex
	sets map[string]int
	err  error
}

func (s *affinities) Affinity(kernel.TID) (cpuset.Set, error) { return cpuset.Of(0, 2, 5), nil }

func (s *affinities) SetAffinity(tid kernel.TID, cpus cpuset.Set) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if tid != 0 {
		return fmt.Errorf("set affinity of tid %d, which is not the calling thread", tid)
	}
	if s.sets == nil {
		s.sets = map[string]int{}
	}
	s.sets[cpus.String()]++
	return s.err
}

func TestProducts(t *testing.T) {
	for _, k := range Kernels {
		for _, o := range []Options{{N: 1, Threads: 1}, {N: 2, Threads: 2}, {N: 37, Threads: 5}, {N: 300, Threads: 3}, {N: 65, Threads: 65}} {
			o.Kernel, o.Mapping = k, ByKernel
			r, err := Run(t.Context(), o)
			require.NoError(t, err, "%+v", o)
			assert.Equal(t, expected(o.N), r.Checksum)
			rows := 0
			for _, th := range r.PerThread {
				rows += th.Rows
				assert.InDelta(t, float64(o.N)/float64(o.Threads), th.Rows, 1, "rows are split evenly")
			}
			assert.Equal(t, o.N, rows)
			assert.Positive(t, r.MFLOPS)
		}
	}
}

// The checksum by formula is checked against a product computed with integers.
func TestExpectedChecksum(t *testing.T) {
	for _, n := range []int{1, 2, 3, 10, 41} {
		var sum int64
		for i := range n {
			for j := range n {
				var c int64
				for k := range n {
					c += int64(leftAt(i, k)) * int64(rightAt(k, j))
				}
				sum += rowWeight(i) * colWeight(j) * c
			}
		}
		assert.Equal(t, sum, expected(n), "n=%d", n)
	}
}

func TestChecksumSeesSwappedRowsAndOneWrongElement(t *testing.T) {
	const n = 12
	c := make([]float64, n*n)
	rowsNaive(left(n), right(n), c, n, 0, n)
	require.Equal(t, expected(n), checksum(c, n))
	c[5*n+7]++
	assert.NotEqual(t, expected(n), checksum(c, n))
	c[5*n+7]--
	for j := range n {
		c[j], c[n+j] = c[n+j], c[j]
	}
	assert.NotEqual(t, expected(n), checksum(c, n))
	r := Result{Options: Options{N: n}, Checksum: checksum(c, n)}
	assert.ErrorContains(t, r.Check(), "checksum")
}

func TestManualDealsCPUsRoundRobin(t *testing.T) {
	s := &affinities{}
	r, err := Run(t.Context(), Options{N: 20, Threads: 7, Mapping: Manual, Kernel: Naive, Scheduler: s})
	require.NoError(t, err)
	assert.Equal(t, map[string]int{"0": 3, "2": 2, "5": 2, "0,2,5": 7}, s.sets, "and each thread gets them all back")
	assert.Equal(t, "0,2,5", r.CPUs)
}

func TestRefusedMappingIsAnError(t *testing.T) {
	s := &affinities{err: syscall.EPERM}
	_, err := Run(t.Context(), Options{N: 20, Threads: 2, Mapping: Manual, Kernel: Naive, Scheduler: s})
	require.ErrorIs(t, err, syscall.EPERM)
	assert.ErrorContains(t, err, "map thread")
}

func TestAThousandThreads(t *testing.T) {
	r, err := Run(t.Context(), Options{N: 128, Threads: 128, Mapping: ByKernel, Kernel: Naive})
	require.NoError(t, err)
	assert.Len(t, r.PerThread, 128)
	if testing.Short() {
		t.Skip("1024 threads")
	}
	_, err = Run(t.Context(), Options{N: 1024, Threads: 1024, Mapping: ByKernel, Kernel: Blocked})
	require.NoError(t, err)
}

func TestOptionsAreChecked(t *testing.T) {
	good := Options{N: 8, Threads: 2, Mapping: ByKernel, Kernel: Naive}
	require.NoError(t, good.Validate())
	for name, change := range map[string]func(*Options){
		"more threads than rows": func(o *Options) { o.Threads = 9 },
	} {
		o := good
		change(&o)
		_, err := Run(t.Context(), o)
		assert.Error(t, err, name)
	}
}

func TestEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Run(ctx, Options{N: 500, Threads: 2, Mapping: ByKernel, Kernel: Naive})
	assert.ErrorIs(t, err, context.Canceled)
}

// The real calls: threads are put on the CPUs in turn and none stays there, so
// that the Go runtime's threads are as free afterwards as before.
func TestManualLeavesNoThreadPinned(t *testing.T) {
	before, err := kernel.System().Affinity(0)
	require.NoError(t, err)
	r, err := Run(t.Context(), Options{N: 64, Threads: 9, Mapping: Manual, Kernel: Blocked, Scheduler: kernel.System()})
	require.NoError(t, err)
	assert.Equal(t, before.String(), r.CPUs)
	entries, err := os.ReadDir("/proc/self/task")
	require.NoError(t, err)
	for _, e := range entries {
		tid, err := strconv.Atoi(e.Name())
		require.NoError(t, err)
		now, err := kernel.System().Affinity(kernel.TID(tid))
		if errors.Is(err, syscall.ESRCH) {
			continue // the thread has ended
		}
		require.NoError(t, err)
		assert.Equal(t, before, now, "thread %d", tid)
	}
}
