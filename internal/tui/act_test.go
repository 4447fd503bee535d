package tui

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"piton/internal/change/attr"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/sample"
)

func TestEditorsBeginWithWhatIsReadNow(t *testing.T) {
	onSmall(t, func(r *rig) {
		task := &r.machine.Proc(3641).Task
		task.Have &^= sample.HaveAffinity | sample.HaveIOPrio // their columns are not shown
		r.tick()
		task.Affinity, task.IOPrio = cpuset.Of(2, 3), kernel.IOPrio{Class: kernel.IOBestEffort, Level: 2}
		r.press("a")
		assert.Contains(t, r.text(), "2-3 → 2-3  2 of 8 CPUs")
		r.press("esc", "i", "enter")
		assert.Equal(t, []attr.Setting{attr.SetIOPrio(task.IOPrio)}, r.tuning.want.Set)
		r.press("home", "space", "space", "a")
		assert.Contains(t, r.text(), "threads differ, together 0-7")
	})
}

func TestEditorsDoNotGuess(t *testing.T) {
	for key, what := range map[string]string{"a": "affinity of 3641", "i": "I/O priority of 3641"} {
		onSmall(t, func(r *rig) {
			r.machine.Kill(3641)
			r.press(key)
			assert.True(t, r.m.dialogs.Empty())
			assert.Contains(t, r.line(-2), what)
		})
	}
}

func TestCPUsAreChosenByTheNewestLoadWhilePaused(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.press("Z")
		shown := r.m.model
		for range 5 {
			r.tick()
		}
		r.press("p")
		assert.Same(t, r.m.newest, r.tuning.now)
		r.tick()
		r.press("o")
		assert.Same(t, r.m.newest, r.tuning.now)
		assert.Same(t, shown, r.m.model, "the list stands still")
	})
}

func TestEditorShowsTheNewestLoadWhilePaused(t *testing.T) {
	onSmall(t, func(r *rig) {
		load := func() float32 { return r.m.load()[cpuset.CPU(r.machine.Proc(4000).Task.LastCPU)] }
		r.press("Z")
		before := load()
		r.machine.Proc(4000).Busy = 0.9
		r.tick()
		assert.Greater(t, load(), before+0.3)
		r.press("a")
		opened := r.text()
		r.machine.Proc(4000).Busy = 0
		r.tick()
		assert.NotEqual(t, opened, r.text())
	})
}
