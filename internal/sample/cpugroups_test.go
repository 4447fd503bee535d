package sample

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/kernel"
	"piton/internal/procfs"
)

func TestControlGroupsAreReadWithTheirAncestors(t *testing.T) {
	const ms = time.Millisecond
	const stat, stat1 = "usage_usec 5\nnr_periods 100\nnr_throttled 41\nthrottled_usec 7\n", "nr_periods 100\nnr_throttled 41\nthrottled_time 7000\n"
	limited := CPUGroup{Limit: procfs.CPULimit{Quota: 50 * ms, Period: 100 * ms}, HaveLimit: true,
		Stat: procfs.CPUStat{Periods: 100, Throttled: 41, ThrottledTime: 7 * time.Microsecond}}
	used := limited
	used.Stat.Used = 5 * time.Microsecond
	for name, tc := range map[string]struct {
		mount, in string
		files     map[string]string
		want      map[string]CPUGroup
	}{
		"version 2": {unified, "/a/b/c", map[string]string{"a/cpu.max": "50000 100000\n", "a/cpu.stat": stat, "a/b/cpu.max": "max 100000\n",
			"a/b/c/cpu.pressure": "some avg10=0.00 avg60=0.00 avg300=0.00 total=9\n"},
			map[string]CPUGroup{"/": {HaveLimit: true}, "/a": used, "/a/b": {Limit: procfs.CPULimit{Period: 100 * ms}, HaveLimit: true},
				"/a/b/c": {HaveLimit: true, HaveStalled: true, Stalled: 9 * time.Microsecond}}},
		"version 1": {"30 24 0:26 / /sys/fs/cgroup rw,nosuid - cgroup cgroup rw,cpu\n", "/a/b", map[string]string{"a/cpu.cfs_quota_us": "50000\n", "a/cpu.cfs_period_us": "100000\n",
			"a/cpu.stat": stat1, "a/b/cpu.cfs_quota_us": "-1\n", "a/b/cpu.cfs_period_us": "100000\n"},
			map[string]CPUGroup{"/": {HaveLimit: true}, "/a": limited, "/a/b": {Limit: procfs.CPULimit{Period: 100 * ms}, HaveLimit: true}}},
		"malformed limit":    {unified, "/a", map[string]string{"a/cpu.max": "x\n"}, map[string]CPUGroup{"/": {HaveLimit: true}, "/a": {}}},
		"limit without stat": {unified, "/a", map[string]string{"a/cpu.max": "1000 2000\n"}, map[string]CPUGroup{"/": {HaveLimit: true}, "/a": {Limit: procfs.CPULimit{Quota: ms, Period: 2 * ms}}}},
		"not visible":        {unified, "/../a", map[string]string{"a/cpu.max": "1000 2000\n"}, map[string]CPUGroup{}},
		"below a mount":      {"30 24 0:26 /a /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n", "/a/b", nil, map[string]CPUGroup{"/a": {HaveLimit: true}, "/a/b": {HaveLimit: true}}},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			put := func(name, text string) {
				at := filepath.Join(root, name)
				require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o755))
				require.NoError(t, os.WriteFile(at, []byte(text), 0o644))
			}
			put("proc/self/mountinfo", tc.mount)
			for name, text := range tc.files {
				put("sys/fs/cgroup/"+name, text)
			}
			s := Sample{Tasks: []*Task{{TID: 1, ID: &Identity{CPUGroup: "/other"}}, {TID: 2, ID: &Identity{CPUGroup: tc.in}}, {TID: 3, ID: &Identity{}}}}
			var groups cpuGroups
			require.NoError(t, groups.read(&s, procfs.New(root), newWanted(Needs{Watch: []kernel.TID{2, 3}})))
			assert.Equal(t, tc.want, s.CPUGroups)
		})
	}
}
