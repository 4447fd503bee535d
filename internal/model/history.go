package model

import (
	"math/bits"

	"piton/internal/sample"
)

// MoveHistory is a row's migrations a second at each of the last BounceLen ticks, in
// steps of a logarithmic scale: four bits a tick, the newest lowest.
type MoveHistory uint64

// MoveSteps is the number of steps above 0; step n begins at 1<<(n-1) a second, and the
// last has no end.
const MoveSteps = 8

const (
	unknownStep = 15
	noMoves     = MoveHistory(1<<64 - 1) // nothing is known of any tick
)

// Step is the step of a tick, 0 the oldest: 0 when the row did not move, 1 below two
// moves a second (seldom ones too), -1 when it is not known.
func (h MoveHistory) Step(tick int) int {
	if s := int(h >> (4 * (BounceLen - 1 - tick)) & 15); s != unknownStep {
		return s
	}
	return -1
}

// Known reports whether any tick is.
func (h MoveHistory) Known() bool { return h != noMoves }

func (h MoveHistory) add(perS float32) MoveHistory {
	step := MoveHistory(unknownStep)
	switch {
	case perS >= 1<<(MoveSteps-1):
		step = MoveSteps
	case perS > 0:
		step = MoveHistory(max(1, bits.Len32(uint32(perS))))
	case perS == 0:
		step = 0
	}
	return h<<4 | step
}

// IO are a task's bytes a second to and from storage.
type IO struct{ ReadPerS, WritePerS float32 }

func (m *Model) ioOf(i int, before, t *sample.Task) {
	if t.Extra == nil || before.Extra == nil || t.Extra.Have&before.Extra.Have&sample.HaveIO == 0 {
		return
	}
	if m.io == nil {
		m.io = map[int]*IO{}
	}
	m.io[i] = &IO{m.perS(before.Extra.ReadBytes, t.Extra.ReadBytes), m.perS(before.Extra.WriteBytes, t.Extra.WriteBytes)}
}

// A CPU share or run delay that changes by less than noise (percent) is followed
// slowly, by a part of the change a tick: the figures of a machine at rest, and so the
// order by them, would change at every tick otherwise. What rests comes to 0.
const (
	noise      = 0.3
	followPart = 1.0 / 8
	atRest     = 0.05 // shown as 0.0
)

// settle is the figure to show after was.
func (m *Model) settle(was, now float32) float32 {
	change := now - was
	if !m.calm || !(change > -noise && change < noise) { // one of them is Unknown, too
		return now
	}
	v := was + change*followPart
	if now == 0 && v < atRest {
		return 0
	}
	return v
}
