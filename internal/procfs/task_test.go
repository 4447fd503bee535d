package procfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/kernel"
)

func TestParseSchedstat(t *testing.T) {
	for _, tc := range []struct {
		in   string
		want Schedstat
		ok   bool
	}{
		{"155821 7 1\n", Schedstat{155821, 7, 1}, true},
		{"18446744073709551615 0 0", Schedstat{RunNs: 1<<64 - 1}, true},
		{"18446744073709551616 0 0", Schedstat{}, false},
		{"1 2\n", Schedstat{}, false},
		{"", Schedstat{}, false},
		{"-1 2 3", Schedstat{}, false},
	} {
		got, err := ParseSchedstat([]byte(tc.in))
		assert.Equal(t, tc.ok, err == nil, tc.in)
		assert.Equal(t, tc.want, got, tc.in)
	}
}

const schedFile = `cat (27000, #threads: 1)
-------------------------------------------------------------------
se.exec_start                                :       1027854.084812
se.nr_migrations                             :                   12
nr_switches                                  :                    7
nr_voluntary_switches                        :                    3
nr_involuntary_switches                      :                    4
se.load.weight                               :              1048576
`

func TestParseSched(t *testing.T) {
	want := Sched{Migrations: 12, VoluntarySwitches: 3, InvoluntarySwitches: 4}
	got, err := ParseSched([]byte(schedFile))
	require.NoError(t, err)
	assert.Equal(t, want, got)

	// A name may look like the line that is sought.
	got, err = ParseSched([]byte("\nse.nr_migrations : 9\n-----\n" + schedFile))
	require.NoError(t, err)
	assert.Equal(t, want, got)

	for _, in := range []string{"", "cat (1)\n---\n",
		strings.Replace(schedFile, "  12", "  x", 1)} {
		_, err := ParseSched([]byte(in))
		assert.Error(t, err, in)
	}
	for _, in := range []string{strings.Replace(schedFile, "nr_voluntary", "nr_v", 1), strings.Replace(schedFile, "  4\n", "  -4\n", 1)} {
		got, err = ParseSched([]byte(in))
		require.NoError(t, err)
		assert.Equal(t, Sched{Migrations: 12, NoSwitches: true}, got, in)
	}
}

func TestInSchedExt(t *testing.T) {
	for in, want := range map[string]bool{
		schedFile: false, // before Linux 6.12
		schedFile + "ext.enabled    :            0\n": false,
		schedFile + "ext.enabled    :            1\n": true,
		"\next.enabled : 1\n-----\n" + schedFile:      false, // a name
		"":                                            false,
	} {
		assert.Equal(t, want, InSchedExt([]byte(in)), in)
	}
}

// The files are those of guests, of a cat that reads its own. A task's schedstat has three
// figures on each: it is /proc/schedstat, which piton does not read, that changed its version.
func TestRecordedSched(t *testing.T) {
	for kernel, want := range map[string]struct {
		sched     Sched
		schedstat string
		stat      Schedstat
	}{
		"6.1":  {Sched{}, "3861502 0 1\n", Schedstat{3861502, 0, 1}},
		"6.12": {Sched{}, "5927377 0 1\n", Schedstat{5927377, 0, 1}},
		"7.2":  {Sched{InvoluntarySwitches: 1}, "28875834 4701859 2\n", Schedstat{28875834, 4701859, 2}},
		"7.3":  {Sched{}, "17502047 0 1\n", Schedstat{17502047, 0, 1}},
	} {
		b, err := os.ReadFile("testdata/sched-" + kernel + ".txt")
		require.NoError(t, err)
		got, err := ParseSched(b)
		require.NoError(t, err, kernel)
		assert.Equal(t, want.sched, got, kernel)
		assert.False(t, InSchedExt(b), kernel)
		assert.Equal(t, strings.HasPrefix(kernel, "7"), strings.Contains(string(b), "\next.enabled "), kernel)
		st, err := ParseSchedstat([]byte(want.schedstat))
		require.NoError(t, err)
		assert.Equal(t, want.stat, st, kernel)
	}
}

func TestParseStatus(t *testing.T) {
	st, err := ParseStatus([]byte("Name:\ta\\nb\nTgid:\t12\nUid:\t1000\t0\t0\t0\nThreads:\t3\n" +
		"Cpus_allowed_list:\t0-2,64\nvoluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t6\n"))
	require.NoError(t, err)
	assert.Equal(t, Status{Comm: `a\nb`, TGID: 12, UID: 1000, Threads: 3, CPUsAllowed: cpuset.Of(0, 1, 2, 64),
		VoluntarySwitches: 5, InvoluntarySwitches: 6, HaveUID: true, HaveSwitches: true}, st)
	st, err = ParseStatus([]byte("Name:\tx\nTgid:\t12\nUid:\t-1\t0\t0\t0\nThreads:\t3\n" +
		"Cpus_allowed_list:\t3-1\nvoluntary_ctxt_switches:\t5x\nnonvoluntary_ctxt_switches:\t6\n"))
	assert.Error(t, err)
	assert.Equal(t, Status{Comm: "x", TGID: 12, Threads: 3, InvoluntarySwitches: 6}, st, "what is sound is there")
	for _, in := range []string{"", "Name:\tx\n", "Tgid:\tx\n", "Tgid:\t1\nCpus_allowed_list:\t3-1\n", "Tgid:\t1\nUid:\t-1\t0\n"} {
		_, err := ParseStatus([]byte(in))
		assert.Error(t, err, in)
	}
}

