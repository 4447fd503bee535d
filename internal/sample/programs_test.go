package sample

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"piton/internal/bpf/bpftest"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/kernel/kerneltest"
)

// Wherever eBPF cannot run, /proc takes its place by itself, and the sample
// says what would help.
func TestFallsBackToProc(t *testing.T) {
	kerneltest.NeedRoot(t, "to take rights away")
	exactSampler(t, Needs{})
	nobody := &syscall.Credential{Uid: 65534, Gid: 65534}
	with := func(caps ...uintptr) *syscall.SysProcAttr {
		return &syscall.SysProcAttr{Credential: nobody, AmbientCaps: caps}
	}
	program := bpftest.PublicCopy(t)
	for _, tc := range []struct {
		name, right string
		attr        *syscall.SysProcAttr
		better      string // "" the best is in use
		moves       string
	}{
		{"root", "", nil, "", "ebpf"},
		{"both capabilities", "", with(unix.CAP_BPF, unix.CAP_PERFMON), "", "ebpf"},
		{"nobody", "", with(), "CAP_BPF and CAP_PERFMON", "sampled"},
		{"CAP_BPF alone", "", with(unix.CAP_BPF), "CAP_PERFMON", "sampled"},
		{"CAP_PERFMON alone", "", with(unix.CAP_PERFMON), "CAP_BPF", "perf"},
		{"seccomp", "bpf(2)", nil, "seccomp filter refuses bpf(2)", "perf"},
		{"no BTF", "btf", &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}, "/sys/kernel/btf/vmlinux", "perf"},
		{"PID namespace", "proc", &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS}, "PID namespace", "perf"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cmd := bpftest.Command("sample", cmp.Or(tc.right, "none"))
			cmd.Path, cmd.SysProcAttr = program, tc.attr
			out, err := cmd.Output()
			if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOSPC) {
				t.Skipf("such a process cannot be made here: %v", err)
			}
			require.NoError(t, err, "%s", out)
			var seen seenAs
			require.NoError(t, json.Unmarshal(out, &seen))
			assert.Positive(t, seen.Tasks)
			if tc.better == "" {
				assert.Contains(t, seen.TasksRung, "ebpf")
				assert.Equal(t, "ebpf", seen.Moves)
				return
			}
			assert.Contains(t, seen.TasksRung, "procfs")
			assert.Contains(t, seen.TasksBetter, tc.better)
			assert.NotContains(t, seen.TasksBetter, "MEMLOCK")
			if seen.Moves != tc.moves { // perf_event_paranoid decides between these two
				assert.Contains(t, []string{"perf", "sampled"}, seen.Moves)
			}
			assert.NotEmpty(t, seen.MoveNeeds)
		})
	}
}

// The first sample does not wait for the programs.
func TestRunLoadsBehindTheFirstSample(t *testing.T) {
	exactSampler(t, Needs{})
	s, err := New(Options{Interval: 10 * time.Second})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	first := <-s.Samples()
	assert.NotEqual(t, SourceBPF, first.Migrations)
	for n := range s.Samples() { // the next comes at once when the programs are there
		if n.Migrations == SourceBPF {
			break
		}
	}
	cancel()
	require.NoError(t, <-done)
	require.NoError(t, s.Close())
}

func TestNeverLoads(t *testing.T) {
	s, err := New(Options{EBPF: EBPFNever})
	require.NoError(t, err)
	defer s.Close()
	n, err := s.Read()
	require.NoError(t, err)
	i := slices.IndexFunc(n.Collectors, func(c Collector) bool { return c.Name == "tasks" })
	assert.Equal(t, unwanted, n.Collectors[i].Better)
	assert.NotEqual(t, SourceBPF, n.Migrations)
}

// Many tasks are walked by eBPF from the first sample on; what counts from sample to
// sample is loaded for those who go on.
func TestManyAreWalked(t *testing.T) {
	for _, when := range []EBPF{EBPFMany, EBPFLater} {
		s, err := New(Options{EBPF: when})
		require.NoError(t, err)
		defer s.Close()
		s.many = true
		n, err := s.Read()
		require.NoError(t, err)
		assert.NotEqual(t, SourceBPF, n.Migrations)
		i := slices.IndexFunc(n.Collectors, func(c Collector) bool { return c.Name == "tasks" })
		if n.Collectors[i].Better != "" {
			t.Skip("no task walk by eBPF here: ", n.Collectors[i].Better)
		}
		assert.Contains(t, n.Collectors[i].Rung, "ebpf")
		s.loadLater(t.Context())()
		n, err = s.Read()
		require.NoError(t, err)
		assert.Equal(t, when == EBPFLater, n.Migrations == SourceBPF)
	}
}

