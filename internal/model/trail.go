package model

import (
	"piton/internal/kernel"
	"piton/internal/sample"
)

// TrailLen is the number of moves that a Trail keeps.
const TrailLen = 512

// Trail is the last moves of one task in their order. The zero value is ready.
type Trail struct {
	TID   kernel.TID
	Steps []sample.Step // oldest first
	Lost  uint64        // moves that the source had no room for
}

// Add takes in the moves of the traced task. Another task than the last one
// begins a new trail.
func (t *Trail) Add(tid kernel.TID, s *sample.Sample) {
	if tid != t.TID {
		*t = Trail{TID: tid}
	}
	t.Steps = append(t.Steps, s.Steps...)
	t.Lost += s.StepsLost
	if over := len(t.Steps) - TrailLen; over > 0 {
		t.Steps = append(t.Steps[:0], t.Steps[over:]...)
	}
}
