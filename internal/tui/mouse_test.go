package tui

import (
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/action"
	"piton/internal/change"
	"piton/internal/change/journal"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/tui/proctable"
	"piton/internal/tuitest"
)

// clickKey clicks on a verb of the key bar.
func (r *rig) clickKey(id string) {
	r.t.Helper()
	x := 0
	for _, it := range r.m.barItems(r.m.width) {
		if it.verb.ID == id {
			r.send(tea.MouseClickMsg{X: x, Y: r.area("key").y, Button: tea.MouseLeft})
			return
		}
		x += it.width
	}
	require.Fail(r.t, id+" is not in the key bar")
}

// twoEntries is a journal of two changes.
type twoEntries struct{}

func (twoEntries) Entries() ([]change.Entry, []journal.Damage, error) {
	return []change.Entry{{ID: 1, Reason: "first"}, {ID: 2, Reason: "second"}}, nil, nil
}

func TestClickOnUndoInTheJournalTakesTheSelected(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.tuning.canUndo = true
		r.press("5", "down")
		r.run(r.m.changes.checkUndo())
		r.tuning.undone = nil
		r.clickKey("journal.undo")
		assert.Equal(t, []uint64{1}, r.tuning.undone[0].IDs)
	}, func(d *Deps) { d.Journal = twoEntries{} })
}

func TestClickOnAKeyOfTheCorePanelIsForThePanel(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.press("2", "C", "3")
		r.clickKey("panel.tick")
		assert.True(t, r.m.chooser.ticked.Equal(cpuset.Of(3)))
		r.clickKey("panel.enter")
		assert.Equal(t, action.Cores, r.m.context(), "the keys are the view's again")
	})
}

func TestClickTakesTheMessageAwayAsTheKeyDoes(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.press("z")
		assert.Contains(t, r.line(-2), "nothing to undo")
		r.clickKey("show.tree")
		assert.Equal(t, proctable.ByParent, r.m.procs.View().Tree)
		assert.NotContains(t, r.line(-2), "nothing to undo")
		assert.Equal(t, kernel.TID(3641), r.selected())
	})
}

// TestWheelTurnsPagesOfThePanel: 512 CPUs do not fit into half of 24 lines.
func TestWheelTurnsPagesOfThePanel(t *testing.T) {
	on(t, 512, 80, 24, func(r *rig) {
		wheel := func(y int, b tea.MouseButton) { r.send(tea.MouseWheelMsg{X: 3, Y: y, Button: b}) }
		assert.Contains(t, r.line(1), "nodes 0-4, page 1/2")
		wheel(r.area("list").y+1, tea.MouseWheelDown)
		assert.Contains(t, r.line(1), "page 1/2", "that is the list's")
		wheel(2, tea.MouseWheelDown)
		assert.Contains(t, r.line(1), "nodes 5-7, page 2/2")
		r.tick()
		assert.Contains(t, r.line(1), "page 2/2", "it stays")
		wheel(2, tea.MouseWheelUp)
		assert.Contains(t, r.line(1), "page 1/2")
		r.press("C", "2", "0", "0")
		assert.Contains(t, r.line(1), "page 2/2", "the page of the cursor")
	})
}

// TestClickBeforeTheViewIsDrawn is on what the view that was left has shown there.
func TestClickBeforeTheViewIsDrawn(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.press("3")
		r.tickRun()
		r.text()
		y := r.area("list").y + 2
		r.m.Update(tuitest.Key("1"))
		at := r.m.procs.At()
		r.m.Update(tea.MouseClickMsg{X: 5, Y: y, Button: tea.MouseLeft})
		assert.Equal(t, at, r.m.procs.At())
		assert.Nil(t, r.m.chooser.pressed)
	})
}
