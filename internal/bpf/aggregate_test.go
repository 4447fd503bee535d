package bpf

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/bpf/bpftest"
	"piton/internal/bpf/object"
	"piton/internal/cpuset"
	"piton/internal/feature"
	"piton/internal/kernel"
	"piton/internal/kernel/standstill"
)

// playAggregate puts the scheduler in force until its standard input ends.
func playAggregate() error {
	a, err := OpenAggregate(DefaultAggregateBound)
	if err != nil {
		return err
	}
	fmt.Println()
	_, err = io.Copy(io.Discard, os.Stdin)
	return errors.Join(err, a.Close())
}

// openAggregate opens, or skips with the reason where there is no sched_ext.
func openAggregate(t *testing.T, bound time.Duration) *Aggregate {
	t.Helper()
	if _, err := os.Stat(schedExt); err != nil {
		_, err := OpenAggregate(bound)
		t.Skip(err)
	}
	return bpftest.Must(t, 6, 12, func() (*Aggregate, error) { return OpenAggregate(bound) })
}

func schedExtState(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(schedExt, "state"))
	require.NoError(t, err)
	return strings.TrimSpace(string(b))
}

func TestAggregateSaysWhyNot(t *testing.T) {
	if _, err := os.Stat(schedExt); err == nil {
		t.Skip("this kernel has sched_ext")
	}
	_, err := OpenAggregate(DefaultAggregateBound)
	require.ErrorIs(t, err, feature.ErrNotSupported)
	assert.Regexp(t, `^temporal aggregation by eBPF: (this kernel \(.+\) is built without CONFIG_SCHED_CLASS_EXT|sched_ext came with Linux 6\.12, this is .+)$`, err.Error())
	assert.ErrorIs(t, schedExtFeature.Probe(), feature.ErrNotSupported)
}

func TestAggregateBoundIsChecked(t *testing.T) {
	for _, bound := range []time.Duration{0, -1, MinAggregateBound - 1, MaxAggregateBound + 1} {
		_, err := OpenAggregate(bound)
		assert.ErrorContains(t, err, "must be 1ms to 1s")
		assert.NotErrorIs(t, err, feature.ErrNotSupported)
	}
}

func TestAggregateIsInForceWhileOpen(t *testing.T) {
	a := openAggregate(t, DefaultAggregateBound)
	assert.Equal(t, "enabled", schedExtState(t))
	all, err := os.ReadFile(filepath.Join(schedExt, "switch_all"))
	require.NoError(t, err)
	assert.Equal(t, "0", strings.TrimSpace(string(all)), "only tasks of policy EXT")
	for name, p := range a.objects.Programs {
		info, err := p.Info()
		require.NoError(t, err)
		verified, _ := info.VerifiedInstructions()
		assert.Less(t, verified, uint32(10_000), "%s: the verifier gives up at a million", name)
	}
	_, err = OpenAggregate(DefaultAggregateBound)
	require.ErrorIs(t, err, feature.ErrNotSupported)
	assert.ErrorContains(t, err, `the sched_ext scheduler "piton_aggregate" is in force`)
	require.NoError(t, a.Close())
	assert.Equal(t, "disabled", schedExtState(t))
	require.NoError(t, a.Close(), "again")
	_, err = a.Read()
	assert.ErrorIs(t, err, object.ErrClosed)
	assert.NoError(t, schedExtFeature.Probe())
}

// However its process ends, the kernel takes the scheduler away.
func TestAggregateEndsWithItsProcess(t *testing.T) {
	openAggregate(t, DefaultAggregateBound).Close()
	owner := start(t, "aggregate")
	require.Equal(t, "enabled", schedExtState(t))
	spinner := hogs(t, 1)
	hog := spinner.TIDs[0]
	require.NoError(t, spinner.Tasks(t)[0].SetPolicy(kernel.Ext, 0, false))
	require.NoError(t, syscall.Kill(int(owner.PID), syscall.SIGKILL))
	require.Eventually(t, func() bool { return schedExtState(t) == "disabled" }, bpftest.Patience, bpftest.Tick)
	before := schedstat(t, hog, ranField)
	assert.Eventually(t, func() bool { return schedstat(t, hog, ranField) > before }, bpftest.Patience, bpftest.Tick, "its task goes on")
}

