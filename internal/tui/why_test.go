package tui

import (
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/stretchr/testify/assert"

	"piton/internal/action"
	"piton/internal/change"
	"piton/internal/kernel"
	"piton/internal/tui/whyview"
	"piton/internal/tuitest/golden"
	"piton/internal/watch"
	"piton/internal/why"
	"piton/internal/why/whytest"
)

// fakeWaits are sessions of a made-up target.
type fakeWaits struct {
	opened []watch.Targets
	closed int
}

func (f *fakeWaits) Look() (bool, error) { return true, nil }
func (f *fakeWaits) Close()              { f.closed++ }

func (f *fakeWaits) Take() (why.Observation, *why.Target, error) {
	o, t := whytest.Observation(), whytest.Target()
	t.Groups = nil // no limit, so that more CPUs help
	return o, t, nil
}

// onWhy runs a test on a screen that shows the Why pane.
func onWhy(t *testing.T, w, h int, f func(r *rig, waits *fakeWaits)) {
	waits := &fakeWaits{}
	on(t, 8, w, h, func(r *rig) {
		r.tuning.canUndo = true
		r.run(r.m.changes.checkUndo())
		r.press("w")
		r.wait(1200 * time.Millisecond)
		f(r, waits)
		r.m.why.Stop()
	}, func(d *Deps) {
		d.Waits = func(t watch.Targets) (whyview.Session, error) {
			waits.opened = append(waits.opened, t)
			return waits, nil
		}
	})
}

func TestWhyLooks(t *testing.T) {
	for name, s := range map[string][2]int{"80x24": {80, 24}, "120x40": {120, 40}, "200x50": {200, 50}} {
		onWhy(t, s[0], s[1], func(r *rig, _ *fakeWaits) { golden.Check(t, "why-"+name, r.text(), s[0], s[1]) })
	}
}

func TestWhyObservesWhileShown(t *testing.T) {
	onWhy(t, 120, 40, func(r *rig, waits *fakeWaits) {
		assert.Equal(t, []watch.Targets{{IDs: []kernel.TID{r.selected()}}}, waits.opened)
		assert.Equal(t, action.Why, r.m.view)
		r.press("esc")
		r.wait(time.Second)
		assert.Equal(t, action.Processes, r.m.view)
		assert.Equal(t, 1, waits.closed)
		r.press("space", "space", "w")
		assert.Len(t, waits.opened[1].IDs, 2, "the tagged ones")
		r.press("2")
		r.wait(time.Second)
		assert.Equal(t, 2, waits.closed)
		r.press("1", "U")
		assert.True(t, r.m.procs.Select(3642))
		r.press("enter", "enter", "down", "w")
		r.wait(time.Second)
		assert.Equal(t, watch.Targets{IDs: []kernel.TID{3650}, Scope: watch.Thread}, waits.opened[2], "of the thread list")
		r.press("ctrl+z")
		assert.Equal(t, 3, waits.closed, "not while piton is stopped")
		assert.Equal(t, action.Processes, r.m.view)
	})
}

func TestWhyCarriesARemedyOut(t *testing.T) {
	onWhy(t, 120, 40, func(r *rig, _ *fakeWaits) {
		own := r.selected()
		r.press("down", "enter")
		assert.Equal(t, "0-7", r.tuning.wanted())
		assert.Equal(t, []change.Target{{TID: own, StartTicks: r.tuning.targets[0].StartTicks}}, r.tuning.targets)
		assert.Len(t, r.tuning.carried, 1, "of those who wait: at once")
		assert.Contains(t, r.tuning.want.Reason, "waits: own threads")
		r.wait(2 * time.Second)
		assert.Contains(t, r.text(), "effect     piton pin")
		r.press("z")
		assert.NotEmpty(t, r.tuning.undone)
		r.wait(2 * time.Second)
		assert.Contains(t, r.text(), "effect     undo: before | after")

		r.press("down", "enter")
		assert.Contains(t, r.text(), "there is no command against it")
		r.send(tea.MouseClickMsg{X: 5, Y: r.rowAt("kernel     irq"), Button: tea.MouseLeft})
		r.press("enter")
		assert.Contains(t, r.text(), `"132"`, "there is no such line here")
		r.press("?")
		assert.Contains(t, r.text(), "Help: the Why pane (w)")
	})
}

func TestWhyOfARivalShowsThePlanFirst(t *testing.T) {
	onWhy(t, 120, 40, func(r *rig, _ *fakeWaits) {
		r.m.why.Home()
		remedy, command, none := r.m.why.Remedy()
		assert.Empty(t, none)
		assert.Equal(t, "piton weight cgroup:build.slice 20", command)
		remedy.Setting.Attribute, remedy.Setting.Value, remedy.Setting.On = "nice", "10", []string{"3641"}
		r.press("enter")
		assert.Contains(t, r.text(), "Nice 3641?")
		assert.Empty(t, r.tuning.carried)
		r.wait(time.Second)
		r.press("y")
		assert.Len(t, r.tuning.carried, 1)
		assert.Contains(t, r.text(), "effect     "+command)
	})
}
