package cli

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cli/exit"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/procfs"
)

// The tests of this file isolate CPUs of the many-CPU machine of make guests.

// needSmallVM skips on machines that would take minutes: emulated CPUs take turns,
// and each brings kernel threads.
func needSmallVM(t *testing.T) vmShape {
	t.Helper()
	s := needVM(t)
	if s.cpus > 16 {
		t.Skipf("%d emulated CPUs are too slow for it", s.cpus)
	}
	return s
}

// everyMask is every mask of the machine to the bit: of threads by number and
// start, but kernel workers, which come and go, and threads of interrupt handlers,
// which the kernel sends after their lines; and of files by path.
func everyMask(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	proc := procfs.New("/")
	pids, err := proc.Processes()
	require.NoError(t, err)
	for _, pid := range pids {
		tids, _ := proc.Threads(pid)
		for _, tid := range tids {
			st, err := proc.ThreadStat(pid, tid)
			if err != nil || st.State == 'Z' || strings.HasPrefix(string(st.Comm), "kworker/") || strings.HasPrefix(string(st.Comm), "irq/") {
				continue
			}
			status, err := proc.File(fmt.Sprint(pid), "task", fmt.Sprint(tid), "status")
			if err != nil {
				continue
			}
			_, rest, _ := strings.Cut(string(status), "Cpus_allowed:\t")
			mask, _, _ := strings.Cut(rest, "\n")
			all[fmt.Sprintf("%d@%d %s", tid, st.StartTicks, st.Comm)] = mask
		}
	}
	for _, pattern := range []string{
		"/proc/irq/*/smp_affinity", "/proc/irq/default_smp_affinity", "/sys/class/net/*/queues/rx-*/rps_cpus",
		"/sys/devices/virtual/workqueue/cpumask", "/sys/devices/virtual/workqueue/*/cpumask",
	} {
		paths, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, path := range paths {
			if text, err := os.ReadFile(path); err == nil {
				all[path] = strings.TrimSpace(string(text))
			}
		}
	}
	return all
}

// unlike are the masks that were there before and are not what they were.
func unlike(before, after map[string]string) []string {
	var out []string
	for _, what := range slices.Sorted(maps.Keys(before)) {
		if mask, there := after[what]; there && mask != before[what] {
			out = append(out, fmt.Sprintf("%s: %s, was %s", what, mask, before[what]))
		}
	}
	return out
}

// affinityHas reports whether a task may run on all of the CPUs.
func affinityHas(t *testing.T, pid kernel.TID, cpus cpuset.Set) bool {
	t.Helper()
	mask, err := sched.Affinity(pid)
	require.NoError(t, err)
	return cpus.SubsetOf(mask)
}

// crowd starts n processes, gives most of them masks of their own and some
// interrupt lines too, always the same ones.
func crowd(t *testing.T, n, cpus int) []kernel.TID {
	t.Helper()
	script := fmt.Sprintf("i=0; while [ $i -lt %d ]; do sleep 600 & i=$((i+1)); done; wait", n)
	cmd := exec.Command("sh", "-c", script)
	require.NoError(t, cmd.Start())
	var pids []kernel.TID
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		for _, pid := range pids {
			_ = killOne(pid)
		}
	})
	children := fmt.Sprintf("/proc/%d/task/%d/children", cmd.Process.Pid, cmd.Process.Pid)
	eventually(t, "the crowd is there", func() bool {
		text, err := os.ReadFile(children)
		return err == nil && len(strings.Fields(string(text))) == n
	})
	text, err := os.ReadFile(children)
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(1, 2))
	some := func() cpuset.Set {
		var b cpuset.Builder
		for range 1 + r.IntN(4) {
			b.Add(cpuset.CPU(r.IntN(cpus)))
		}
		return b.Set()
	}
	for i, word := range strings.Fields(string(text)) {
		pid, err := strconv.Atoi(word)
		require.NoError(t, err)
		pids = append(pids, kernel.TID(pid))
		if i%3 > 0 {
			require.NoError(t, sched.SetAffinity(kernel.TID(pid), some()))
		}
	}
	lines, err := filepath.Glob("/proc/irq/*/smp_affinity_list")
	require.NoError(t, err)
	for i, path := range lines {
		if i%2 == 0 { // some refuse
			_ = os.WriteFile(path, []byte(some().String()), 0)
		}
	}
	require.NoError(t, os.WriteFile("/sys/devices/virtual/workqueue/writeback/cpumask", []byte(some().Mask()), 0))
	return pids
}

func killOne(pid kernel.TID) error {
	p, err := os.FindProcess(int(pid))
	if err != nil {
		return err
	}
	return p.Kill()
}

// onCPUs are the threads that may run on the CPUs though the kernel would move
// them.
func onCPUs(t *testing.T, cpus cpuset.Set, except map[int]bool) []string {
	t.Helper()
	var out []string
	proc := procfs.New("/")
	pids, err := proc.Processes()
	require.NoError(t, err)
	for _, pid := range pids {
		tids, _ := proc.Threads(pid)
		for _, tid := range tids {
			st, err := proc.ThreadStat(pid, tid)
			if err != nil || st.Flags&0x04000000 != 0 || except[int(tid)] { // PF_NO_SETAFFINITY
				continue
			}
			if mask, err := sched.Affinity(tid); err == nil && !mask.And(cpus).Empty() {
				out = append(out, fmt.Sprintf("%d %s: %s", tid, st.Comm, mask))
			}
		}
	}
	return out
}

