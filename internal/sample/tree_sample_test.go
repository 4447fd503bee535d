package sample

import (
	"math"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/kernel"
)

func TestSampleOfHostTree(t *testing.T) {
	h := newTree(t)
	me := os.Getpid() // a number that means something else on this machine
	h.task(stub{pid: 2, comm: "kthreadd", flags: "2097152", start: 1})
	h.task(stub{pid: me, comm: "a) (b\n\x1b[31m", state: 'R', threads: 2, cpu: 1, start: 50, user: 30, uid: 1000,
		run: 900, delay: 8, slices: 7, mask: "0,2", policy: 1, rtprio: 50})
	h.task(stub{pid: me, tid: me, comm: "first", moves: 3, vol: 4, invol: 5})
	h.task(stub{pid: me, tid: 4194300, comm: "second", threads: 2, start: 51, uid: 7, mask: "1", moves: 10, vol: 20, invol: 30, run: 5})

	s := h.sampler(Needs{Affinity: true, Migrations: true, Switches: true, Delay: true, Threads: true,
		Watch: []kernel.TID{4194300, kernel.TID(me)}})
	n := h.read(s)
	for i := range n.Tasks {
		n.Tasks[i].ID, n.Tasks[i].Group = shown(n.Tasks[i].ID), nil // see threads_test.go
	}

	tick := func(id *Identity, t *Task) *Task {
		t.PPID, t.ID, t.Priority, t.SystemTicks, t.RSSPages = 1, id, 20, 5, 9
		t.MinorFaults, t.MajorFaults = 7, 8
		return t
	}
	pid := kernel.TID(me)
	assert.Equal(t, []*Task{
		tick(&Identity{Comm: "kthreadd", User: "root"}, &Task{TID: 2, TGID: 2, StartTicks: 1, State: 'S', Threads: 1,
			Flags: FlagKernelThread, Affinity: cpuset.Of(0, 1), MigrationSource: SourceSampled,
			Have: HaveRun | HaveTime | HaveAffinity | HaveMigrations}),
		tick(&Identity{Comm: "a) (b\n\x1b[31m", User: "ballou", UID: 1000, Full: true, Cmdline: "/bin/prog -x a b", Cgroup: "/app.slice", CPUGroup: "/app.slice"},
			&Task{TID: pid, TGID: pid, StartTicks: 50, State: 'R', Threads: 2, LastCPU: 1, UserTicks: 30, Policy: kernel.FIFO, RTPrio: 50,
				RunDelayNs: 8, Slices: 7, Affinity: cpuset.Of(0, 2), MigrationSource: SourceSched,
				Migrations: 13, VoluntarySwitches: 24, InvoluntarySwitches: 35,
				Have: HaveRun | HaveAffinity | HaveMigrations | HaveSwitches}),
		tick(&Identity{Comm: "second", User: "7", UID: 7, Full: true, Cmdline: "/bin/prog -x a b", Cgroup: "/app.slice", CPUGroup: "/app.slice"},
			&Task{TID: 4194300, TGID: pid, StartTicks: 51, State: 'S', Threads: 2, RunNs: 5, Affinity: cpuset.Of(1),
				MigrationSource: SourceSched, Migrations: 10, VoluntarySwitches: 20, InvoluntarySwitches: 30,
				Have: HaveRun | HaveTime | HaveAffinity | HaveMigrations | HaveSwitches}),
	}, n.Tasks)

	assert.Equal(t, []CPU{
		{ID: 0, UserTicks: 10, NiceTicks: 2, SystemTicks: 3, IdleTicks: 80, IOWaitTicks: 5, IRQTicks: 1, SoftIRQTicks: 1,
			StealTicks: 4, GuestTicks: 6, GuestNiceTicks: 1, HaveIn: true, HaveOut: true},
		{ID: 1, UserTicks: 20, IdleTicks: 80, HaveIn: true, HaveOut: true},
	}, n.CPUs)
	assert.Equal(t, Host{Name: "tree", Uptime: 100500 * time.Millisecond, Load1: 0.5, Load5: 0.25, Load15: 1,
		MemTotalBytes: 1000 << 10, MemUsedBytes: 400 << 10, SwapTotalBytes: 50 << 10, SwapUsedBytes: 30 << 10,
		HaveLoad: true, HaveMemUsed: true, HaveSwap: true, HaveSwapUsed: true, Forks: 99, Switches: 77, TicksPerSecond: 100, PageBytes: os.Getpagesize()}, n.Host)
	assert.Equal(t, SourceSampled, n.Migrations)
	for _, c := range n.Collectors {
		assert.NoError(t, c.Err, c.Name)
	}
}

func TestTasksVanishAndNumbersAreReused(t *testing.T) {
	h := newTree(t)
	h.task(stub{pid: 5, comm: "five", start: 1})
	h.task(stub{pid: 6, comm: "six", start: 1, cpu: 0})
	h.task(stub{pid: 7, comm: "seven", start: 1})
	s := h.sampler(Needs{})
	first := h.read(s)
	require.Len(t, first.Tasks, 3)

	h.remove("proc/5")
	h.task(stub{pid: 6, comm: "six", start: 2, cpu: 1}) // another process by now
	h.write("proc/7/stat", "7 (seven")                  // cannot be understood
	h.write("proc/7/comm", "seven\n")
	h.task(stub{pid: 3, comm: "three", start: 3})
	h.write("proc/8/status", "no stat file at all\n")
	second := h.read(s)
	require.Len(t, second.Tasks, 3)
	assert.Equal(t, []string{"three", "six", "seven"}, []string{second.Tasks[0].ID.Comm, second.Tasks[1].ID.Comm, second.Tasks[2].ID.Comm})
	assert.True(t, second.Tasks[2].Odd)
	assert.EqualError(t, second.Collectors[1].Err, "/proc/PID/stat of 1 tasks (7 first) is cut or malformed: their figures are unknown")
	h.task(stub{pid: 7, comm: "seven", start: 1})
	assert.Equal(t, uint64(1), h.read(s).Tasks[2].StartTicks)
	assert.Equal(t, uint64(2), second.Tasks[1].StartTicks)
	assert.NotSame(t, first.Tasks[1].ID, second.Tasks[1].ID)
	assert.Zero(t, second.Tasks[1].Migrations, "the change of CPU was another process's")
	assert.Len(t, first.Tasks, 3, "a published sample does not change")
	assert.Equal(t, "five", first.Tasks[0].ID.Comm)
}

