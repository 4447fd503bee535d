package guard

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/procfs"
	"piton/internal/tune"
)

// TestGuardIsReady looks at a guard as others see it.
func TestGuardIsReady(t *testing.T) {
	b := newBench(t)
	g, err := b.arm(b.tuner, b.plan(raised()), time.Hour)
	require.NoError(t, err)
	defer func() { assert.NoError(t, g.Dismiss()); b.ended(g) }()
	fs, pid := procfs.New("/"), kernel.TID(g.PID)
	st, err := fs.Stat(pid)
	require.NoError(t, err)
	assert.Equal(t, processName, string(st.Comm))
	assert.EqualValues(t, g.PID, st.Session, "a session of its own")
	tids, err := fs.Threads(pid)
	require.NoError(t, err)
	assert.Greater(t, len(tids), 1)
	if caps, err := kernel.UsableCapabilities(); err == nil && caps.Has(kernel.CapSysNice) {
		for _, tid := range tids {
			attr, err := kernel.System().Attr(tid)
			require.NoError(t, err)
			assert.Equal(t, kernel.RR, attr.Policy)
			assert.Equal(t, lowestPriority, attr.RTPrio)
		}
	}
	if os.Geteuid() == 0 {
		status, err := fs.File(fmt.Sprint(pid), "status")
		require.NoError(t, err)
		assert.NotContains(t, string(status), "VmLck:\t       0 kB")
	}
}

func TestPriority(t *testing.T) {
	for guarded, want := range map[int]int{0: 90, 1: 90, 80: 90, 90: 91, 98: 99, 99: 99} {
		assert.Equal(t, want, priority(guarded), "guarding %d", guarded)
	}
}

func TestShield(t *testing.T) {
	b := newBench(t)
	policy := tune.PolicySetting{Policy: kernel.FIFO, RTPrio: 95}
	cpus := cpuset.Of(0)
	prio, mask := b.tuner.Shield(b.plan(tune.Settings{Policy: &policy, Affinity: &cpus}))
	assert.Equal(t, 95, prio)
	assert.Equal(t, "0", mask.String())
	prio, mask = b.tuner.Shield(b.plan(raised()))
	assert.Zero(t, prio)
	assert.True(t, mask.Empty())
}

// TestLeaveSession moves a process out of a session in made-up cgroups.
func TestLeaveSession(t *testing.T) {
	me := fmt.Sprint(os.Getpid())
	for _, c := range []struct {
		name, cgroup string
		dirs         []string
		moved, fails bool
	}{
		{"no systemd", "0::/user.slice/session-1.scope\n", nil, false, false},
		{"a session", "0::/user.slice/session-1.scope\n", []string{"run/systemd/system", "sys/fs/cgroup/init.scope"}, true, false},
		{"a session of version 1", "1:name=systemd:/user.slice/session-1.scope\n0::/\n", []string{"run/systemd/system", "sys/fs/cgroup/systemd/init.scope"}, true, false},
		{"no session", "0::/\n", []string{"run/systemd/system", "sys/fs/cgroup/init.scope"}, false, false},
		{"systemd's own", "0::/init.scope\n", []string{"run/systemd/system", "sys/fs/cgroup/init.scope"}, false, false},
		{"no way out", "0::/user.slice/session-1.scope\n", []string{"run/systemd/system"}, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			for _, dir := range append(c.dirs, "proc/"+me) {
				require.NoError(t, os.MkdirAll(filepath.Join(root, dir), 0o755))
			}
			require.NoError(t, os.WriteFile(filepath.Join(root, "proc", me, "cgroup"), []byte(c.cgroup), 0o644))
			err := leaveSession(root)
			assert.Equal(t, c.fails, err != nil, "%v", err)
			found, err := filepath.Glob(root + "/sys/fs/cgroup/*/cgroup.procs")
			require.NoError(t, err)
			deeper, err := filepath.Glob(root + "/sys/fs/cgroup/*/*/cgroup.procs")
			require.NoError(t, err)
			found = append(found, deeper...)
			assert.Equal(t, c.moved, len(found) == 1)
			for _, path := range found {
				text, err := os.ReadFile(path)
				require.NoError(t, err)
				assert.Equal(t, me, string(text))
			}
		})
	}
}

