package why_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"piton/internal/why"
	"piton/internal/why/whytest"
)

func TestExplain(t *testing.T) {
	a := why.Explain(whytest.Observation(), whytest.Target())
	assert.Equal(t, why.Verdict{Word: "NEIGHBOUR", Sentence: "build.slice (cc1, 2 processes) took 62 % of its waiting."}, a.Verdict)
	assert.Equal(t, why.Verdict{Word: "LIMIT", Sentence: "the cause of its 41 longest waits is the CPU limit of web.slice (50 % of a CPU)."}, a.Tail)
	var names []string
	percent, share := 0, 0.0
	for _, r := range a.Rows {
		names = append(names, r.Name)
		percent, share = percent+r.Percent, share+r.Share
	}
	assert.Equal(t, []string{"build.slice: cc1, 2", "own threads", "web.slice, 41 of 100 periods", "FIFO:50 rtapp 4711",
		"irq eth0-rx-3, NET_RX", "out of idle"}, names)
	assert.Equal(t, 100, percent)
	assert.InDelta(t, 1, share, 1e-9)
	assert.Equal(t, 20500*time.Millisecond, a.Slept)
	assert.InDelta(t, 0.21, a.PerThread(a.Waited), 1e-9)
	assert.Equal(t, []why.Portion{{Name: "limit of web.slice", Time: 28400 * time.Microsecond, Percent: 92},
		{Name: "cc1", Time: 2100 * time.Microsecond, Percent: 7}, {Name: "irq eth0-rx-3", Time: 500 * time.Microsecond, Percent: 1}}, a.Longest)
	assert.Equal(t, true, a.Rows[2].Ancestor())
	assert.Nil(t, a.Rows[0].Ancestor())
	assert.Equal(t, "cgroup own cgroup process machine machine", scopes(a))
	assert.Len(t, a.Top(0), 6)
	top := a.Top(3)
	assert.Equal(t, "3 more", top[3].Name)
	assert.Equal(t, 11, top[3].Percent)
	assert.Equal(t, 1155*time.Millisecond, top[3].Time)
}

func scopes(a *why.Answer) (text string) {
	for i := range a.Rows {
		text += " " + a.Rows[i].Scope()
	}
	return text[1:]
}
