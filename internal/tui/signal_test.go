package tui

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"piton/internal/change"
)

func TestSignalComesOnceToAProcess(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.machine.Thread(3650, 3642, "matrix-2")
		r.machine.Thread(3651, 3642, "matrix-3")
		r.press("H", "K")
		r.tick()
		r.press("/", "3", "6", "5", "0", "enter", "space", "home", "/", "3", "6", "5", "1", "enter", "space", "k")
		assert.Contains(t, r.text(), "Send to matrix (3642)")
		r.press("enter")
		assert.Equal(t, []change.Target{{TID: 3642, StartTicks: 36420}}, r.tuning.signals, "of two threads, without a question")
		assert.Contains(t, r.line(-2), "sent to 1 process")
		r.press("/", "3", "6", "4", "1", "enter", "space", "k", "enter")
		assert.Contains(t, r.text(), "send signal 15 (terminated) to 2 processes")
		r.wait(time.Second)
		r.press("y")
		assert.Len(t, r.tuning.signals, 3)
		assert.Contains(t, r.line(-2), "sent to 2 processes")
	})
}
