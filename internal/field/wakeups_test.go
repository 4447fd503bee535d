package field

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"piton/internal/sample"
)

func TestWakeups(t *testing.T) {
	self, other := sample.WakeTask{TID: 7, TGID: 7, Comm: "self"}, sample.WakeTask{TID: 9, TGID: 8, Comm: "ngi\x1bnx", CPU: 3}
	w := &sample.Wakes{Of: 7, Over: 2 * time.Second, List: []sample.Wake{{Waker: self, Wakee: other, Count: 2400}, {Waker: other, Wakee: self, Count: 2000},
		{Wakee: self, Count: 5}}}
	assert.Equal(t, []string{"to 1,200 from 1,000/s: ngi?nx 9, cpu 3", "from 2.50/s: interrupts"}, Wakeups(w))
	w.Lost = 1
	assert.Equal(t, "1 wakeup not counted: too many partners", Wakeups(w)[0])
	assert.Equal(t, []string{"none"}, Wakeups(&sample.Wakes{Of: 7, Over: time.Second}))
}
