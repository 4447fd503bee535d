package chat

import (
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"piton/internal/child"
)

// Twenty threads put more into a queue than it holds, and one takes out all, in
// the order of each.
func TestQueueKeepsOrder(t *testing.T) {
	defer child.ThreadRoom(Members + 1)()
	const each = 10 * queueLength
	q := new(queue)
	var done sync.WaitGroup
	for speaker := range uint16(Members) {
		done.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			for n := range uint32(each) {
				m := message{speaker: speaker, number: n}
				q.push(&m)
			}
		})
	}
	var next [Members]uint32
	wrong := 0
	done.Go(func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		var m message
		for range Members * each {
			q.pop(&m)
			if m.number != next[m.speaker] {
				wrong++
			}
			next[m.speaker]++
		}
	})
	done.Wait()
	assert.Zero(t, wrong)
	assert.Zero(t, q.count)
}
