package tui

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"piton/internal/sample"
	"piton/internal/tui/screen"
)

func TestOwnCost(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.m.cost.Meter = &screen.Meter{}
		r.press("ctrl+o")
		s := r.machine.Tick()
		s.Late, s.Replaced, s.MovesLost = 3*time.Millisecond, 2, 5
		s.Collectors = []sample.Collector{{Name: "tasks", Took: 2 * time.Millisecond, Rung: "ebpf"},
			{Name: "host", Took: time.Millisecond / 2, Err: assert.AnError}}
		r.deliver(s)
		text := r.text()
		assert.Contains(t, text, "CPU 990.0 ms/s, resident 43M, terminal 0 B/s in 0.0 frames/s")
		assert.Contains(t, text, "; sample 3.0 ms late, 2 dropped")
		assert.Contains(t, text, "5 events lost")
		assert.Contains(t, text, "a sample took 2.5 ms · tasks (ebpf) 2.0 ms · host 0.5 ms failed: assert.AnError")
		assert.Contains(t, r.line(-1), "F1Help", "the frame is as high as before")
		r.press("ctrl+o")
		assert.NotContains(t, r.text(), "resident")
	}, func(d *Deps) { d.PID = 3641 })
}

func TestOwnCostFitsSmallWindows(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {20, 8}, {30, 10}} {
		on(t, 2, size[0], size[1], func(r *rig) {
			r.press("ctrl+o")
			assert.Contains(t, r.line(-1), "F1", size)
			if size[1] > 20 {
				assert.Contains(t, r.text(), "a sample took")
			}
		})
	}
}
