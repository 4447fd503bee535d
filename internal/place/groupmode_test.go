package place

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"piton/internal/topology/topologytest"
)

func TestParseGroupMode(t *testing.T) {
	assert.Equal(t, GroupsConcur, ParseGroupMode("up smp (concur) max tasks\n"))
	assert.Equal(t, GroupsSMP, ParseGroupMode("up (smp) concur max tasks"))
	assert.Empty(t, ParseGroupMode("up smp concur (later)"))
	assert.Empty(t, ParseGroupMode(""))
}

// The shares are those that spinners got on Linux 7.2 and in the modes of 7.3, on a machine
// of four CPUs.
func TestShareByGroupMode(t *testing.T) {
	m := flat(topologytest.Spec{})
	one := &Group{Weight: UnifiedWeight(100)}
	four := &Group{Weight: UnifiedWeight(100)}
	onCPU := func(group *Group, n int) []Rival {
		var all []Rival
		for range n {
			all = append(all, Rival{TID: 9, Used: 1 / float64(n), Queued: 1, Weight: NiceZero, Group: group})
		}
		return all
	}
	packed := [][]Rival{onCPU(four, 4), onCPU(nil, 2), onCPU(nil, 3)}
	spread := [][]Rival{onCPU(four, 1), onCPU(four, 1), onCPU(four, 1), onCPU(four, 1)}
	for _, c := range []struct {
		name   string
		mode   GroupMode
		target Target
		rivals [][]Rival // by CPU
		want   []float64
	}{
		{"before 7.3", GroupsSMP, Target{}, packed, []float64{0.5, 1. / 3, 0.25}},
		{"7.3: four tasks count as three", GroupsConcur, Target{}, packed, []float64{0.25, 1. / 3, 0.25}},
		{"a group of one against one of four, before", GroupsSMP, Target{Group: one}, packed[:1], []float64{0.5}},
		{"and in 7.3", GroupsConcur, Target{Group: one}, packed[:1], []float64{0.25}},
		{"a task on each CPU, before", GroupsSMP, Target{}, spread, []float64{0.8}},
		{"and in 7.3", GroupsConcur, Target{}, spread, []float64{4. / 7}},
		{"by CPUs", GroupsMax, Target{}, spread, []float64{0.5}},
		{"by tasks", GroupsTasks, Target{}, packed[:1], []float64{0.25}},
		{"the whole weight", GroupsUp, Target{}, spread, []float64{0.5}},
	} {
		t.Run(c.name, func(t *testing.T) {
			loads := busy(m, nil)
			for i, rivals := range c.rivals {
				loads[i].Busy, loads[i].Rivals = 1, rivals
			}
			b := newBoard(Request{Topology: m, Loads: loads, Groups: c.mode})
			for i, want := range c.want {
				assert.InDelta(t, want, b.share(&c.target, i), 0.01, "on CPU %d", i)
			}
		})
	}
}