// lastNode are the CPUs of the machine's last node.
func (s vmShape) lastNode() cpuset.Set { return block(s.cpus-1, s.perNode()) }

// TestVMIsolateNode isolates a node on a machine of many tasks and interrupts, and
// takes it back in three ways.
func TestVMIsolateNode(t *testing.T) {
	s := needSmallVM(t)
	crowd(t, 60, s.cpus)
	h := newHome(t)
	node := fmt.Sprintf("node:%d", s.nodes-1)
	cpus := s.lastNode()
	before := everyMask(t)
	// It forks all the time, so that tasks are born while others are moved off.
	storm := child(t, "sh", "-c", "ulimit -t 60; while :; do sleep 0.02; done")

	r := h.run("isolate", node, "--yes", "-o", "json")
	require.Zero(t, r.code, r.err)
	lines := jsonLines(t, r.out)
	summary := ofType(lines, "summary")[0]
	t.Logf("%v of %d masks were moved", summary["done"], len(before))
	assert.EqualValues(t, 0, summary["failed"])
	stay := ofType(lines, "unmovable")
	except := map[int]bool{}
	names := map[string]bool{}
	for _, u := range stay {
		assert.NotEmpty(t, u["why"])
		names[fmt.Sprint(u["name"])] = true
		if tid, ok := u["tid"].(float64); ok {
			except[int(tid)] = true
		}
	}
	assert.True(t, names[fmt.Sprintf("ksoftirqd/%d", s.cpus-1)], "it is told what stays")
	assert.Empty(t, onCPUs(t, cpus, except))
	set, err := cpuset.ParseMask(everyMask(t)["/sys/devices/virtual/workqueue/cpumask"])
	require.NoError(t, err)
	assert.True(t, set.And(cpus).Empty())
	require.NotEmpty(t, unlike(before, everyMask(t)))
	require.NoError(t, killOne(storm))
	born := sleeper(t)
	require.False(t, affinityHas(t, born, cpus), "it has what its parent has")

	require.Zero(t, h.run("undo").code)
	assert.True(t, affinityHas(t, born, cpus), "and gets what its parent gets")
	assert.Empty(t, unlike(before, everyMask(t)), "undo")

	for _, parts := range [][]string{{node}, {fmt.Sprint(cpus.First()), node}} {
		require.Zero(t, h.run("isolate", node, "--yes").code)
		born := sleeper(t)
		for _, part := range parts {
			r := h.run("include", part, "-o", "json")
			require.Zero(t, r.code, "%s: %s", part, r.err)
		}
		assert.Empty(t, unlike(before, everyMask(t)), "include %v", parts)
		assert.True(t, affinityHas(t, born, cpus), "include %v", parts)
	}
	r = h.run("include", node)
	assert.Equal(t, exit.Failed, r.code)
	assert.Contains(t, r.err, "not isolated")
}

// TestVMIsolateHighCPUs isolates CPUs that do not fit one word.
func TestVMIsolateHighCPUs(t *testing.T) {
	s := needVM(t)
	if s.cpus <= 64 {
		t.Skipf("%d CPUs fit one word", s.cpus)
	}
	h, pid, pinned := newHome(t), sleeper(t), sleeper(t)
	require.NoError(t, sched.SetAffinity(pinned, cpuset.Of(65)))
	before := everyMask(t)
	cpus := fmt.Sprintf("63-%d", s.cpus-1)
	require.Zero(t, h.run("isolate", cpus, "--yes").code)
	assert.Equal(t, "0-62", affinityOf(t, pid))
	assert.Equal(t, "0-62", affinityOf(t, pinned))
	require.Zero(t, h.run("include", cpus).code)
	assert.Equal(t, "65", affinityOf(t, pinned))
	assert.Empty(t, unlike(before, everyMask(t)))
}

// TestVMIsolateRefuses: every CPU, and CPUs that are not there.
func TestVMIsolateRefuses(t *testing.T) {
	s := needSmallVM(t)
	h := newHome(t)
	for _, tt := range []struct {
		cpus, want string
		code       int
	}{
		{fmt.Sprintf("0-%d", s.cpus-1), "would leave no CPU", exit.Failed},
		{fmt.Sprint(s.cpus), "this machine has no CPU", exit.Failed},
		{"online", "would leave no CPU", exit.Failed},
	} {
		r := h.run("isolate", tt.cpus, "--yes")
		assert.Equal(t, tt.code, r.code, tt.cpus)
		assert.Contains(t, r.err, tt.want)
		assert.Empty(t, r.out)
	}
	r := h.run("isolate", "0")
	assert.Equal(t, exit.Failed, r.code)
	assert.Contains(t, r.err, "--yes does it anyway")
	assert.Empty(t, h.run("journal", "-o", "json").out, "nothing is journalled")
}