func TestParseCgroup(t *testing.T) {
	for _, tc := range []struct {
		in, main string
		ok       bool
	}{
		{"0::/system.slice/ssh.service\n", "/system.slice/ssh.service", true},
		{"9:name=systemd:/s\n3:cpuset:/c\n1:cpu,cpuacct:/p\n0::/\n", "/c", true},
		{"9:name=systemd:/s\n1:cpu,cpuacct:/p\n0::/\n", "/p", true},
		{"9:name=systemd:/s\n1:cpu,cpuacct:/\n", "/s", true},
		{"0::/\n", "/", true},
		{"0::/a:b\n", "/a:b", true},
		{"", "", true},
		{"0:/\n", "", false},
		{"0::x\n", "", false},
		{"0::x\n3:cpuset:/c\nodd\n", "/c", true},
	} {
		groups, err := ParseCgroup([]byte(tc.in))
		assert.Equal(t, tc.ok, err == nil, tc.in)
		assert.Equal(t, tc.main, groups.Main(), tc.in)
	}
}

func TestParseCmdline(t *testing.T) {
	assert.Equal(t, []string{"sh", "-c", "", "x y"}, ParseCmdline([]byte("sh\x00-c\x00\x00x y\x00")))
	assert.Equal(t, []string{"nginx: worker"}, ParseCmdline([]byte("nginx: worker   \x00\x00\x00")))
	assert.Empty(t, ParseCmdline(nil))
	assert.Empty(t, ParseCmdline([]byte("\x00\x00")))
}

// TestNumberUsedAgainMeanwhile has another process get a number just after its file was looked for.
func TestNumberUsedAgainMeanwhile(t *testing.T) {
	root := t.TempDir()
	stat := filepath.Join(root, "proc", "5", "stat")
	_, err := New(root).taskBy(func(path string) ([]byte, error) {
		_, err := os.ReadFile(path)
		require.NoError(t, os.MkdirAll(filepath.Dir(stat), 0o755))
		require.NoError(t, os.WriteFile(stat, []byte("5 (x)"+statTail), 0o644))
		return nil, err
	}, 5, 0, "stat")
	assert.ErrorIs(t, err, ErrGone)
}

func TestGoneAndUnsupported(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "proc", "5")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "stat"), []byte("5 (x)"+statTail), 0o644))
	f := New(root)
	assert.False(t, f.Live())
	assert.False(t, f.OwnNumbers())

	_, err := f.Stat(6)
	require.ErrorIs(t, err, ErrGone)
	_, err = f.Threads(6)
	require.ErrorIs(t, err, ErrGone)
	_, err = f.Schedstat(5, 0) // there, but its kernel has no such file
	require.ErrorIs(t, err, fs.ErrNotExist)
	assert.False(t, errors.Is(err, ErrGone))
	assert.ErrorContains(t, err, "proc/5/schedstat")
	_, err = New(filepath.Join(root, "nowhere")).Processes()
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestListing(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"10", "9", "self", "012", "0", "99999999999", "7x", "task"} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, "proc", name), 0o755))
	}
	pids, err := New(root).Processes()
	require.NoError(t, err)
	assert.Equal(t, []kernel.TID{9, 10}, pids)
}

func FuzzParseTaskFiles(f *testing.F) {
	f.Add([]byte(schedFile))
	f.Add([]byte("155821 7 1\n"))
	f.Add([]byte("Tgid:\t1\nUid:\t0\t0\nCpus_allowed_list:\t0-3\n"))
	f.Add([]byte("3:cpuset:/c\n0::/\n"))
	f.Add([]byte("/autogroup-12 nice -3\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = ParseSched(b)
		_, _ = ParseSchedstat(b)
		_, _ = ParseStatus(b)
		if groups, err := ParseCgroup(b); err == nil && len(groups) > 0 {
			assert.NotEmpty(t, groups.Main())
		}
		if _, nice, err := ParseAutogroup(b); err == nil {
			assert.True(t, nice >= -20 && nice <= 19)
		}
		for _, arg := range ParseCmdline(b) {
			assert.NotContains(t, arg, "\x00")
		}
		tids, _ := ParseDir(b, nil, nil)
		for _, tid := range tids {
			assert.Positive(t, tid)
		}
	})
}
