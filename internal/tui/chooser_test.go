package tui

import (
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/stretchr/testify/assert"

	"piton/internal/action"
	"piton/internal/kernel"
	"piton/internal/place"
	"piton/internal/tuitest/golden"
)

func TestGrabAndDrop(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.press("d")
		assert.Contains(t, r.line(-2), "placing nqueens (3641) → cpu 1", "it begins on the least-loaded one")
		r.press("3")
		assert.Contains(t, r.line(-2), "→ cpu 3")
		r.press("enter")
		assert.Equal(t, "3", r.tuning.wanted())
		assert.Equal(t, kernel.TID(3641), r.tuning.targets[0].TID)
		assert.Len(t, r.tuning.carried, 1)
		assert.Equal(t, action.Processes, r.m.context(), "the keys are the list's again")
	})
}

func TestGrabbedStaysWhatItWasWhenTheListMoves(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.press("space", "space", "d")
		assert.Contains(t, r.line(-2), "placing 2 tagged rows")
		before := r.tuning.plans
		r.machine.Proc(3641).Busy = 0
		r.tick()
		r.press("+")
		assert.Contains(t, r.line(-2), "core 1,5 ")
		r.press("+", "+", "enter")
		assert.Equal(t, before+1, r.tuning.plans)
		assert.Len(t, r.tuning.targets, 2)
		assert.Equal(t, "0-7", r.tuning.wanted())
	})
}

func TestDropOnSeveral(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.press("d", "1", "space", "6", "space", "7", "enter")
		assert.Equal(t, "1,6", r.tuning.wanted(), "what is ticked, not what is under the cursor")
		assert.Nil(t, r.m.procs.View().Filter, "ticks for a drop are no filter")
	})
}

func TestTagAllThatMatchAFilter(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.press("\\", "c", "o", "m", "m", "~", "^", "[", "n", "m", "]", "enter", "A")
		assert.Equal(t, 2, r.m.procs.Tags(), "nqueens and matrix")
		r.press("d", "enter")
		assert.Len(t, r.tuning.targets, 2)
	})
}

func TestSpreadOverARegion(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.press("C", "s")
		assert.Contains(t, r.line(-2), "nothing is grabbed")
		r.press("esc", "space", "space", "d", "1", "+", "s")
		assert.Equal(t, place.Spread, r.tuning.want.Strategy)
		assert.Equal(t, "1,5", r.tuning.want.Within.String())
		assert.Len(t, r.tuning.carried, 1)
		r.press("esc", "3")
		r.tickRun()
		r.press("A", "d", "1", "+", "s")
		assert.Equal(t, "1", r.tuning.requests[0].Files[0].Value.String(), "one CPU of the two")
	})
}

func TestLetGo(t *testing.T) {
	for _, keys := range [][]string{{"esc"}, {"C"}, {"tab"}} {
		onSmall(t, func(r *rig) {
			r.press("d", "down")
			r.press(keys...)
			assert.Zero(t, r.tuning.plans, keys)
			assert.Nil(t, r.m.chooser.grabbed)
			assert.Contains(t, r.text(), "nothing was changed")
			assert.NotEqual(t, action.Panel, r.m.context())
		})
	}
}

func TestTicksFilterTheList(t *testing.T) {
	onSmall(t, func(r *rig) {
		all := r.m.procs.Len()
		r.press("\\", "a", "enter", "C", "7", "space")
		assert.Contains(t, r.text(), "filter a on=7", "beside the filter that there was")
		some := r.m.procs.Len()
		assert.Less(t, some, all)
		r.press("f")
		assert.Contains(t, r.text(), "filter a allowed~7")
		assert.Greater(t, r.m.procs.Len(), some)
		assert.True(t, r.sampler.needs.All && r.sampler.needs.Affinity, "every task is judged by its mask")
		r.press("6", "space", "f")
		assert.Contains(t, r.text(), "filter a on=6-7")
		r.press("esc")
		assert.Contains(t, r.text(), "filter a on=6-7", "leaving keeps it")
		assert.Contains(t, r.text(), "7●", "and the ticks")
		r.press("esc")
		assert.NotContains(t, r.text(), "on=6-7", "Esc on the list takes it back as any filter")
		assert.NotContains(t, r.text(), "7●")
		assert.Equal(t, all, r.m.procs.Len())
	})
}

func TestTicksGoWithTheirWords(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.press("C", "7", "space", "esc", "\\", "backspace", "3", "enter")
		assert.Contains(t, r.text(), "filter on=3")
		assert.True(t, r.m.chooser.ticked.Empty())
		r.press("C", "5", "space")
		assert.Contains(t, r.text(), "filter on=3 on=5", "what was typed by hand is not the panel's")
		r.press("U")
		assert.Contains(t, r.text(), "filter on=3 ")
	})
}

func TestPanelIsShownWhileCPUsAreChosen(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.press("#", "#")
		assert.NotContains(t, r.text(), "L3 0")
		r.press("C")
		assert.Contains(t, r.text(), "L3 0")
		r.press("esc")
		assert.NotContains(t, r.text(), "L3 0")
	})
}

