package aggregate

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

func TestMain(m *testing.M) { bpftest.Main(m, play) }

// play is a role: it has threads that spin, or puts the scheduler in force until its standard
// input ends.
func play(role []string) error {
	if role[0] == "spin" {
		return bpftest.PlayThreads(true, role[1:])
	}
	s, err := Open(DefaultBound)
	if err != nil {
		return err
	}
	fmt.Println()
	_, err = io.Copy(io.Discard, os.Stdin)
	return errors.Join(err, s.Close())
}

// open opens, or skips with the reason where there is no sched_ext.
func open(t *testing.T, bound time.Duration) *Scheduler {
	t.Helper()
	if _, err := os.Stat(schedExt); err != nil {
		_, err := Open(bound)
		t.Skip(err)
	}
	return bpftest.Must(t, 6, 12, func() (*Scheduler, error) { return Open(bound) })
}

func schedExtState(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(schedExt, "state"))
	require.NoError(t, err)
	return strings.TrimSpace(string(b))
}

func TestSaysWhyNot(t *testing.T) {
	if _, err := os.Stat(schedExt); err == nil {
		t.Skip("this kernel has sched_ext")
	}
	_, err := Open(DefaultBound)
	require.ErrorIs(t, err, feature.ErrNotSupported)
	assert.Regexp(t, `^temporal aggregation by eBPF: (this kernel \(.+\) is built without CONFIG_SCHED_CLASS_EXT|sched_ext came with Linux 6\.12, this is .+)$`, err.Error())
	assert.ErrorIs(t, Feature.Probe(), feature.ErrNotSupported)
}

func TestIsInForceWhileOpen(t *testing.T) {
	s := open(t, DefaultBound)
	assert.Equal(t, "enabled", schedExtState(t))
	all, err := os.ReadFile(filepath.Join(schedExt, "switch_all"))
	require.NoError(t, err)
	assert.Equal(t, "0", strings.TrimSpace(string(all)), "only tasks of policy EXT")
	for name, p := range s.objects.Programs {
		info, err := p.Info()
		require.NoError(t, err)
		verified, _ := info.VerifiedInstructions()
		assert.Less(t, verified, uint32(10_000), "%s: the verifier gives up at a million", name)
	}
	_, err = Open(DefaultBound)
	require.ErrorIs(t, err, feature.ErrNotSupported)
	assert.ErrorContains(t, err, `the sched_ext scheduler "piton_aggregate" is in force`)
	require.NoError(t, s.Close())
	assert.Equal(t, "disabled", schedExtState(t))
	require.NoError(t, s.Close(), "again")
	_, err = s.Read()
	assert.ErrorIs(t, err, object.ErrClosed)
	assert.NoError(t, Feature.Probe())
}

// However its process ends, the kernel takes the scheduler away.
func TestEndsWithItsProcess(t *testing.T) {
	open(t, DefaultBound).Close()
	owner := bpftest.Start(t, bpftest.Command("aggregate"))
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
	t.Helper()
	return bpftest.Start(t, bpftest.Command(append([]string{"spin"}, slices.Repeat([]string{"73"}, threads)...)...))
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
func TestIsFair(t *testing.T) {
	open(t, DefaultBound).Close() // or skip
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
			aggregatesFairly(t, tids) // when no ordinary task is left that would go first
		})
	}
}

// aggregatesFairly puts the scheduler in force for 600 turns of the threads of three processes:
// each has its turn within the bound, and a third at least of the turns that another has.
func aggregatesFairly(t *testing.T, tids []kernel.TID) {
	t.Helper()
	const bound = 600 * time.Millisecond // emulated CPUs take turns of 4 ms on the host's
	s := open(t, bound)
	defer s.Close()
	watched := standstill.Watch()
	waitTurns(t, s, 50)
	from, err := s.Read()
	require.NoError(t, err)
	began := map[kernel.TID]uint64{}
	for _, tid := range tids {
		began[tid] = schedstat(t, tid, turnsField)
	}
	waitTurns(t, s, from.Turns+600)
	to, err := s.Read()
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

func waitTurns(t *testing.T, s *Scheduler, turns uint64) {
	t.Helper()
	require.Eventually(t, func() bool {
		sums, err := s.Read()
		require.NoError(t, err)
		require.Empty(t, sums.Ended)
		return sums.Turns >= turns
	}, 3*bpftest.Patience, bpftest.Tick)
}