// hogs starts a process with so many threads that spin.
func hogs(t *testing.T, threads int) *bpftest.Child {
	names := make([]string, threads)
	for i := range names {
		names[i] = fmt.Sprint("hog", i)
	}
	c := start(t, append([]string{"spin"}, hex(names...)...)...)
	return c
}

// Fields of /proc/PID/schedstat: how long a thread has run, in ns, and how many turns it had.
const (
	ranField   = 0
	turnsField = 2
)

// schedstat is one of them.
func schedstat(t *testing.T, tid kernel.TID, field int) uint64 {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", tid))
	require.NoError(t, err)
	n, err := strconv.ParseUint(strings.Fields(string(b))[field], 10, 64)
	require.NoError(t, err)
	return n
}

// Three processes of three threads each spin on one CPU, pinned to it or not:
// the CPU stays with one process for a while, yet each thread has its turn
// within the bound.
func TestAggregateIsFair(t *testing.T) {
	openAggregate(t, DefaultAggregateBound).Close() // or skip
	for name, cpus := range map[string]cpuset.Set{"pinned": cpuset.Of(0), "two CPUs": cpuset.Of(0, 1)} {
		t.Run(name, func(t *testing.T) {
			var tids []kernel.TID
			for range 3 {
				spinner := hogs(t, 3)
				tids = append(tids, spinner.TIDs...)
				for _, task := range spinner.Tasks(t) {
					require.NoError(t, task.SetAffinity(cpus))
					require.NoError(t, task.SetPolicy(kernel.Ext, 0, false))
				}
			}
			aggregateFairly(t, tids) // when no ordinary task is left that would go first
		})
	}
}

// aggregateFairly puts the scheduler in force for 600 turns of the threads of three processes:
// each has its turn within the bound, and a third at least of the turns that another has.
func aggregateFairly(t *testing.T, tids []kernel.TID) {
	t.Helper()
	const bound = 600 * time.Millisecond // emulated CPUs take turns of 4 ms on the host's
	a := openAggregate(t, bound)
	defer a.Close()
	watched := standstill.Watch()
	waitTurns(t, a, 50)
	from, err := a.Read()
	require.NoError(t, err)
	began := map[kernel.TID]uint64{}
	for _, tid := range tids {
		began[tid] = schedstat(t, tid, turnsField)
	}
	waitTurns(t, a, from.Turns+600)
	to, err := a.Read()
	require.NoError(t, err)
	var had []uint64
	for _, tid := range tids {
		had = append(had, schedstat(t, tid, turnsField)-began[tid])
	}
	stood := watched()
	turns, spaces := to.Turns-from.Turns, to.Spaces-from.Spaces
	t.Logf("%d turns, %d to another address space, %d late, longest wait %v of %v (the machine stood for %v), threads had %d",
		turns, spaces, to.Late-from.Late, to.Longest, bound, stood.Sum, had)
	assert.Empty(t, to.Ended)
	assert.Less(t, spaces, turns/2, "interleaved it would be six of nine, with one queue all")
	assert.Positive(t, spaces)
	assert.Positive(t, to.Late)
	assert.Greater(t, to.Longest, bound/2, "the favoured ones went first until then")
	assert.Greater(t, slices.Min(had), slices.Max(had)/3)
	if stood.Judged(t) {
		assert.Less(t, to.Longest-stood.Sum, bound)
	}
}

func waitTurns(t *testing.T, a *Aggregate, turns uint64) {
	t.Helper()
	require.Eventually(t, func() bool {
		s, err := a.Read()
		require.NoError(t, err)
		require.Empty(t, s.Ended)
		return s.Turns >= turns
	}, 3*bpftest.Patience, bpftest.Tick)
}