// What follows single moves and CPUs is attached only while it is asked for.
func TestOnDemandIsDetached(t *testing.T) {
	s := exactSampler(t, Needs{})
	_, tid, flip := startFlippable(t)
	s.SetNeeds(Needs{Trace: tid, Wakes: kernel.TID(os.Getpid()), Ledger: true})
	_, err := s.Read() // attaches
	require.NoError(t, err)
	flip(20)
	var n *Sample
	var steps []Step
	counted := 0
	require.Eventually(t, func() bool {
		n, err = s.Read()
		require.NoError(t, err)
		require.Zero(t, n.StepsLost)
		steps = append(steps, n.Steps...)
		for _, m := range n.Moves {
			if m.TID == tid {
				counted += int(m.Count)
			}
		}
		return counted > 0 && len(steps) == counted // a move can come between the two readings of a sample
	}, time.Minute, 20*time.Millisecond, "as many steps as counted moves")
	for i := 1; i < len(steps); i++ {
		assert.Equal(t, steps[i-1].To, steps[i].From, "in their order")
		assert.Less(t, steps[i-1].AtNs, steps[i].AtNs)
	}
	// Threads that run are moved by the CPU's stopper, which wakes the one that asked; those
	// that wait to run are moved without.
	require.Eventually(t, func() bool {
		assert.Equal(t, kernel.TID(os.Getpid()), n.Wakes.Of)
		assert.Positive(t, n.Wakes.Over)
		if slices.ContainsFunc(n.Wakes.List, func(w Wake) bool { return w.Wakee.TGID == n.Wakes.Of }) {
			return true
		}
		flip(2)
		n, err = s.Read()
		require.NoError(t, err)
		return false
	}, time.Minute, 20*time.Millisecond)
	s.SetNeeds(Needs{Trace: tid, Wakes: 1, Ledger: true})
	n, err = s.Read()
	require.NoError(t, err)
	assert.Zero(t, n.Wakes, "they were of another")
	require.NotNil(t, s.trace.kernel)
	require.NotNil(t, s.wakes.kernel)
	require.NotNil(t, s.ledger.kernel)
	// On a busy machine the thread may only have waited so far.
	ran, softirq := uint64(0), false
	require.Eventually(t, func() bool {
		for _, interval := range n.RunIntervals {
			switch {
			case interval.Kind == RunOfTask && interval.TID == tid:
				ran += interval.RunNs
				assert.NotEmpty(t, interval.Name)
			case interval.Kind == RunOfSoftIRQ && interval.Name != "":
				softirq = true
			}
		}
		if ran > 0 && softirq {
			return true
		}
		n, err = s.Read()
		require.NoError(t, err)
		return false
	}, time.Minute, 20*time.Millisecond, "the ledger has the thread and a softirq")

	s.SetNeeds(Needs{})
	n, err = s.Read()
	require.NoError(t, err)
	assert.Empty(t, n.Steps)
	assert.Empty(t, n.RunIntervals)
	assert.Zero(t, n.Wakes)
	assert.Nil(t, s.trace.kernel)
	assert.Nil(t, s.wakes.kernel)
	assert.Nil(t, s.ledger.kernel)
}

func TestEveryCPUHasItsPressure(t *testing.T) {
	s := exactSampler(t, Needs{Threads: true})
	spinner := start(t, "spin", "73")
	online, err := kernel.System().Affinity(0)
	require.NoError(t, err)
	cpu := online.Last()
	require.NoError(t, spinner.Tasks(t)[0].SetAffinity(cpuset.Of(cpu)))
	require.Eventually(t, func() bool {
		n, err := s.Read()
		require.NoError(t, err)
		task := find(n, spinner.TIDs[0])
		for i := range n.CPUs {
			c := &n.CPUs[i]
			require.True(t, c.HavePressure, "cpu %d", c.ID)
			if c.ID == cpu {
				return c.Queued > 0 && task.Pressure > 0.02 && task.Pressure <= c.Pressure*1.1
			}
		}
		return false
	}, time.Minute, 50*time.Millisecond)
}
