package sample

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/topology/topologytest"
)

// One odd line takes nothing else with it: every other figure is as it was, and what the
// line told is unknown, never another value.
func TestAnOddLineIsLostAlone(t *testing.T) {
	h := newTree(t)
	row := func(n int) string {
		return fmt.Sprintf("cpu%d %d 21 31 801 51 11 11 41 61 11", n, 101+n)
	}
	h.cpus("cpu  203 42 62 1602 102 22 22 82 122 22", row(0), row(1), "intr 5 0 0", "btime 1700000000")
	for _, name := range []string{"cpu", "io", "memory"} {
		h.write("proc/pressure/"+name, "some avg10=4.10 avg60=0.00 avg300=0.00 total=9\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n")
	}
	for i, pid := range []int{5, 6} {
		h.task(stub{pid: pid, comm: "five", start: 11 + i, cpu: 1, user: 30, uid: 1000, run: 900, delay: 8, slices: 7, moves: 3, vol: 4, invol: 5})
		h.write(fmt.Sprintf("proc/%d/comm", pid), "five\n")
		h.write(fmt.Sprintf("proc/%d/statm", pid), "2500 500 100 1 0 200 0\n")
		h.write(fmt.Sprintf("proc/%d/io", pid), "rchar: 11\nwchar: 12\nsyscr: 13\nsyscw: 14\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 0\n")
		h.write(fmt.Sprintf("proc/%d/oom_score", pid), "667\n")
		h.write(fmt.Sprintf("proc/%d/wchan", pid), "do_wait")
	}
	needs := Needs{All: true, Identity: true, Affinity: true, Migrations: true, Switches: true, Delay: true, PSI: true, Memory: true,
		IO: true, OOM: true, Wait: true, BothUsers: true,
		Watch: []kernel.TID{5, 6}}
	base := figures(h.read(h.sampler(needs)))
	require.Greater(t, len(base), 50)
	// The figures that a line tells, by the beginning of their names; all of a task's files
	// tell of the task.
	about := func(path, line string) (prefixes []string) {
		key := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == ':' })[0]
		switch {
		case strings.HasPrefix(path, "proc/5/"):
			return []string{"task 5 "}
		case path != "proc/stat" && path != "proc/meminfo":
			return []string{filepath.Base(path) + " "}
		}
		return map[string][]string{"cpu0": {"cpu 0 "}, "cpu1": {"cpu 1 "}, "ctxt": {"switches"}, "processes": {"forks"}, "btime": {"boot"},
			"MemTotal": {"mem"}, "MemAvailable": {"mem used"}, "SwapTotal": {"swap"}, "SwapFree": {"swap used"}}[key]
	}
	for _, path := range []string{"proc/stat", "proc/meminfo", "proc/loadavg", "proc/uptime", "proc/pressure/cpu", "proc/pressure/io", "proc/pressure/memory",
		"proc/5/stat", "proc/5/status", "proc/5/schedstat", "proc/5/sched", "proc/5/cgroup", "proc/5/statm", "proc/5/io", "proc/5/oom_score"} {
		whole, err := os.ReadFile(filepath.Join(h.root, path))
		require.NoError(t, err)
		for i, line := range strings.SplitAfter(strings.TrimSuffix(string(whole), "\n"), "\n") {
			for how, change := range topologytest.Odd {
				lines := strings.SplitAfter(string(whole), "\n")
				lines[i] = change(strings.TrimSuffix(line, "\n"))
				h.write(path, strings.Join(lines, ""))
				got := figures(h.read(h.sampler(needs)))
				for name, was := range base {
					now, known := got[name]
					told := slices.ContainsFunc(about(path, line), func(p string) bool { return strings.HasPrefix(name, p) })
					if known || !told {
						assert.Equal(t, was, now, "%s of %s: %s, line %q", name, path, how, line)
					}
				}
			}
		}
		h.write(path, string(whole))
	}
	assert.Equal(t, base, figures(h.read(h.sampler(needs))))
}

