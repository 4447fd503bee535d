package why

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"piton/internal/cpuset"
)

// A sum is what one observation of the whole time would have been.
func TestSum(t *testing.T) {
	cc1, limit := By{Cause: Neighbour, Group: "/b", Command: "cc1", PID: 7}, By{Cause: Limit, Group: "/web.slice"}
	first, second := waited(cc1, 30*ms), waited(cc1, 40*ms)
	second.By = append(second.By, waited(limit, 50*ms).By...)
	second.Threads, second.Lost, second.Cost = first.Threads+2, 3, ms
	first.Avoidable, second.Avoidable = Avoidable{Mask: ms, Idle: cpuset.Of(1)}, Avoidable{Mask: ms, Missed: ms, Idle: cpuset.Of(2)}
	first.Longest, second.Longest = LongestWait{TID: 1, Time: 30 * ms}, LongestWait{TID: 2, Time: 20 * ms}
	a, b := target(t), target(t)
	a.Slices, b.Slices, a.Pressure, b.Pressure = 5, 6, time.Second, 2*time.Second
	a.Rivals[9], b.Name = Rival{Comm: "as"}, "later"
	before := a.Groups[1].CPUStat
	a.Groups = append(a.Groups, Group{Path: "/left"})

	s := Sum(Span{first, a}, Span{second, b})
	assert.Equal(t, first.Span+second.Span, s.Observation.Span)
	assert.Equal(t, second.Threads, s.Observation.Threads)
	assert.Equal(t, first.Waited+second.Waited, s.Waited)
	assert.Len(t, s.By, 2, "what was waited for in both is one")
	assert.Equal(t, Waited{By: cc1, Time: first.By[0].Time + second.By[0].Time, Waits: first.By[0].Waits + second.By[0].Waits,
		Longest: 40 * ms, Bins: sumOf(first.By[0].Bins, second.By[0].Bins)}, s.By[0])
	assert.Equal(t, sumOf(first.Woken, second.Woken), s.Woken)
	assert.Equal(t, Avoidable{Mask: 2 * ms, Missed: ms, Idle: cpuset.Of(1, 2)}, s.Avoidable)
	assert.EqualValues(t, 1, s.Longest.TID)
	assert.EqualValues(t, 3, s.Lost)
	assert.Equal(t, ms, s.Cost)

	assert.Equal(t, "later", s.Name)
	assert.EqualValues(t, 11, s.Slices)
	assert.Equal(t, 3*time.Second, s.Pressure)
	assert.Len(t, s.Groups, len(b.Groups), "groups are those it is in now")
	assert.Equal(t, before.Plus(b.Groups[1].CPUStat), s.Groups[1].CPUStat)
	assert.Equal(t, Rival{Comm: "as"}, s.Rivals[9])
	assert.Equal(t, before, a.Groups[1].CPUStat, "the spans stay what they are")
	assert.Equal(t, 30*ms, first.By[0].Longest)

	b.Pressure = -1
	assert.EqualValues(t, -1, Sum(Span{first, a}, Span{second, b}, Span{first, a}).Pressure)
	assert.Equal(t, first.By, Sum(Span{first, a}).By)
}

func sumOf(a, b Bins) Bins {
	a.Add(&b)
	return a
}
