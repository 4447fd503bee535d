package procfs

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestThrottling(t *testing.T) {
	const server = "RT throttling: the fair server of each CPU keeps 50 ms of every second for ordinary tasks"
	const default50 = server + ", unless that was changed (its files in debugfs cannot be read)"
	for _, c := range []struct {
		release, runtime, period string
		servers                  []string // ns of 1 s
		left                     float64
		want                     string
	}{
		{"6.1.176", "950000", "1000000", nil, 0.05, "RT throttling: real-time tasks get 950 of every 1000 ms of a CPU (sched_rt_runtime_us), ordinary ones the rest"},
		{"6.1.176", "-1", "1000000", nil, 0, "RT throttling is off (sched_rt_runtime_us is -1): ordinary tasks get nothing beside a real-time one that never sleeps"},
		{"6.1.176", "1000000", "1000000", nil, 0, "RT throttling is off (sched_rt_runtime_us is 1000000): ordinary tasks get nothing beside a real-time one that never sleeps"},
		{"6.12.117+deb13", "950000", "1000000", nil, 0.05, default50},
		{"7.2.12", "1000000", "1000000", nil, 0.05, default50},
		{"7.2.12", "-1", "1000000", []string{"50000000", "50000000"}, 0.05, server},
		{"7.3.4", "1000000", "1000000", nil, 0.05, default50},
		{"7.3.4", "1000000", "1000000", []string{"50000000", "50000000"}, 0.05, server},
		{"7.3.4", "-1", "1000000", []string{"200000000", "50000000"}, 0.05, "RT throttling: the fair server of each CPU keeps at least 50 ms of every second for ordinary tasks"},
		{"6.12.117+deb13", "950000", "1000000", []string{"0", "0"}, 0, "RT throttling is off: the fair server of at least one CPU keeps nothing for ordinary tasks"},
		{"7.2.12", "1000000", "1000000", []string{"50000000", "0"}, 0, "RT throttling is off: the fair server of at least one CPU keeps nothing for ordinary tasks"},
		{"unknown", "900000", "1000000", nil, 0.1, "RT throttling: real-time tasks get 900 of every 1000 ms of a CPU (sched_rt_runtime_us), ordinary ones the rest"},
	} {
		t.Run(c.release+" "+c.runtime, func(t *testing.T) {
			root := t.TempDir()
			write := func(path, text string) {
				path = filepath.Join(root, path)
				require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
				require.NoError(t, os.WriteFile(path, []byte(text+"\n"), 0o644))
			}
			write("proc/sys/kernel/osrelease", c.release)
			write("proc/sys/kernel/sched_rt_runtime_us", c.runtime)
			write("proc/sys/kernel/sched_rt_period_us", c.period)
			for i, ns := range c.servers {
				dir := fmt.Sprintf("sys/kernel/debug/sched/fair_server/cpu%d/", i)
				write(dir+"runtime", ns)
				write(dir+"period", "1000000000")
			}
			got, err := ReadThrottling(New(root))
			require.NoError(t, err)
			assert.InDelta(t, c.left, got.Left(), 1e-9)
			assert.Equal(t, c.want, got.String())
		})
	}
	for want, limits := range map[string]Throttling{
		"5 % of a CPU is kept for them by the fair server":      {RuntimeUs: 1_000_000, PeriodUs: 1_000_000, ServerNs: defaultServerNs},
		"10 % of a CPU is kept for them by sched_rt_runtime_us": {RuntimeUs: 900_000, PeriodUs: 1_000_000, ServerNs: -1},
		"nothing is kept for them":                              {RuntimeUs: 900_000, PeriodUs: 1_000_000},
	} {
		assert.Equal(t, want, limits.Brief())
	}
	_, err := ReadThrottling(New(t.TempDir()))
	assert.Error(t, err)
}
