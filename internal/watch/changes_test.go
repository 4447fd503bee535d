package watch

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/bpf/bpftest"
	"piton/internal/change/attr"
	"piton/internal/change/changetest"
	"piton/internal/cpuset"
	"piton/internal/feature"
	"piton/internal/kernel"
	"piton/internal/kernel/kerneltest"
	"piton/internal/procfs"
)

// openChanges opens, or skips with the reason.
func openChanges(t *testing.T, targets Targets) *Changes {
	t.Helper()
	c, err := OpenChanges(procfs.New("/"), targets)
	if errors.Is(err, feature.ErrNotSupported) {
		t.Skip(err)
	}
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// sleeper is a process that does nothing.
func sleeper(t *testing.T) kernel.TID {
	cmd := exec.Command("sleep", "1000")
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return kernel.TID(cmd.Process.Pid)
}

// seen is what a test compares of a setting.
type seen struct {
	By, Of    string
	Own       bool
	Attribute attr.Attribute
	Words     string
}

func setsOf(t *testing.T, c *Changes) (out []seen) {
	t.Helper()
	s, err := c.Read()
	require.NoError(t, err)
	require.Zero(t, s.Lost)
	for _, one := range s.List {
		assert.WithinDuration(t, time.Now(), time.Now().Add(one.At-kernel.Monotonic()), bpftest.Patience)
		out = append(out, seen{one.By.Comm, one.Target(), one.By.Own, one.Attribute, one.Words()})
	}
	return out
}

// TestChangesOfTasks makes each kind of change of a task.
func TestChangesOfTasks(t *testing.T) {
	pid, other := sleeper(t), sleeper(t)
	c := openChanges(t, Targets{IDs: []kernel.TID{pid}})
	task := kerneltest.Of(t, pid, pid)
	all, err := kernel.System().Affinity(pid)
	require.NoError(t, err)
	first, none := cpuset.Of(all.First()), cpuset.CPU(1000)
	comm, err := os.ReadFile("/proc/thread-self/comm")
	require.NoError(t, err)
	self := string(comm[:len(comm)-1])
	name := fmt.Sprintf("sleep %d", pid)

	require.NoError(t, kerneltest.Of(t, other, other).SetNice(3)) // of no target
	require.NoError(t, task.SetAffinity(first))
	require.NoError(t, task.SetAffinity(first))
	if !all.Has(none) {
		require.ErrorIs(t, task.SetAffinity(cpuset.Of(none)), syscall.EINVAL)
	}
	require.NoError(t, task.SetNice(4))
	require.NoError(t, task.SetPolicy(kernel.Batch, 0, false))
	require.NoError(t, task.SetAttr(kernel.SchedAttr{Policy: kernel.Other, Nice: 6}))
	require.NoError(t, task.SetIOPrio(kernel.IOPrio{Class: kernel.IOBestEffort, Level: 7}))
	want := []seen{
		{self, name, true, attr.Affinity, all.String() + " → " + first.String()},
		{self, name, true, attr.Affinity, first.String() + " → " + first.String()},
		{self, name, true, attr.Affinity, first.String() + " → 1000: EINVAL"},
		{self, name, true, attr.Nice, "0 → 4"},
		{self, name, true, attr.Policy, "OTHER → BATCH"},
		{self, name, true, attr.Nice, "4 → 6"},
		{self, name, true, attr.Policy, "BATCH → OTHER"},
		{self, name, true, attr.IOPrio, "none → best-effort:7"},
	}
	assert.Equal(t, want, setsOf(t, c))
}

// TestChangesOfGroups makes each kind of change of a control group, by a program of others.
func TestChangesOfGroups(t *testing.T) {
	all, err := kernel.System().Affinity(0)
	require.NoError(t, err)
	first := cpuset.Of(all.First()).String()
	for controller, steps := range map[string][]struct {
		file, text string
		attr.Attribute
		words string
	}{
		"cpu": { // of version 1, and of version 2
			{"cpu.shares", "2048", attr.Weight, "100 → 200"},
			{"cpu.cfs_quota_us", "20000", attr.Quota, "none period 100ms → 20% period 100ms"},
			{"cpu.cfs_burst_us", "5000", attr.Quota, "20% period 100ms → 20% period 100ms burst 5ms"},
			{"cpu.weight", "200", attr.Weight, "100 → 200"},
			{"cpu.weight.nice", "-1", attr.Weight, "200 → 125"},
			{"cpu.weight", "20000", attr.Weight, "125 → 20000: ERANGE"},
			{"cpu.max", "20000 50000", attr.Quota, "none period 100ms → 40% period 50ms"},
			{"cpu.max.burst", "5000", attr.Quota, "40% period 50ms → 40% period 50ms burst 5ms"},
			{"cpu.idle", "1", attr.Weight, "* → idle"},
			{"cpu.idle", "2", attr.Weight, "idle → 2: EINVAL"},
		},
		"cpuset": {
			{"cpuset.cpus", first, Cpuset, "* → " + first},
			{"cpuset.cpus", "x", Cpuset, first + " → x: EINVAL"},
		},
	} {
		t.Run(controller, func(t *testing.T) {
			pid := sleeper(t)
			c := openChanges(t, Targets{IDs: []kernel.TID{pid}})
			dir := changetest.RealGroup(t, pid, controller)
			group := "cgroup /" + filepath.Base(dir)
			moved := setsOf(t, c)
			require.NotEmpty(t, moved)
			last := moved[len(moved)-1]
			assert.Equal(t, fmt.Sprintf("sleep %d", pid), last.Of)
			assert.Equal(t, Cgroup, last.Attribute)
			assert.Equal(t, "/ → /"+filepath.Base(dir), last.Words)
			for _, s := range steps {
				file := filepath.Join(dir, s.file)
				if _, err := os.Stat(file); err != nil {
					t.Log(err) // it is of the other version, or of a newer kernel
					continue
				}
				_ = exec.Command("sh", "-c", `printf %s "$1" > "$0"`, file, s.text).Run()
				set := setsOf(t, c)
				require.Len(t, set, 1, s.file)
				if before, ok := strings.CutPrefix(s.words, "*"); ok {
					assert.Regexp(t, before+"$", set[0].Words)
					s.words = set[0].Words
				}
				assert.Equal(t, seen{"sh", group, false, s.Attribute, s.words}, set[0], s.file)
			}
		})
	}
}
