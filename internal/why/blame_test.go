package why

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestBlame(t *testing.T) {
	part := func(by By, d time.Duration) Waited { return Waited{By: by, Time: d} }
	cc1 := By{Cause: Neighbour, Group: "/build.slice", Command: "cc1", PID: 1}
	other := cc1
	other.PID = 2
	web := Victim{"web", Observation{Span: time.Second, By: []Waited{part(cc1, 40*ms), part(By{Cause: Self}, time.Second), part(By{Cause: Limit, Group: "/web.slice"}, 70*ms)}}}
	ssh := Victim{"ssh", Observation{Span: time.Second, By: []Waited{part(cc1, 50*ms), part(other, 50*ms), part(By{Cause: Host}, time.Second)}}}
	assert.Equal(t, []Offender{
		{By: cc1, Name: "cc1 in build.slice", Time: 140 * ms, Of: []Kept{{"ssh", 100 * ms, time.Second}, {"web", 40 * ms, time.Second}}},
		{By: By{Cause: Limit, Group: "/web.slice"}, Name: "limit of web.slice", Time: 70 * ms, Of: []Kept{{"web", 70 * ms, time.Second}}},
	}, Blame([]Victim{web, ssh}))
}
