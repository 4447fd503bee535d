package change_test

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/change/changetest"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/procfs"
)

func moveIRQ(line int, cpus cpuset.Set) []change.Request {
	return []change.Request{{Files: []attr.FileSetting{attr.SetIRQ(line, fmt.Sprintf("irq %d (eth0)", line), cpus)}}}
}

// The flags of handlers' threads (include/linux/sched.h).
const (
	kernelThread  = procfs.FlagKernelThread
	noSetAffinity = procfs.FlagNoSetAffinity
)

// threaded makes line 24, which thread 77 handles, and what moves both.
func threaded(m *changetest.Machine, flags uint32, cpus cpuset.Set) (file string, move []change.Request) {
	file = m.Line("24", "eth0", "0-3")
	m.Spawn(77, 77)
	m.Tasks[77].Comm, m.Tasks[77].Flags = []byte("irq/24-eth0"), kernelThread|flags
	move = pin(change.ScopeThread, cpus, 77)
	move[0].Files = moveIRQ(24, cpus)[0].Files
	return file, move
}

func TestThreadMovesWithItsLine(t *testing.T) {
	m, _, tuner := journalled(t)
	_, move := threaded(m, 0, cpuset.Of(2))
	outcome := apply(t, tuner, move)
	assert.Equal(t, []string{"irq-affinity 0-3 to 2: done", "affinity 0-3 to 2: done"}, brief(outcome.Changes))
	outcome = undo(t, tuner, change.UndoRequest{All: true})
	assert.Equal(t, []string{"affinity 2 to 0-3: done", "irq-affinity 2 to 0-3: done"}, brief(outcome.Changes))
}

// Since Linux 7 nobody but the kernel moves a handler's thread.
func TestThreadThatTheKernelMoves(t *testing.T) {
	m := changetest.New(t)
	_, move := threaded(m, noSetAffinity, cpuset.Of(2))
	outcome := apply(t, m.Tuner(bare), move)
	assert.Equal(t, []string{"irq-affinity 0-3 to 2: done", "affinity 0-3 to 0-3: unchanged"}, brief(outcome.Changes))
	assert.Equal(t, "the kernel moves it with its interrupt", outcome.Changes[1].Reason)

	outcome = apply(t, m.Tuner(bare), pin(change.ScopeThread, cpuset.Of(1), 77))
	assert.Equal(t, "irq/24-eth0 handles interrupt 24 and goes where that goes: piton irq move 24", outcome.Changes[0].Reason)
}

func TestThreadStaysWithALineThatStays(t *testing.T) {
	m := changetest.New(t)
	file, move := threaded(m, 0, cpuset.Of(2))
	m.Settings.Fail("WriteSetting", file, syscall.ENOSPC)
	outcome := apply(t, m.Tuner(bare), move)
	assert.Equal(t, []string{"irq-affinity 0-3 to 2: failed", "affinity 0-3 to 2: refused"}, brief(outcome.Changes))
	assert.Equal(t, "its interrupt 24 could not be moved", outcome.Changes[1].Reason)
	assert.Empty(t, m.Calls())

	m.Settings.Fail("WriteSetting", file, 0)
	require.NoError(t, os.Chmod(filepath.Join(m.Dir, file), 0o444)) // nobody can move it
	outcome = apply(t, m.Tuner(bare), move)
	assert.Equal(t, []string{"irq-affinity 0-3 to 2: refused", "affinity 0-3 to 2: refused"}, brief(outcome.Changes))
	assert.Contains(t, outcome.Changes[1].Reason, "its interrupt stays where it is: ")
	assert.Empty(t, m.Calls())
}

// The kernel puts a handler's thread on the one CPU where its line really goes.
func TestThreadThatFollowedItsLineIsNoDrift(t *testing.T) {
	m, _, tuner := journalled(t)
	_, move := threaded(m, 0, cpuset.Of(1, 2))
	apply(t, tuner, move)
	m.Tasks[77].Affinity = cpuset.Of(1)
	outcome := undo(t, tuner, change.UndoRequest{All: true})
	assert.Equal(t, []string{"affinity 1 to 0-3: done", "irq-affinity 1-2 to 0-3: done"}, brief(outcome.Changes))

	apply(t, tuner, move)
	m.Tasks[77].Affinity = cpuset.Of(3) // but this is
	outcome = undo(t, tuner, change.UndoRequest{All: true})
	assert.Equal(t, []string{"affinity 3 to 0-3: refused", "irq-affinity 1-2 to 0-3: done"}, brief(outcome.Changes))
}

