package model

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"piton/internal/procfs"
	"piton/internal/sample"
)

func TestLimitsOfAllAncestors(t *testing.T) {
	const ms = time.Millisecond
	group := func(quota time.Duration, periods, throttled uint64, stalled time.Duration) sample.CPUGroup {
		return sample.CPUGroup{Limit: procfs.CPULimit{Quota: quota, Period: 100 * ms}, HaveLimit: true,
			Stat: procfs.CPUStat{Periods: periods, Throttled: throttled}, Stalled: stalled, HaveStalled: true}
	}
	at := func(s time.Duration, groups map[string]sample.CPUGroup) *sample.Sample {
		return &sample.Sample{At: s, CPUGroups: groups, Tasks: []*sample.Task{{TID: 1, TGID: 1, ID: &sample.Identity{CPUGroup: "/a/b/c"}}}}
	}
	for name, tc := range map[string]struct {
		before, now                map[string]sample.CPUGroup
		quota, throttled, pressure float32
		limits                     Limits
	}{
		"an ancestor's limit is the least, and throttles": {
			map[string]sample.CPUGroup{"/": {HaveLimit: true}, "/a": group(50*ms, 100, 10, 0), "/a/b": group(0, 0, 0, 0), "/a/b/c": group(150*ms, 10, 10, 0)},
			map[string]sample.CPUGroup{"/": {HaveLimit: true}, "/a": group(50*ms, 110, 14, 0), "/a/b": group(0, 0, 0, 0), "/a/b/c": group(150*ms, 20, 10, 250*ms)},
			0.5, 40, 25, Limited},
		"the group's own limit throttles more": {
			map[string]sample.CPUGroup{"/a": group(50*ms, 0, 0, 0), "/a/b": group(0, 0, 0, 0), "/a/b/c": group(150*ms, 0, 0, 0)},
			map[string]sample.CPUGroup{"/a": group(50*ms, 10, 1, 0), "/a/b": group(0, 0, 0, 0), "/a/b/c": group(150*ms, 10, 9, 0)},
			0.5, 90, 0, Limited},
		"nothing to run": {
			map[string]sample.CPUGroup{"/a": group(50*ms, 5, 5, 0), "/a/b": group(0, 0, 0, 0), "/a/b/c": group(0, 0, 0, 0)},
			map[string]sample.CPUGroup{"/a": group(50*ms, 5, 5, 0), "/a/b": group(0, 0, 0, 0), "/a/b/c": group(0, 0, 0, 0)},
			0.5, 0, 0, Limited},
		"no limit": {
			map[string]sample.CPUGroup{"/a/b/c": {HaveLimit: true}}, map[string]sample.CPUGroup{"/a/b/c": {HaveLimit: true}},
			Unknown, Unknown, Unknown, Unlimited},
		"an ancestor cannot be read": {
			map[string]sample.CPUGroup{"/a": group(50*ms, 0, 0, 0), "/a/b": {}, "/a/b/c": group(50*ms, 0, 0, 0)},
			map[string]sample.CPUGroup{"/a": group(50*ms, 9, 9, 0), "/a/b": {}, "/a/b/c": group(50*ms, 9, 9, 0)},
			Unknown, Unknown, 0, LimitsUnknown},
		"counters ran backwards, the group is a new one": {
			map[string]sample.CPUGroup{"/a/b/c": group(50*ms, 9, 9, ms)}, map[string]sample.CPUGroup{"/a/b/c": group(50*ms, 1, 1, 0)},
			0.5, Unknown, Unknown, Limited},
	} {
		t.Run(name, func(t *testing.T) {
			m := Next(Next(nil, at(time.Second, tc.before), nil), at(2*time.Second, tc.now), nil)
			g := m.CPUGroup(0)
			for _, v := range []struct{ want, got float32 }{{tc.quota, g.QuotaCPUs}, {tc.throttled, g.ThrottledPercent}, {tc.pressure, g.PressurePercent}} {
				if assert.Equal(t, Known(v.want), Known(v.got)); Known(v.want) {
					assert.InDelta(t, v.want, v.got, 1e-4)
				}
			}
			assert.Equal(t, tc.limits, g.Limits)
		})
	}
	assert.Nil(t, Next(nil, at(0, nil), nil).CPUGroup(0))
}