// TestAnOddLineOfAMachineIsLostAlone does the same with what other people's machines have of
// /proc. In /proc/stat a row is of its CPU, and each other line tells one figure.
func TestAnOddLineOfAMachineIsLostAlone(t *testing.T) {
	mutations, step := 0, 1 // 33,000 readings take 20 s of CPU, and the trees some
	if testing.Short() {
		step = 41
	}
	for i, archive := range topologytest.Archives(t) {
		if testing.Short() && i%3 != 0 {
			continue
		}
		h := tree{t, topologytest.Extract(t, archive)}
		if _, err := os.Stat(filepath.Join(h.root, "proc/stat")); err != nil {
			continue // the archive has no /proc
		}
		read := func() map[string]any {
			s, err := New(Options{Root: h.root})
			require.NoError(t, err)
			n, err := s.Read()
			require.NoError(t, s.Close())
			if err != nil {
				return nil
			}
			return figures(n)
		}
		base := read()
		require.NotEmpty(t, base, archive)
		for _, path := range files(t, h.root) {
			whole, err := os.ReadFile(filepath.Join(h.root, path))
			require.NoError(t, err)
			for i, line := range strings.SplitAfter(strings.TrimSuffix(string(whole), "\n"), "\n") {
				if len(strings.TrimSpace(line)) < 2 {
					continue
				}
				about := map[string][]string{"ctxt": {"switches"}, "processes": {"forks"}, "btime": {"boot"}, "MemTotal:": {"mem"}, "MemAvailable:": {"mem used"},
					"MemFree:": {"mem used"}, "Buffers:": {"mem used"}, "Cached:": {"mem used"}, "SReclaimable:": {"mem used"}, "Shmem:": {"mem used"},
					"SwapTotal:": {"swap"}, "SwapFree:": {"swap used"}}[strings.Fields(line)[0]]
				if cpu, ok := strings.CutPrefix(strings.Fields(line)[0], "cpu"); ok && path == "proc/stat" {
					about = []string{"cpu " + cpu + " "}
				}
				for _, how := range slices.Sorted(maps.Keys(topologytest.Odd)) {
					if mutations++; mutations%step != 0 {
						continue
					}
					lines := strings.SplitAfter(string(whole), "\n")
					lines[i] = topologytest.Odd[how](strings.TrimSuffix(line, "\n"))
					h.write(path, strings.Join(lines, ""))
					got := read()
					for name, was := range base {
						now, known := got[name]
						if told := slices.ContainsFunc(about, func(p string) bool { return strings.HasPrefix(name, p) }); known || !told {
							assert.Equal(t, was, now, "%s of %s in %s: %s, line %q", name, path, filepath.Base(archive), how, line)
						}
					}
				}
			}
			h.write(path, string(whole))
		}
	}
	t.Logf("%d mutations", mutations)
}

// files are those of /proc below root but for the device tree, which is bytes.
func files(t *testing.T, root string) (paths []string) {
	require.NoError(t, filepath.WalkDir(filepath.Join(root, "proc"), func(path string, d fs.DirEntry, err error) error {
		if d.Name() == "device-tree" {
			return fs.SkipDir
		}
		if d.Type().IsRegular() {
			paths = append(paths, strings.TrimPrefix(path, root+"/"))
		}
		return err
	}))
	return paths
}

// figures are those of a sample that are known, by name.
func figures(n *Sample) map[string]any {
	out := map[string]any{}
	put := func(known bool, name string, v any) {
		if known {
			out[name] = v
		}
	}
	host := n.Host
	put(host.Uptime > 0, "uptime ", host.Uptime)
	put(!host.Boot.IsZero(), "boot", host.Boot)
	put(host.HaveLoad, "loadavg ", []float64{host.Load1, host.Load5, host.Load15})
	put(host.MemTotalBytes > 0, "mem", host.MemTotalBytes)
	put(host.HaveMemUsed, "mem used", host.MemUsedBytes)
	put(host.HaveSwap, "swap", host.SwapTotalBytes)
	put(host.HaveSwapUsed, "swap used", host.SwapUsedBytes)
	put(host.Forks > 0, "forks", host.Forks)
	put(host.Switches > 0, "switches", host.Switches)
	put(host.PSI.CPU == host.PSI.CPU, "cpu psi", host.PSI.CPU)
	put(host.PSI.IO == host.PSI.IO, "io psi", host.PSI.IO)
	put(host.PSI.Memory == host.PSI.Memory, "memory psi", host.PSI.Memory)
	for _, c := range n.CPUs {
		put(!c.NoTimes, fmt.Sprintf("cpu %d times", c.ID), c)
	}
	for _, t := range n.Tasks {
		id := t.ID
		for name, f := range map[string]struct {
			known bool
			v     any
		}{
			"comm": {id.Comm != "", id.Comm}, "user": {id.User != "", id.User}, "cmdline": {true, id.Cmdline}, "cgroup": {id.Cgroup != "", id.Cgroup},
			"start": {!t.Odd, t.StartTicks}, "cpu": {t.LastCPU >= 0, t.LastCPU}, "user time": {!t.Odd, t.UserTicks}, "rss": {t.RSSPages >= 0, t.RSSPages},
			"faults": {!t.Odd, t.MinorFaults}, "priority": {!t.Odd, t.Priority}, "threads": {!t.Odd, t.Threads},
			"run": {t.Have&HaveTime != 0, t.RunNs}, "delay": {t.Have&HaveRun != 0, t.RunDelayNs}, "slices": {t.Have&HaveRun != 0, t.Slices},
			"mask":       {t.Have&HaveAffinity != 0, t.Affinity.String()},
			"migrations": {t.Have&HaveMigrations != 0 && t.MigrationSource.Exact(), t.Migrations},
			"voluntary":  {t.Have&HaveSwitches != 0, t.VoluntarySwitches}, "involuntary": {t.Have&HaveSwitches != 0, t.InvoluntarySwitches},
		} {
			put(f.known, fmt.Sprintf("task %d %s", t.TID, name), f.v)
		}
		if t.Extra == nil {
			continue
		}
		for name, f := range map[string]struct {
			known Have
			v     any
		}{
			"virtual": {HaveMemory, t.Extra.VirtPages}, "shared": {HaveMemory, t.Extra.SharePages}, "read": {HaveIO, t.Extra.ReadBytes},
			"written": {HaveIO, t.Extra.WriteBytes}, "oom": {HaveOOM, t.Extra.OOMScore}, "wait": {HaveWait, t.Extra.WaitChannel},
		} {
			put(t.Extra.Have&f.known != 0, fmt.Sprintf("task %d %s", t.TID, name), f.v)
		}
	}
	return out
}

