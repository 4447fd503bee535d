package model

import (
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/place"
	"piton/internal/sample"
	"piton/internal/topology/topologytest"
)

// crowd is a machine of two CPUs after a window of a second: CPU 0 is filled by
// hogs of the same nice, CPU 1 is busy for a share.
func crowd(hogs, nice int, busy1 uint64) *Model {
	topo := topologytest.Synthetic(topologytest.Spec{Nodes: 1, CoresPerLLC: 2, Threads: 1})
	second := func(s uint64) *sample.Sample {
		var tasks []*sample.Task
		for i := range hogs {
			tasks = append(tasks, task(kernel.TID(i+1), func(t *sample.Task) {
				t.State, t.Nice, t.Have = 'R', int8(nice), sample.HaveRun|sample.HaveTime
				t.RunNs, t.RunDelayNs = s*1e9/uint64(hogs), s*1e9-s*1e9/uint64(hogs)
			}))
		}
		cpu0 := sample.CPU{ID: 0, UserTicks: s * 100}
		if nice > 0 {
			cpu0.UserTicks, cpu0.NiceTicks = s*4, s*96
		}
		return withCPUs(at(float64(s), tasks...), cpu0, sample.CPU{ID: 1, UserTicks: s * busy1, IdleTicks: s * (100 - busy1)})
	}
	return Next(Next(nil, second(1), topo), second(2), topo)
}

func newcomerTo(t *testing.T, m *Model, allowed cpuset.Set) place.Choice {
	t.Helper()
	choices, err := place.Place(place.Request{Topology: m.Topology, Loads: m.Loads(nil), Strategy: place.LeastLoaded,
		Targets: []place.Target{{Allowed: allowed, LastCPU: -1, HomeNode: -1, BusyShare: 1, BusyThreads: 1}}})
	require.NoError(t, err)
	return choices[0]
}

// Row 18 of the findings: a hog at nice 1 made its CPU look 4 % busy, and chosen.
func TestTheCPUOfANicedHogIsNotChosen(t *testing.T) {
	for _, tt := range []struct {
		nice  int
		busy1 uint64 // percent
	}{{1, 7}, {1, 50}, {5, 7}, {5, 30}, {19, 2}} {
		m := crowd(1, tt.nice, tt.busy1)
		c := newcomerTo(t, m, m.Topology.Online)
		assert.Equal(t, "1", c.CPUs.String(), "nice %d: %s", tt.nice, c.Reason)
		assert.EqualValues(t, 1, m.LeastLoaded, "the mark agrees")
	}
}

// Row 18 of the findings: three hogs on a CPU were 301 %.
func TestNoEstimateIsAbove100Percent(t *testing.T) {
	for _, hogs := range []int{0, 1, 3, 30} {
		m := crowd(hogs, 0, 100)
		reason := newcomerTo(t, m, m.Topology.Online).Reason
		figures := regexp.MustCompile(`([0-9]+) ?%`).FindAllStringSubmatch(reason, -1)
		require.NotEmpty(t, figures)
		for _, f := range figures {
			n, err := strconv.Atoi(f[1])
			require.NoError(t, err)
			assert.LessOrEqual(t, n, 100, reason)
		}
	}
	m := crowd(3, 0, 0)
	assert.Regexp(t, "^cpu 0: 25 % of a CPU expected", newcomerTo(t, m, cpuset.Of(0)).Reason)
}

// The kernel counts a wait when it ends: one that lasts all of the window is known
// by the task's state alone.
func TestAStarvedTaskIsQueued(t *testing.T) {
	second := func(s uint64, state byte) *sample.Sample {
		row := task(1, func(t *sample.Task) { t.State, t.Nice, t.Have, t.RunNs = state, 19, sample.HaveRun|sample.HaveTime, 5 })
		return withCPUs(at(float64(s), row), sample.CPU{ID: 0, UserTicks: s * 100})
	}
	rivals := func(before, now byte) []place.Rival {
		return Next(Next(nil, second(1, before), nil), second(2, now), nil).Loads(nil)[0].Rivals
	}
	assert.Equal(t, []place.Rival{{TID: 1, Process: 1, Queued: 1, Weight: 15}}, rivals('R', 'R'))
	assert.Empty(t, rivals('S', 'R'), "it may have come just now")
	assert.Empty(t, rivals('S', 'S'))
}

