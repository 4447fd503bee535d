package change_test

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/change/changetest"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/kernel/kernelfake"
	"piton/internal/procfs"
)

func TestPlanErrors(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	m.Spawn(10, 11)
	tuner := m.Tuner(bare)
	var usage attr.UsageError
	for _, tid := range []kernel.TID{0, -1} {
		_, err := tuner.Plan(t.Context(), pin(change.ScopeProcess, cpuset.Of(1), tid))
		require.ErrorAs(t, err, &usage)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := tuner.Plan(ctx, pin(change.ScopeProcess, cpuset.Of(1), 10))
	require.ErrorIs(t, err, context.Canceled)
	elsewhere := change.New(change.Options{Sources: attr.Sources{Proc: procfs.New(t.TempDir())}})
	_, err = elsewhere.Plan(t.Context(), pin(change.ScopeProcess, cpuset.Of(1), 10))
	require.ErrorIs(t, err, change.ErrNotLive)
}

// Settings that were made by hand are checked, too.
func TestSettingsAreChecked(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	policy := func(p attr.PolicyValue) []attr.Setting { return []attr.Setting{attr.SetPolicy(p)} }
	ioprio := func(p kernel.IOPrio) []attr.Setting { return []attr.Setting{attr.SetIOPrio(p)} }
	for name, set := range map[string][]attr.Setting{
		"nothing":         {},
		"nice":            {attr.SetNice(20)},
		"no CPUs":         {attr.SetAffinity(cpuset.Set{})},
		"no value":        {{Attribute: attr.Nice}},
		"a file's":        {{Attribute: attr.IRQAffinity, Value: cpuset.Of(1)}},
		"unknown":         {{Attribute: "novel", Value: attr.Opaque("1")}},
		"FIFO without":    policy(attr.PolicyValue{Policy: kernel.FIFO}),
		"FIFO too high":   policy(attr.PolicyValue{Policy: kernel.FIFO, RTPrio: 100}),
		"DEADLINE":        policy(attr.PolicyValue{Policy: kernel.Deadline}),
		"I/O level":       ioprio(kernel.IOPrio{Class: kernel.IOBestEffort, Level: 8}),
		"I/O below level": ioprio(kernel.IOPrio{Class: kernel.IORealTime, Level: -1}),
	} {
		_, err := m.Tuner(bare).Plan(t.Context(), changetest.Set(set, 10))
		var usage attr.UsageError
		require.ErrorAs(t, err, &usage, name)
	}
}

// bornWhileCarried carries out a policy for process 10, and has threads born before the
// first look for such.
func bornWhileCarried(t *testing.T, m *changetest.Machine, p attr.PolicyValue, born func()) {
	t.Helper()
	tuner := m.Tuner(bare)
	want := plan(t, tuner, changetest.One(attr.SetPolicy(p), 10))
	m.OnList = func(kernel.TID) {
		if born != nil {
			born()
			born = nil
		}
	}
	applyPlan(t, tuner, want)
}

func policyOf(t *testing.T, m *changetest.Machine, tid kernel.TID) string {
	t.Helper()
	v, err := m.Tuner(bare).Value(attr.Policy, tid)
	require.NoError(t, err)
	return v.String()
}

// A bare priority is for threads that are real-time; ordinary ones are refused it.
func TestNewbornGetsWhatIsAskedOfItsKind(t *testing.T) {
	m := changetest.New(t)
	all := cpuset.Of(0, 1, 2, 3)
	m.SpawnAs(10, 10, kernelfake.Task{Affinity: all, Attr: kernel.SchedAttr{Policy: kernel.FIFO, RTPrio: 5}})
	bornWhileCarried(t, m, attr.PolicyValue{Keep: true, RTPrio: 20}, func() {
		m.Spawn(10, 11)
		m.SpawnAs(10, 12, kernelfake.Task{Affinity: all, Attr: kernel.SchedAttr{Policy: kernel.RR, RTPrio: 5}})
	})
	assert.Equal(t, []string{"FIFO:20", "OTHER", "RR:20"}, []string{policyOf(t, m, 10), policyOf(t, m, 11), policyOf(t, m, 12)})
}

// A child that the kernel made ordinary, because that was asked for, stays so.
func TestResetOnForkHoldsForNewborns(t *testing.T) {
	m := changetest.New(t)
	m.Write("proc/uptime", "20.00 1.00\n")
	m.Spawn(10, 10) // started at tick 1010
	bornWhileCarried(t, m, attr.PolicyValue{Policy: kernel.FIFO, RTPrio: 10, ResetOnFork: true}, func() {
		m.Spawn(10, 11) // by a thread that had not been changed yet
		m.SpawnAs(10, 12, kernelfake.Task{Affinity: cpuset.Of(0), Start: 2001})
	})
	assert.Equal(t, []string{"FIFO:10,reset-on-fork", "OTHER"}, []string{policyOf(t, m, 11), policyOf(t, m, 12)})
}

func TestSignal(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	m.Spawn(10, 11)
	tuner := m.Tuner(bare)
	require.NoError(t, tuner.Signal(change.Target{TID: 11, StartTicks: 1011}, syscall.SIGTERM))
	assert.Equal(t, []string{"Signal(10, terminated)"}, m.Calls(), "the process, whichever thread was named")

	require.ErrorIs(t, tuner.Signal(change.Target{TID: 10, StartTicks: 5}, syscall.SIGTERM), attr.ErrGone)
	require.ErrorIs(t, tuner.Signal(change.Target{TID: 99}, syscall.SIGTERM), attr.ErrGone)
	var usage attr.UsageError
	require.ErrorAs(t, tuner.Signal(change.Target{TID: -1}, syscall.SIGTERM), &usage, "-1 would be everybody")
	assert.Len(t, m.Calls(), 1)
}

// The controller stays on while another group has a cpuset by it.
func TestTransientGroupLeavesOthersTheirs(t *testing.T) {
	for name, tt := range map[string]struct {
		file, text, want string
	}{
		"nobody":    {"cpuset.cpus", "\n", "-cpuset"},
		"cpus":      {"cpuset.cpus", "4-7\n", ""},
		"nodes":     {"cpuset.mems", "0\n", ""},
		"no cpuset": {"cgroup.procs", "12\n", "-cpuset"},
	} {
		t.Run(name, func(t *testing.T) {
			parent := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(parent, "cgroup.subtree_control"), nil, 0o600))
			ours, other := filepath.Join(parent, "piton-run-1"), filepath.Join(parent, "piton-run-2")
			require.NoError(t, os.Mkdir(ours, 0o755))
			require.NoError(t, os.Mkdir(other, 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(other, tt.file), []byte(tt.text), 0o600))
			require.NoError(t, change.TransientGroup{Dir: ours, Enabled: parent}.Remove())
			got, err := os.ReadFile(filepath.Join(parent, "cgroup.subtree_control"))
			require.NoError(t, err)
			assert.Equal(t, tt.want, string(got))
		})
	}
}
