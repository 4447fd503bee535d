package procfs

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseCounters(t *testing.T) {
	in := "cpu  1 2 3 4\ncpu0 8347 1 18428 210756 2316 2 148 2669 3 4\ncpu12 1 2 3 4\n" +
		"intr 5 0 0\nctxt 77\nbtime 1700000000\nprocesses 99\nprocs_running 1\n"
	var c Counters
	require.NoError(t, ParseCounters([]byte(in), &c))
	assert.Equal(t, Counters{
		CPUs: []CPUTimes{
			{CPU: 0, User: 8347, Nice: 1, System: 18428, Idle: 210756, IOWait: 2316, IRQ: 2, SoftIRQ: 148, Steal: 2669, Guest: 3, GuestNice: 4},
			{CPU: 12, User: 1, Nice: 2, System: 3, Idle: 4},
		},
		Switches: 77, BootTime: 1700000000, Forks: 99,
	}, c)
	for _, bad := range []string{"", "cpu 1 2 3 4\n", "cpux 1 2\n", "cpu0 1 x\n", "cpu70000 1 2\n", "cpu0 1\nctxt\n"} {
		assert.Error(t, ParseCounters([]byte(bad), &c), bad)
	}
}

func TestParseLoadAvgAndUptime(t *testing.T) {
	l, err := ParseLoadAvg([]byte("0.99 1.62 13.08 2/108 32196\n"))
	require.NoError(t, err)
	assert.Equal(t, LoadAvg{Load1: 0.99, Load5: 1.62, Load15: 13.08, Running: 2, Tasks: 108, LastPID: 32196}, l)
	for _, bad := range []string{"", "1 2 3", "0.9 1.62 3.38 2/108 1", "0.99 1.62 3.38 2 108 1", "0.99 1.62 3.38 2/108"} {
		_, err := ParseLoadAvg([]byte(bad))
		assert.Error(t, err, bad)
	}
	waiting, err := ParsePressure([]byte("some avg10=43.10 avg60=35.14 avg300=25.82 total=9751978951\nfull avg10=0.00\n"))
	require.NoError(t, err)
	assert.Equal(t, 43.1, waiting)
	for _, bad := range []string{"", "full avg10=1.00", "some avg60=1.00", "some avg10=1", "some avg10=x.00"} {
		_, err := ParsePressure([]byte(bad))
		assert.Error(t, err, bad)
	}
	up, err := ParseUptime([]byte("1027.85 2000.12\n"))
	require.NoError(t, err)
	assert.Equal(t, 1027850*time.Millisecond, up)
	_, err = ParseUptime([]byte("x"))
	assert.Error(t, err)
}

func TestParseAutogroup(t *testing.T) {
	name, nice, err := ParseAutogroup([]byte("/autogroup-7 nice -3\n"))
	require.NoError(t, err)
	assert.Equal(t, "/autogroup-7", name)
	assert.Equal(t, -3, nice)
	name, _, err = ParseAutogroup(nil)
	require.NoError(t, err)
	assert.Empty(t, name)
	_, _, err = ParseAutogroup([]byte("/autogroup-7 mice 3\n"))
	assert.Error(t, err)
}

func FuzzParseHostFiles(f *testing.F) {
	f.Add([]byte("cpu0 8347 1 18428 210756 2316 2 148 2669 3 4\nctxt 77\n"))
	f.Add([]byte("0.99 1.62 3.38 2/108 32196\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var c Counters
		if ParseCounters(b, &c) == nil {
			assert.NotEmpty(t, c.CPUs)
		}
		_, _ = ParseLoadAvg(b)
		_, _ = ParsePressure(b)
		if up, err := ParseUptime(b); err == nil {
			assert.GreaterOrEqual(t, up, time.Duration(0))
		}
	})
}
