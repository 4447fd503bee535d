package tui

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"piton/internal/kernel"
	"piton/internal/tuitest/golden"
)

func TestDetailDrawsEachMove(t *testing.T) {
	onMoves(t, func(r *rig) {
		assert.Zero(t, r.sampler.needs.Trace)
		assert.Zero(t, r.sampler.needs.Wakes)
		r.press("enter")
		assert.Equal(t, kernel.TID(3641), r.sampler.needs.Trace)
		assert.Contains(t, r.text(), "each tick:", "until the first moves are there")
		r.machine.Trace = 3641
		r.tick()
		assert.Contains(t, r.text(), "each move: ")
		golden.Check(t, "trace-120x40-8cpus", r.text(), 120, 40)
		r.press("down")
		assert.Equal(t, kernel.TID(3642), r.sampler.needs.Trace)
		assert.Equal(t, kernel.TID(3642), r.sampler.needs.Wakes)
		assert.NotContains(t, r.text(), "each move", "those were another task's")
		r.tick()
		assert.NotContains(t, r.text(), "each move", "and these came too late")
		r.press("esc")
		assert.Zero(t, r.sampler.needs.Trace)
		assert.Zero(t, r.sampler.needs.Wakes)
	})
}

func TestDetailGoesBackToTicksWhenATaskStays(t *testing.T) {
	onMoves(t, func(r *rig) {
		r.press("enter")
		r.machine.Trace = 3641
		r.tick()
		r.machine.Proc(3641).Moves = 0
		for range 5 {
			r.tick()
		}
		assert.Contains(t, r.text(), "none for 5s")
		for range 6 {
			r.tick()
		}
		assert.Contains(t, r.text(), "each tick:", "where it is a flat line")
	})
}

func TestNothingIsTracedInOtherViews(t *testing.T) {
	onMoves(t, func(r *rig) {
		r.press("enter", "2")
		assert.Zero(t, r.sampler.needs.Trace)
		assert.Zero(t, r.sampler.needs.Wakes)
	})
}

func TestOrderByPingPongsReadsNoTaskByItself(t *testing.T) {
	onMoves(t, func(r *rig) {
		r.press("f6", "p", "i", "n", "g", "enter")
		assert.Equal(t, "pingpong_per_s", r.m.procs.View().Sort.ID)
		assert.True(t, r.sampler.needs.PingPongs)
		assert.False(t, r.sampler.needs.All)
		assert.Contains(t, r.line(r.area("list").y), "PINGPONG/s▾ COMMAND", "what decides the order is shown")
		r.press("f2", "enter")
		assert.NotContains(t, r.settings.saved[0].Columns, "pingpong_per_s", "and not kept among the columns chosen")
		assert.Contains(t, r.line(r.area("list").y), "PINGPONG/s")
		r.press("f4")
		for _, k := range "pingpong>5" {
			r.press(string(k))
		}
		r.press("enter")
		assert.Contains(t, r.text(), "filter pingpong>5")
		r.wait(time.Second)
	})
}
