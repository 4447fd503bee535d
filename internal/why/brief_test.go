package why

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestBrief(t *testing.T) {
	neighbours := func(commands ...string) (o Observation) {
		for _, command := range commands {
			of := waited(By{Cause: Neighbour, Command: command}, 30*ms)
			o.By, o.Waited = append(o.By, of.By...), o.Waited+of.Waited
		}
		o.Span, o.Threads, o.Woken, o.Longest.Time = 10*time.Second, 5, o.By[0].Bins, 31*ms
		return o
	}
	for _, c := range []struct {
		o    Observation
		want Brief
	}{
		{Observation{Span: time.Second, Threads: 1}, Brief{}},
		{Observation{Span: time.Second, Threads: 1, Ran: time.Second, Waited: ms}, Brief{}},
		{neighbours("cc1", "cc1", "as"), Brief{31 * ms, "cc1", 2. / 3}},
		{neighbours("a", "b", "c"), Brief{31 * ms, "neighbours", 1}},
		{waited(By{Cause: Limit, Group: "/a"}, 30*ms), Brief{0, "limit", 1}},
		{waited(By{Cause: Self, Command: "x"}, 30*ms), Brief{0, "self", 1}},
		{waited(By{Cause: RealTime, Command: "x"}, 30*ms), Brief{0, "x", 1}},
		{waited(By{Cause: Kernel, Command: "irq x"}, 30*ms), Brief{0, "kernel", 1}},
		{avoidable(Avoidable{Mask: time.Second}), Brief{0, "mask", 0.5}},
		{avoidable(Avoidable{Cpuset: 3 * time.Second}), Brief{0, "cpuset", 1}},
	} {
		assert.Equal(t, c.want, c.o.Brief())
	}
}