// A thread follows its line with the next interrupt, which may come between the plan
// and its turn; what a user sets then is left alone.
func TestThreadFollowsItsLineBeforeItsTurn(t *testing.T) {
	for comm, want := range map[string]attr.Status{"irq/24-eth0": attr.Done, "eth0": attr.Refused} {
		m, _, tuner := journalled(t)
		m.Spawn(77, 77)
		m.Tasks[77].Comm = []byte(comm)
		apply(t, tuner, pin(change.ScopeThread, cpuset.Of(1, 2), 77))
		p, err := tuner.PlanUndo(t.Context(), change.UndoRequest{All: true})
		require.NoError(t, err)
		p.Undo.IDs = nil // it is no later than its start
		require.NoError(t, m.SetAffinity(77, cpuset.Of(2)))
		c := applyPlan(t, tuner, p).Changes[0]
		assert.Equal(t, want, c.Status, c.Reason)
		if want == attr.Refused {
			assert.Equal(t, "changed by someone else from 1-2 to 2 meanwhile; left alone", c.Reason)
		}
	}
}

func TestUndoOfAFileLeavesOthersChangesAlone(t *testing.T) {
	m, j, tuner := journalled(t)
	file := m.Line("24", "eth0", "0-3")
	apply(t, tuner, moveIRQ(24, cpuset.Of(1)))
	m.Settings.Put(file, "3\n") // irqbalance was here
	outcome := undo(t, tuner, change.UndoRequest{All: true})
	assert.Equal(t, "changed by someone else since: piton left 1, it is 3 now; left alone without --force", outcome.Changes[0].Reason)
	assert.False(t, changetest.Entries(t, j)[0].Undone)
	outcome = undo(t, tuner, change.UndoRequest{All: true, Force: true})
	assert.Equal(t, []string{"irq-affinity 3 to 0-3: done"}, brief(outcome.Changes))
	assert.True(t, changetest.Entries(t, j)[0].Undone)
}

// A number may come to mean another device's line: that one is nobody's to undo.
func TestUndoKnowsAnotherLineWithTheNumber(t *testing.T) {
	for name, become := range map[string]func(m *changetest.Machine, file string){
		"another device": func(m *changetest.Machine, _ string) { m.Line("24", "nvme0q1", "1") },
		"gone":           func(m *changetest.Machine, file string) { m.Settings.Remove(file) },
	} {
		m, j, tuner := journalled(t)
		file := m.Line("24", "eth0", "0-3")
		apply(t, tuner, moveIRQ(24, cpuset.Of(1)))
		early, err := tuner.PlanUndo(t.Context(), change.UndoRequest{All: true})
		require.NoError(t, err)
		early.Undo.IDs = nil // it is no later than its start
		become(m, file)
		p, err := tuner.PlanUndo(t.Context(), change.UndoRequest{All: true, Force: true})
		require.NoError(t, err)
		assert.Equal(t, attr.Unchanged, p.Changes[0].Status, name)
		assert.Equal(t, "irq 24 (eth0) is gone, so there is nothing to undo", p.Changes[0].Reason, name)
		c := applyPlan(t, tuner, early).Changes[0]
		assert.Equal(t, attr.Failed, c.Status, name)
		assert.ErrorIs(t, c.Err, attr.ErrGone, name)
		assert.Len(t, m.Settings.Calls(), 1, name)
		assert.True(t, changetest.Entries(t, j)[0].Undone, name)
	}
}

// Plans say how much they touch.
func TestPlanCounts(t *testing.T) {
	m := changetest.New(t)
	for _, tid := range []kernel.TID{10, 11, 20} {
		m.Spawn(tid/10*10, tid)
	}
	m.Line("24", "eth0", "0-3")
	m.Line("25", "eth0", "0-3")
	requests := changetest.Set([]attr.Setting{attr.SetAffinity(cpuset.Of(1)), attr.SetNice(5)}, 10, 20)
	requests = append(append(requests, moveIRQ(24, cpuset.Of(1))...), moveIRQ(25, cpuset.Of(1))...)
	p := plan(t, m.Tuner(bare), requests)
	assert.Equal(t, []int{2, 3, 2}, []int{p.Processes(), p.Threads(), p.Files()})
	assert.True(t, p.WillChange())
	cpus, ok := p.Requests[0].Affinity()
	assert.True(t, ok)
	assert.Equal(t, cpuset.Of(1), cpus)
	_, ok = moveIRQ(24, cpuset.Of(1))[0].Affinity()
	assert.False(t, ok)
}