// shown is an identity without what the sampler notes for itself.
func shown(id *Identity) *Identity {
	public := *id
	public.seen, public.ran, public.settled = 0, 0, false
	return &public
}

func TestIdentityFollowsExec(t *testing.T) {
	h := newTree(t)
	h.task(stub{pid: 5, comm: "sh", start: 1})
	s := h.sampler(Needs{Watch: []kernel.TID{5}})
	before := h.read(s).Tasks[0].ID
	assert.Equal(t, "/bin/prog -x a b", before.Cmdline)
	assert.Same(t, before, h.read(s).Tasks[0].ID)

	h.task(stub{pid: 5, comm: "nq", start: 1, uid: 1000})
	h.write("proc/5/cmdline", "nq\x0016\x00")
	after := h.read(s).Tasks[0].ID
	assert.Equal(t, &Identity{Comm: "nq", Cmdline: "nq 16", Cgroup: "/app.slice", CPUGroup: "/app.slice", User: "ballou", UID: 1000, Full: true}, shown(after))
	assert.Equal(t, "sh", before.Comm)
}

func TestExecUnderTheSameName(t *testing.T) {
	h := newTree(t)
	const forked = "64" // PF_FORKNOEXEC
	h.task(stub{pid: 5, comm: "sh", start: 1, flags: forked})
	h.write("proc/5/cmdline", "sh\x00parent\x00")
	s := h.sampler(Needs{Watch: []kernel.TID{5}})
	h.read(s)
	h.read(s)
	h.task(stub{pid: 5, comm: "sh", start: 1})
	h.write("proc/5/cmdline", "sh\x00child\x00")
	assert.Equal(t, "sh child", h.read(s).Tasks[0].ID.Cmdline)
}

func TestCPUsComeAndGo(t *testing.T) {
	h := newTree(t)
	s := h.sampler(Needs{})
	h.read(s)
	h.write("sys/devices/system/cpu/online", "0,2-3\n")
	h.cpus("cpu0 10 0 0 1", "cpu3 10 0 0 1", "cpu2 10 0 0 1")
	n := h.read(s)
	require.Len(t, n.CPUs, 3)
	assert.Equal(t, []cpuset.CPU{0, 2, 3}, []cpuset.CPU{n.CPUs[0].ID, n.CPUs[1].ID, n.CPUs[2].ID})
}

func TestAMissingFileIsSaidAndTheRestStands(t *testing.T) {
	h := newTree(t)
	h.task(stub{pid: 5, comm: "five"})
	h.remove("proc/stat")
	h.remove("proc/uptime")
	n := h.read(h.sampler(Needs{}))
	assert.Len(t, n.Tasks, 1)
	assert.Equal(t, []CPU{{ID: 0, NoTimes: true, HaveIn: true, HaveOut: true}, {ID: 1, NoTimes: true, HaveIn: true, HaveOut: true}}, n.CPUs)
	assert.InDelta(t, 0.5, n.Host.Load1, 1e-9)
	failed := map[string]bool{}
	for _, c := range n.Collectors {
		failed[c.Name] = c.Err != nil
	}
	assert.Equal(t, map[string]bool{"cpus": true, "tasks": false, "details": false, "migrations": false, "host": true}, failed)
}

func TestPressureIsReadWhereItIsWanted(t *testing.T) {
	h := newTree(t)
	line := func(avg string) string { return "some avg10=" + avg + " avg60=0.00 avg300=0.00 total=9\n" }
	h.write("proc/pressure/cpu", line("4.10"))
	h.write("proc/pressure/io", line("0.00"))
	assert.Equal(t, PSI{}, h.read(h.sampler(Needs{})).Host.PSI, "no meter shows it")
	psi := h.read(h.sampler(Needs{PSI: true})).Host.PSI
	assert.True(t, math.IsNaN(psi.Memory), "its file is missing")
	psi.Memory = 0
	assert.Equal(t, PSI{CPU: 4.1, Have: true}, psi)
	h.write("proc/pressure/memory", line("0.30"))
	assert.Equal(t, PSI{CPU: 4.1, Memory: 0.3, Have: true}, h.read(h.sampler(Needs{PSI: true})).Host.PSI)
}

func TestNoProcAtAll(t *testing.T) {
	_, err := New(Options{Root: t.TempDir()})
	require.ErrorIs(t, err, os.ErrNotExist)
}

// btime moves when the clock is set; the start of a task must not.
func TestBootTimeIsReadOnce(t *testing.T) {
	h := newTree(t)
	h.cpus("cpu0 10 2 3 80 5 1 1 4 6 1", "btime 1700000000")
	s := h.sampler(Needs{})
	want := time.Unix(1700000000, 0)
	assert.Equal(t, want, h.read(s).Host.Boot)
	h.cpus("cpu0 11 2 3 90 5 1 1 4 6 1", "btime 1700000001")
	assert.Equal(t, want, h.read(s).Host.Boot)
}