// TestHeldBack: one that never ran where three others of its weight had their turns is no
// rival, as one of thirty is.
func TestHeldBack(t *testing.T) {
	rivals := func(spinners int, nice int8, busy uint64) (tids []kernel.TID) {
		window := func(s uint64) *sample.Sample {
			rows := []*sample.Task{task(1, func(t *sample.Task) { t.State, t.Nice, t.Have, t.RunNs = 'R', nice, sample.HaveRun|sample.HaveTime, 5 })}
			for i := range spinners {
				rows = append(rows, task(kernel.TID(i+2), func(t *sample.Task) {
					t.State, t.Have = 'R', sample.HaveRun|sample.HaveTime
					t.RunNs = s * 250_000_000 / uint64(spinners)
					t.RunDelayNs = s*250_000_000 - t.RunNs
				}))
			}
			n := at(float64(s)/4, rows...)
			return withCPUs(n, sample.CPU{ID: 0, UserTicks: s * busy, IdleTicks: s * (25 - busy)})
		}
		for _, r := range Next(Next(nil, window(1), nil), window(2), nil).Loads(nil)[0].Rivals {
			tids = append(tids, r.TID)
		}
		return tids
	}
	assert.NotContains(t, rivals(3, 0, 25), kernel.TID(1))
	assert.Len(t, rivals(3, 0, 25), 3)
	assert.Contains(t, rivals(3, 19, 25), kernel.TID(1), "its turn comes seldom")
	assert.Contains(t, rivals(30, 0, 25), kernel.TID(1))
	assert.Contains(t, rivals(0, 19, 25), kernel.TID(1), "others have ended")
}

// TestHeldBackForAWhile: a kernel thread that got a tenth of what was due to it was queued for
// what it got; one in a light group had no more coming.
func TestHeldBackForAWhile(t *testing.T) {
	group, light := &place.Group{Weight: 1024}, &place.Group{Weight: 2}
	crowd := []place.Rival{
		{TID: 9, Used: 0.01, Queued: 0.01, RealTime: true, Group: &place.Group{Weight: 7}},
		{TID: 2, Used: 0.31, Queued: 0.68, Weight: 1024, Group: group}, {TID: 3, Used: 0.29, Queued: 0.68, Weight: 1024, Group: group},
		{TID: 4, Used: 0.33, Queued: 0.98, Weight: 335, Group: group},
	}
	queued := func(r place.Rival) float64 {
		c := contest{rivals: append([]place.Rival{r}, crowd...)}
		c.releaseHeldBack(0.25, 1)
		assert.Equal(t, crowd, c.rivals[1:])
		return c.rivals[0].Queued
	}
	assert.InDelta(t, 0.1, queued(place.Rival{TID: 1, Used: 0.04, Queued: 0.75, Weight: 1024}), 0.02)
	assert.Equal(t, 1., queued(place.Rival{TID: 1, Used: 0.04, Queued: 1, Weight: 1024, Group: light}))
	assert.Equal(t, 0.1, queued(place.Rival{TID: 1, Used: 0.005, Queued: 0.1, Weight: 1024}), "a turn of others is soon over")
	assert.Equal(t, 0.05, queued(place.Rival{TID: 1, Used: 0.05, Queued: 0.05, Weight: 1024}), "it did not wait")
}

func TestLoadsLookUpGroups(t *testing.T) {
	m := crowd(2, 0, 0)
	group := &place.Group{Weight: 512}
	asked := 0
	loads := m.Loads(func(*sample.Task) *place.Group {
		asked++
		return group
	})
	assert.Equal(t, 2, asked)
	for _, r := range loads[0].Rivals {
		assert.Same(t, group, r.Group)
	}
}
