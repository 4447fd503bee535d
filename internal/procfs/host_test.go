package procfs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
)

func TestParseCounters(t *testing.T) {
	in := "cpu  1 2 3 4\ncpu0 8347 1 18428 210756 2316 2 148 2669 3 4\ncpu12 1 2 3 4 5 6 7 8 9 10\n" +
		"intr 5 0 0\nctxt 77\nbtime 1700000000\nprocesses 99\nprocs_running 1\n"
	whole := Counters{
		CPUs: []CPUTimes{
			{CPU: 0, User: 8347, Nice: 1, System: 18428, Idle: 210756, IOWait: 2316, IRQ: 2, SoftIRQ: 148, Steal: 2669, Guest: 3, GuestNice: 4},
			{CPU: 12, User: 1, Nice: 2, System: 3, Idle: 4, IOWait: 5, IRQ: 6, SoftIRQ: 7, Steal: 8, Guest: 9, GuestNice: 10},
		},
		Switches: 77, BootTime: 1700000000, Forks: 99,
	}
	var c Counters
	require.NoError(t, ParseCounters([]byte(in), &c))
	c.Lost = nil
	assert.Equal(t, whole, c)
	for _, bad := range []string{"", "cpu 1 2 3 4\n", "cpux 1 2\n", "cpu70000 1 2\n"} {
		assert.Error(t, ParseCounters([]byte(bad), &c), bad)
	}
	without := func(row int) Counters {
		w := whole
		w.CPUs, w.Lost = slices.Delete(slices.Clone(whole.CPUs), row, row+1), []cpuset.CPU{whole.CPUs[row].CPU}
		return w
	}
	noForks, noSwitches := whole, whole
	noForks.Forks, noSwitches.Switches = 0, 0
	for _, change := range []struct {
		old, new string
		want     Counters
	}{
		{"processes 99", "processes -1948031333", noForks},
		{"ctxt 77", "ctxt", noSwitches},
		{"ctxt 77", "ctxt 77x", noSwitches},
		{"ctxt 77", "ctxt 99999999999999999999", noSwitches},
		{"cpu12 1 2", "cpu12 1 -2", without(1)},
		{"cpu0 8347", "cpu0 99999999999999999999", without(0)},
		{" 148 2669 3 4\ncpu12", "\ncpu12", without(0)},
		{" 148 2669 3 4\ncpu12", " 148 2669 3\ncpu12", without(0)},
		{"9 10\n", "9 10x\n", without(1)},
		{"cpu12", "cpu0 0 0 0 0 0 0 0 0 0 0\ncpu12", whole},
		{"cpu  1 2 3 4", "cpu  1 2 -3", whole},
	} {
		require.NoError(t, ParseCounters([]byte(strings.Replace(in, change.old, change.new, 1)), &c))
		if !strings.HasPrefix(change.old, "cpu  ") {
			assert.Error(t, c.Odd, change.new)
		}
		c.Odd = nil
		if len(c.Lost) == 0 {
			c.Lost = nil
		}
		assert.Equal(t, change.want, c, change.new)
	}
	// The file ends in the middle of a number; and what old kernels and lxcfs write.
	require.NoError(t, ParseCounters([]byte("cpu  1 2 3 4\ncpu0 1 2 3 4 5 6 7 8 9 10\ncpu1 1 2 3 4 5 6 7 8 9 1"), &c))
	assert.Equal(t, []cpuset.CPU{1}, c.Lost)
	require.NoError(t, ParseCounters([]byte("cpu  1 2 3 4 5 6 7 8 0 0\ncpu0 1 2 3 4 5 6 7 8\ncpu1 1 2 3 4 5 6 7 8\n"), &c))
	assert.Len(t, c.CPUs, 2)
	assert.NoError(t, c.Odd)
	require.NoError(t, ParseCounters([]byte("cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2 3 4\n"), &c))
	assert.Equal(t, []cpuset.CPU{0}, c.Lost)
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
			assert.NotEmpty(t, len(c.CPUs)+len(c.Lost))
		}
		_, _ = ParseLoadAvg(b)
		_, _ = ParsePressure(b)
		if up, err := ParseUptime(b); err == nil {
			assert.GreaterOrEqual(t, up, time.Duration(0))
		}
	})
}

func TestHides(t *testing.T) {
	root := t.TempDir()
	self := filepath.Join(root, "proc", "self")
	require.NoError(t, os.MkdirAll(self, 0o755))
	f := New(root)
	proc := func(options string) string { return "22 26 0:21 / " + f.Path() + " rw - proc proc " + options + "\n" }
	const other = "23 26 0:22 / /elsewhere rw - proc proc rw,hidepid=2\n"
	const words = "/proc hides the processes of other users (%s); root sees all"
	for mounts, want := range map[string]string{
		"":                         "",
		other:                      "",
		proc("rw") + other:         "",
		proc("rw,hidepid=off"):     "",
		proc("rw,gid=4,hidepid=2"): fmt.Sprintf(words, "hidepid=2"),
		proc("rw") + proc("rw,hidepid=invisible"): fmt.Sprintf(words, "hidepid=invisible"),
		proc("rw,hidepid=2") + proc("rw"):         "",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(self, "mountinfo"), []byte(mounts), 0o644))
		assert.Equal(t, want, f.Hides(), mounts)
	}
	require.NoError(t, os.WriteFile(filepath.Join(self, "mountinfo"), []byte(proc("rw,hidepid=2")), 0o644))
	require.NoError(t, os.MkdirAll(filepath.Join(root, "proc", "1"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(root, "proc", "1", "stat"), []byte("1 (init)"+statTail), 0o644))
	assert.Empty(t, f.Hides(), "a member of the group gid=, or root")
}
