package procfs

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseCPULimit(t *testing.T) {
	for _, c := range []struct {
		text string
		want CPULimit
		cpus float64
	}{
		{"max 100000", CPULimit{Period: 100 * time.Millisecond}, 0},
		{"50000 100000\n", CPULimit{Quota: 50 * time.Millisecond, Period: 100 * time.Millisecond}, 0.5},
		{"200000 100000 20000", CPULimit{200 * time.Millisecond, 100 * time.Millisecond, 20 * time.Millisecond}, 2},
		{"-1 100000 0", CPULimit{Period: 100 * time.Millisecond}, 0},
	} {
		l, err := ParseCPULimit(c.text)
		require.NoError(t, err, c.text)
		assert.Equal(t, c.want, l, c.text)
		assert.Equal(t, c.cpus, l.CPUs(), c.text)
	}
	for _, text := range []string{"", "max", "x 1", "1 2 3 4", "1 max", "9223372036854775807 100000"} {
		_, err := ParseCPULimit(text)
		assert.Error(t, err, text)
	}
}

func TestParseCPUStat(t *testing.T) {
	assert.Equal(t, CPUStat{Used: time.Millisecond, Periods: 100, Throttled: 41, ThrottledTime: 7 * time.Microsecond},
		ParseCPUStat([]byte("usage_usec 1000\nuser_usec 500\nnr_periods 100\nnr_throttled 41\nthrottled_usec 7\nnr_bursts 0\n")))
	assert.Equal(t, CPUStat{Periods: 3, Throttled: 1, ThrottledTime: 7},
		ParseCPUStat([]byte("nr_periods 3\nnr_throttled 1\nthrottled_time 7\nodd\n")), "version 1 counts ns")
}

func TestParseStalled(t *testing.T) {
	stalled, err := ParseStalled([]byte("some avg10=0.00 avg60=0.00 avg300=0.00 total=1500\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=9\n"))
	require.NoError(t, err)
	assert.Equal(t, 1500*time.Microsecond, stalled)
	_, err = ParseStalled([]byte("full avg10=0.00 total=9\n"))
	assert.Error(t, err)
}

func FuzzParseCPULimit(f *testing.F) {
	f.Add("50000 100000 20000")
	f.Fuzz(func(t *testing.T, text string) {
		if l, err := ParseCPULimit(text); err == nil {
			assert.GreaterOrEqual(t, l.Quota, time.Duration(0))
			assert.GreaterOrEqual(t, l.CPUs(), 0.0)
		}
	})
}
