package tui

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/action"
	"piton/internal/change"
	"piton/internal/kernel"
	"piton/internal/sample"
	"piton/internal/tuitest/golden"
)

// onMoves is onSmall on a machine whose kernel counts every move.
func onMoves(t *testing.T, f func(r *rig), options ...rigOption) {
	onSmall(t, func(r *rig) {
		r.machine.Source = sample.SourceBPF
		r.tick()
		r.tick()
		f(r)
	}, options...)
}

func TestCoresShowsWhoMovesFromWhereToWhere(t *testing.T) {
	onMoves(t, func(r *rig) {
		assert.Contains(t, r.line(0), "exact (eBPF)")
		r.press("2")
		assert.Contains(t, r.text(), "[2 Cores]")
		assert.Contains(t, r.text(), "Migrations between CPUs")
		golden.Check(t, "cores-120x40-8cpus", r.text(), 120, 40)
		r.press("enter")
		assert.Contains(t, r.text(), "nqueens", "the tasks behind the busiest cell")
		assert.True(t, r.sampler.needs.Threads, "their names")
		r.press("enter")
		assert.Equal(t, action.Processes, r.m.view)
		assert.Contains(t, []kernel.TID{3641, 3642}, r.selected())
	})
}

func TestCoresCountsFromTheStart(t *testing.T) {
	onMoves(t, func(r *rig) {
		r.press("Z")
		r.tick()
		r.press("2", "w")
		assert.Contains(t, r.text(), "last 3 s", "also what came before the view was opened, and while the list is paused")
	})
}

func TestLedgerIsReadOnlyWhileItIsShown(t *testing.T) {
	onMoves(t, func(r *rig) {
		r.send(tea.WindowSizeMsg{Width: 80, Height: 24})
		r.press("2")
		assert.False(t, r.sampler.needs.Ledger, "no room for it")
		r.press("l")
		assert.True(t, r.sampler.needs.Ledger)
		r.press("1")
		assert.False(t, r.sampler.needs.Ledger, "another view")
		r.press("2")
		assert.True(t, r.sampler.needs.Ledger)
		r.press("esc")
		assert.False(t, r.sampler.needs.Ledger)
		assert.Equal(t, action.Cores, r.m.view, "Esc closes the ledger only")
		r.send(tea.WindowSizeMsg{Width: 120, Height: 40})
		r.tick()
		assert.True(t, r.sampler.needs.Ledger, "below the map")
		r.press("esc")
		assert.Equal(t, action.Processes, r.m.view)
	})
}

// stays opens the ledger of the first CPU with one task in it.
func (r *rig) stays(tid kernel.TID) {
	r.press("2")
	if strings.Contains(r.text(), "Esc close") { // from the last time; back to the list
		r.press("esc")
	} else {
		r.press("c")
	}
	r.press("home", "l")
	s := r.machine.Tick()
	s.RunIntervals = []sample.RunInterval{{CPU: 0, TID: tid, RunNs: 5e8, LongestNs: 1e6, Times: 500}}
	r.deliver(s)
}

func TestPinFromTheLedger(t *testing.T) {
	onMoves(t, func(r *rig) {
		r.machine.Thread(3650, 3642, "matrix-3")
		r.tick()
		r.press("2", "p")
		assert.Contains(t, r.text(), "l opens one", "nothing to pin on the map")
		r.stays(3650)
		assert.Contains(t, r.text(), "3650 matrix-3")
		r.press("p")
		require.Len(t, r.tuning.targets, 1)
		assert.Equal(t, change.Target{TID: 3650, StartTicks: 36500, Scope: change.ScopeThread}, r.tuning.targets[0])
		assert.Len(t, r.tuning.carried, 1)
		assert.Equal(t, "1-7", r.tuning.want.Within.String(), "away from the CPU that it disturbs")
		assert.Equal(t, action.Cores, r.m.view)
	})
}

func TestWheelMovesTheCursorOfAView(t *testing.T) {
	onMoves(t, func(r *rig) {
		r.press("2", "c", "home")
		assert.Contains(t, r.line(9), "▌   0")
		r.send(tea.MouseWheelMsg{X: 3, Y: 12, Button: tea.MouseWheelDown})
		assert.Contains(t, r.line(10), "▌   4")
	})
}

func TestReadOnlyPinsNothing(t *testing.T) {
	onMoves(t, func(r *rig) {
		r.stays(3641)
		r.press("p")
		assert.Empty(t, r.tuning.targets)
		assert.Contains(t, r.text(), "read-only")
	}, func(d *Deps) { d.ReadOnly = true })
}

func TestJumpTakesBackWhatHidesTheTask(t *testing.T) {
	onMoves(t, func(r *rig) {
		r.press("f4", "s", "s", "h", "d", "enter", "Z")
		r.machine.Thread(3650, 3642, "matrix-3")
		r.tick()
		r.stays(3650)
		r.press("enter")
		assert.Equal(t, kernel.TID(3642), r.selected(), "its process: threads have no rows")
		assert.Nil(t, r.m.procs.View().Filter)
		assert.False(t, r.m.paused)
		r.press("H")
		r.stays(3650)
		r.press("enter")
		assert.Equal(t, kernel.TID(3650), r.selected())
		r.stays(2)
		r.press("enter")
		assert.Equal(t, kernel.TID(2), r.selected())
		assert.True(t, r.m.procs.View().Kernel)
		r.stays(99999)
		r.press("enter")
		assert.Contains(t, r.text(), "99999 has ended")
	})
}

func TestJumpUnfoldsTheTree(t *testing.T) {
	onMoves(t, func(r *rig) {
		r.press("f5", "1", "-")
		r.stays(3641)
		r.press("enter")
		assert.Equal(t, kernel.TID(3641), r.selected())
	})
}

func TestHelpSaysWhatABetterSourceNeeds(t *testing.T) {
	onSmall(t, func(r *rig) {
		s := r.machine.Tick()
		s.Collectors = []sample.Collector{{Name: "tasks", Rung: "procfs", Better: "eBPF: CAP_BPF"},
			{Name: "migrations", Rung: "perf", Better: "eBPF: CAP_BPF"}}
		r.deliver(s)
		r.press("?")
		assert.Contains(t, r.text(), "Tasks, migrations: now by procfs, perf; better: eBPF: CAP_BPF")
	})
}