// lxcfs numbers the rows of /proc/stat from 0; all else has the machine's numbers.
func TestMadeUpRowsOfCPUs(t *testing.T) {
	h := newTree(t)
	row := func(n int) string { return fmt.Sprintf("cpu%d %d 0 0 80 0 0 0 4", n, 10*(n+1)) }
	sampled := func(online, allowed string, rows ...string) (map[cpuset.CPU]uint64, error) {
		h.write("sys/devices/system/cpu/online", online+"\n")
		h.remove("proc/1")
		if allowed != "" {
			h.task(stub{pid: 1, comm: "init", start: 1, mask: allowed})
		}
		h.cpus(rows...)
		n := h.read(h.sampler(Needs{}))
		times := map[cpuset.CPU]uint64{}
		for _, c := range n.CPUs {
			if !c.NoTimes {
				times[c.ID] = c.UserTicks
			}
		}
		return times, n.Collectors[0].Err
	}
	four := []string{row(0), row(1), row(2), row(3)}
	for _, tc := range []struct {
		online, allowed string
		want            []cpuset.CPU
	}{
		{"8-9,24-25", "8-9,24-25", []cpuset.CPU{8, 9, 24, 25}},
		{"0-3", "0-3", []cpuset.CPU{0, 1, 2, 3}},
		{"0-31", "0-3", []cpuset.CPU{0, 1, 2, 3}}, // rows of offline CPUs are not there
		{"0-1", "0-3", []cpuset.CPU{0, 1, 2, 3}},
		{"8-9,24-25", "8-9", nil},
		{"8-9,24-25", "", nil},
	} {
		times, err := sampled(tc.online, tc.allowed, four...)
		assert.ElementsMatch(t, tc.want, slices.Collect(maps.Keys(times)), tc.online+" "+tc.allowed)
		if tc.want == nil {
			assert.ErrorContains(t, err, "/proc/stat is made up", tc.online)
			continue
		}
		require.NoError(t, err)
		for i, id := range tc.want {
			assert.Equal(t, uint64(10*(i+1)), times[id])
		}
	}
	// What is mounted over it says so even where the numbers would fit.
	mounts := "901 900 0:55 /proc/stat " + filepath.Join(h.root, "proc/stat") + " rw - fuse.lxcfs lxcfs rw\n"
	h.write("proc/self/mountinfo", mounts)
	times, err := sampled("0-31", "8-9,24-25", four...)
	require.NoError(t, err)
	assert.Equal(t, map[cpuset.CPU]uint64{8: 10, 9: 20, 24: 30, 25: 40}, times)
	assert.Contains(t, h.read(h.sampler(Needs{})).Collectors[0].Rung, "CPUs of PID 1")
	times, err = sampled("0-31", "0-31", four...)
	assert.ErrorContains(t, err, "it has CPUs 0-3, of which online are 0-31 and usable 0-31")
	assert.Empty(t, times)
	// lxcfs 5.0.3 as it is without --enable-cfs: the CPUs of the cpuset, with their numbers.
	times, err = sampled("0-31", "8-9", row(8), row(9))
	require.NoError(t, err)
	assert.Equal(t, map[cpuset.CPU]uint64{8: 90, 9: 100}, times)
	assert.Contains(t, h.read(h.sampler(Needs{})).Collectors[0].Rung, "of this container alone")
	// With it, a limit of one CPU, and its cpu/online: the row is about all CPUs.
	times, err = sampled("0", "0-1", row(0))
	assert.ErrorContains(t, err, "it has CPUs 0, of which online are 0 and usable 0-1")
	assert.Empty(t, times)
	_, err = sampled("0-1", "0", row(0), row(1))
	assert.NoError(t, err, "PID 1 is pinned")
}