func TestChoosingOnATinyScreen(t *testing.T) {
	on(t, 8, 20, 5, func(r *rig) {
		r.press("d", "right")
		assert.Contains(t, r.line(-1), "cpu 2 for nq")
		golden.Check(t, "grab-20x5", r.text(), 20, 5)
		r.press("enter")
		assert.Equal(t, "2", r.tuning.wanted(), "by number where there is no picture")
		everySize(t, r)
	})
}

func TestGoldenChoosing(t *testing.T) {
	for _, size := range []struct {
		name string
		w, h int
		cpus int
	}{{"80x24", 80, 24, 8}, {"120x40", 120, 40, 8}, {"200x50", 200, 50, 64}} {
		for name, keys := range map[string][]string{
			"grab":   {"space", "space", "d", "right", "+"},
			"panel":  {"C", "right", "space", "down"},
			"place":  {"o"},
			"plan":   {"3", "s"},
			"region": {"o", "end", "up", "enter"},
		} {
			t.Run(name+"-"+size.name, func(t *testing.T) {
				on(t, size.cpus, size.w, size.h, func(r *rig) {
					r.press(keys...)
					r.wait(time.Second)
					golden.Check(t, name+"-"+size.name, r.text(), size.w, size.h)
				})
			})
		}
	}
}

// rowAt is the line of the screen on which a task's row is.
func (r *rig) rowAt(text string) int {
	for y := r.area("list").y + 1; y < r.area("detail").y-1; y++ {
		if l := r.line(y); len(l) > 0 && strings.Contains(l, text) {
			return y
		}
	}
	r.t.Fatalf("no row says %q", text)
	return 0
}

func TestDragARowToACPU(t *testing.T) {
	onSmall(t, func(r *rig) {
		y := r.rowAt("matrix")
		r.send(tea.MouseClickMsg{X: 20, Y: y, Button: tea.MouseLeft})
		assert.Equal(t, kernel.TID(3642), r.selected())
		r.send(tea.MouseMotionMsg{X: 20, Y: y, Button: tea.MouseLeft})
		assert.NotContains(t, r.line(-2), "placing", "a click that shakes is no drag")
		r.send(tea.MouseMotionMsg{X: 64, Y: r.area("panel").y + 3, Button: tea.MouseLeft})
		assert.Contains(t, r.line(-2), "placing matrix (3642) → cpu 3")
		r.send(tea.MouseReleaseMsg{X: 64, Y: r.area("panel").y + 3, Button: tea.MouseLeft})
		assert.Len(t, r.tuning.carried, 1)
		assert.Equal(t, "3", r.tuning.wanted())
		assert.Equal(t, kernel.TID(3642), r.tuning.targets[0].TID)
	})
}

func TestDragTaggedRowsToACache(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.press("space", "space")
		y := r.rowAt("matrix")
		r.send(tea.MouseClickMsg{X: 20, Y: y, Button: tea.MouseLeft})
		r.send(tea.MouseMotionMsg{X: 5, Y: r.area("panel").y, Button: tea.MouseLeft})
		r.send(tea.MouseReleaseMsg{X: 5, Y: r.area("panel").y, Button: tea.MouseLeft})
		assert.Len(t, r.tuning.targets, 2, "a tagged row stands for all of them")
		assert.Equal(t, "0-7", r.tuning.wanted(), "the heading is the group")
	})
}

func TestDragElsewhereChangesNothing(t *testing.T) {
	onSmall(t, func(r *rig) {
		y := r.rowAt("matrix")
		r.send(tea.MouseClickMsg{X: 20, Y: y, Button: tea.MouseLeft})
		r.send(tea.MouseMotionMsg{X: 5, Y: r.area("panel").y + 1, Button: tea.MouseLeft})
		r.send(tea.MouseMotionMsg{X: 5, Y: y + 3, Button: tea.MouseLeft})
		assert.Contains(t, r.line(-2), "placing matrix (3642): over no CPU")
		r.send(tea.MouseReleaseMsg{X: 5, Y: y + 3, Button: tea.MouseLeft})
		assert.Zero(t, r.tuning.plans)
		assert.NotContains(t, r.line(-2), "placing")
	})
}

func TestClickInThePanelPointsAtACPU(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.send(tea.MouseClickMsg{X: 64, Y: r.area("panel").y + 3, Button: tea.MouseLeft})
		assert.Equal(t, action.Panel, r.m.context())
		assert.Contains(t, r.line(-2), "cpu 3")
		r.send(tea.MouseClickMsg{X: 5, Y: r.area("panel").y, Button: tea.MouseLeft})
		assert.Contains(t, r.line(-2), "(0-7)")
		r.press("esc", "d")
		r.send(tea.MouseClickMsg{X: 64, Y: r.area("panel").y + 3, Button: tea.MouseLeft})
		assert.Equal(t, "3", r.tuning.wanted(), "when something is grabbed a click drops it")
	})
}