// TestSelf raises this process for a moment.
func TestSelf(t *testing.T) {
	if caps, err := kernel.UsableCapabilities(); err != nil || !caps.Has(kernel.CapSysNice) {
		t.Skip("needs CAP_SYS_NICE to set real-time policies")
	}
	var self Self
	policy := func(pid kernel.TID) kernel.SchedAttr {
		attr, err := kernel.System().Attr(pid)
		require.NoError(t, err)
		return attr
	}
	require.NoError(t, self.Raise())
	up := policy(kernel.TID(os.Getpid()))
	child := newBench(t).child
	require.NoError(t, self.Drop())
	assert.Equal(t, kernel.RR, up.Policy)
	assert.Equal(t, SelfPriority, up.RTPrio)
	assert.Equal(t, kernel.Other, policy(child).Policy, "what it starts is ordinary")
	dropped := policy(kernel.TID(os.Getpid()))
	assert.Equal(t, kernel.Other, dropped.Policy)
	assert.False(t, dropped.ResetOnFork)
	ran, _, err := self.Delay()
	require.NoError(t, err)
	assert.Positive(t, ran)
}

func TestLeaveBudget(t *testing.T) {
	for _, dir := range []string{"cpu", "cpu,cpuacct"} {
		root := t.TempDir()
		assert.False(t, leaveBudget(root), "there are no such cgroups")
		dir = filepath.Join(root, "sys/fs/cgroup", dir)
		require.NoError(t, os.MkdirAll(dir, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "cpu.rt_runtime_us"), []byte("950000\n"), 0o644))
		assert.True(t, leaveBudget(root))
		text, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		require.NoError(t, err)
		assert.Equal(t, fmt.Sprint(os.Getpid()), string(text))
	}
}

func needDeadline(t *testing.T) {
	t.Helper()
	failed := make(chan error)
	go func() { failed <- AboveAll() }() // its thread ends with it
	if err := <-failed; err != nil {
		t.Skip("this process may not be DEADLINE here: ", err)
	}
}

func TestAlarm(t *testing.T) {
	needDeadline(t)
	rang := make(chan uint64, 1)
	a, err := startAlarm(func(e tune.Entry) bool { rang <- e.ID; return false })
	require.NoError(t, err)
	a.set(tune.Entry{ID: 7}, time.Now())
	assert.EqualValues(t, 7, <-rang)
	assert.False(t, a.stop(), "it is too late")

	a, err = startAlarm(func(e tune.Entry) bool { rang <- e.ID; return false })
	require.NoError(t, err)
	a.set(tune.Entry{ID: 8}, time.Now().Add(time.Hour))
	assert.True(t, a.stop())
	a.set(tune.Entry{ID: 9}, time.Now())
	kernel.Sleep(2 * alarmStep)
	assert.Empty(t, rang, "it is off")

	calls := 0
	a, err = startAlarm(func(e tune.Entry) bool { rang <- e.ID; calls++; return calls == 1 })
	require.NoError(t, err)
	a.set(tune.Entry{ID: 10}, time.Now())
	for range 2 {
		assert.EqualValues(t, 10, <-rang, "it tries again when something was left")
	}

	a = nil
	a.set(tune.Entry{ID: 1}, time.Now())
	assert.True(t, a.stop(), "none is always in time")
}

// TestGuardOfTheHighestPriority gives FIFO 99 to a child that sleeps.
func TestGuardOfTheHighestPriority(t *testing.T) {
	needDeadline(t)
	policy := tune.PolicySetting{Policy: kernel.FIFO, RTPrio: 99}
	for _, keep := range []bool{false, true} {
		b := newBench(t)
		after := 300 * time.Millisecond
		if keep {
			after = time.Hour
		}
		_, g, err := b.Apply(t.Context(), b.tuner, b.plan(tune.Settings{Policy: &policy}), after)
		require.NoError(t, err)
		deadline := 0
		tids, err := procfs.New("/").Threads(kernel.TID(g.PID))
		require.NoError(t, err)
		for _, tid := range tids {
			if attr, err := kernel.System().Attr(tid); err == nil && attr.Policy == kernel.Deadline {
				deadline++
			}
		}
		want := kernel.Other
		if keep {
			assert.Equal(t, 1, deadline, "one thread is above all")
			require.NoError(t, g.Keep())
			want = kernel.FIFO
		} else {
			g.Leave()
		}
		b.ended(g)
		attr, err := kernel.System().Attr(b.child)
		require.NoError(t, err)
		assert.Equal(t, want, attr.Policy)
		assert.Equal(t, !keep, b.entry(g.Entry).Undone)
	}
}
