package place

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"piton/internal/cpuset"
	"piton/internal/topology/topologytest"
)

// TestStaysAmongEqualCPUs reads CPUs of two spinners each as differently as windows of /proc
// do: the best of eight gives some 2 points more than the worst.
func TestStaysAmongEqualCPUs(t *testing.T) {
	const tries = 200
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{2, 4, 8, 64} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			m := topologytest.Synthetic(topologytest.Spec{CoresPerLLC: n})
			moved := 0
			for range tries {
				loads := busy(m, nil)
				for i := range loads {
					fill(&loads[i], NiceZero, NiceZero)
					for k := range loads[i].Rivals {
						loads[i].Rivals[k].Queued = min(1, 0.95+0.07*random.NormFloat64())
					}
				}
				target := task(m)
				target.LastCPU = cpuset.CPU(random.IntN(n))
				chosen := func() cpuset.CPU {
					return place1(t, Request{Topology: m, Loads: loads, Targets: []Target{target}}).CPUs.First()
				}
				if chosen() != target.LastCPU {
					moved++
				}
				better := (target.LastCPU + 1) % cpuset.CPU(n)
				loads[better] = Load{CPU: better}
				assert.Equal(t, better, chosen(), "it is idle")
				fill(&loads[better], NiceZero)
				assert.Equal(t, better, chosen(), "it has one task")
			}
			assert.LessOrEqual(t, moved, tries/20)
			t.Logf("%d of %d moved", moved, tries)
		})
	}
}
