package partition

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/cpuset"
	"piton/internal/irq"
	"piton/internal/kernel"
	"piton/internal/sample"
)

// server is a machine with something of each kind.
func server(t testing.TB) *world {
	w := newWorld(t, "0-7")
	w.task(1, 0, "0-7").Comm = "init"
	w.task(2, 0, "0-7").Comm = "kthreadd"
	w.task(3, 2, "4").Comm = "ksoftirqd/4"
	w.task(4, 2, "0-7").Comm = "kworker/u32:1"
	w.task(5, 2, "0-7").Comm = "irq/24-eth0"
	w.task(6, 2, "4-7").Comm = "irq/25-nvme0q1"
	for i := range w.f.Tasks[1:] {
		w.f.Tasks[i+1].Flags = sample.FlagKernelThread
	}
	w.f.Tasks[2].Flags |= sample.FlagNoSetAffinity
	w.f.Tasks[3].Flags |= sample.FlagNoSetAffinity
	w.task(10, 1, "2-5")
	w.task(11, 1, "5")   // pinned on a CPU that goes
	w.task(12, 1, "0-3") // pinned elsewhere
	w.task(13, 1, "4-7").Policy = kernel.Deadline
	w.task(14, 1, "4-5") // in a group of 4-5
	w.task(15, 1, "4-5") // in a group of 3-5
	w.f.Limit = func(pid kernel.TID) (cpuset.Set, string, error) {
		switch pid {
		case 14:
			return set(t, "4-5"), "/narrow", nil
		case 15:
			return set(t, "3-5"), "/wide", nil
		case 11:
			return cpuset.Set{}, "", errors.New("it is in no cpuset")
		}
		return set(t, "0-7"), "/", nil
	}
	w.line(24, irq.Settable, "0-7").Threads = []irq.Thread{{TID: 5, Comm: "irq/24-eth0"}}
	w.line(25, irq.Managed, "4-7").Threads = []irq.Thread{{TID: 6, Comm: "irq/25-nvme0q1"}}
	w.line(26, irq.ControlUnknown, "5")
	w.line(27, irq.Settable, "0-1")
	w.line(0, irq.Fixed, "0-7")
	w.mask(attr.DefaultIRQAffinity, "/proc/irq/default_smp_affinity", "0-7")
	w.mask(attr.WorkqueueMask, "/sys/devices/virtual/workqueue/cpumask", "0-15") // of CPUs that may come
	w.mask(attr.RPSCPUs, "/sys/class/net/eth0/queues/rx-0/rps_cpus", "6")
	w.f.Masks = append(w.f.Masks, Mask{Attribute: attr.WorkqueueMask, Path: "/ro", Name: "ro", CPUs: set(t, "0-7"), ReadOnly: true})
	return w
}

func TestIsolate(t *testing.T) {
	w := server(t)
	out := w.isolate("4-7")
	assert.Equal(t, "0-3", out.Rest.String())
	got := w.masks()
	for tid, want := range map[kernel.TID]string{
		1: "0-3", 2: "0-3", 3: "4", 4: "0-7", 5: "0-3", 6: "4-7",
		10: "2-3", 11: "0-3", 12: "0-3", 13: "4-7", 14: "4-5", 15: "3",
	} {
		assert.Equal(t, want, got[taskKey(tid)], "task %d", tid)
	}
	for path, want := range map[string]string{
		"/proc/irq/24/smp_affinity_list": "0-3", "/proc/irq/25/smp_affinity_list": "4-7", "/proc/irq/26/smp_affinity_list": "0-3",
		"/proc/irq/27/smp_affinity_list": "0-1", "/proc/irq/0/smp_affinity_list": "0-7",
		"/proc/irq/default_smp_affinity": "0-3", "/sys/devices/virtual/workqueue/cpumask": "0-3,8-15",
		"/sys/class/net/eth0/queues/rx-0/rps_cpus": "0-3",
	} {
		assert.Equal(t, want, got[fileKey(path)], path)
	}
	immovable := map[string]Immovable{}
	for _, s := range out.Immovable {
		immovable[s.Name] = s
	}
	require.Len(t, out.Immovable, 7)
	assert.Equal(t, "4", immovable["ksoftirqd/4"].CPUs.String())
	assert.Contains(t, immovable["ksoftirqd/4"].Why, "belongs to its CPU")
	assert.Contains(t, immovable["irq 25 (dev)"].Why, "its driver manages it")
	assert.Contains(t, immovable["irq 0 (dev)"].Why, "the kernel refuses to move it")
	assert.Contains(t, immovable["irq/25-nvme0q1"].Why, "runs where its interrupt goes, irq 25 (dev)")
	assert.Contains(t, immovable["ro"].Why, "cannot be written")
	var whys []string
	for _, s := range out.Immovable {
		if s.Name == "task" {
			whys = append(whys, s.Why)
		}
	}
	assert.Equal(t, []string{"it is a DEADLINE task, and the kernel moves none of those", "its cgroup /narrow allows only CPUs 4-5"}, whys)
}

func TestIsolateAgainFindsNothing(t *testing.T) {
	w := server(t)
	w.isolate("4-7")
	out, err := Isolate(w.f, set(t, "4-7"))
	require.NoError(t, err)
	assert.Empty(t, out.Requests)
}

// TestIsolateWithoutWorkqueues: workers that belong to no CPU stay where the mask
// of the workqueues cannot be set.
func TestIsolateWithoutWorkqueues(t *testing.T) {
	w := server(t)
	w.f.Masks = w.f.Masks[:1]
	out := w.isolate("4-7")
	found := false
	for _, s := range out.Immovable {
		found = found || s.Name == "kworker/u32:1"
	}
	assert.True(t, found)
}

func TestIsolateRefuses(t *testing.T) {
	for _, tt := range []struct{ cpus, reserved, want string }{
		{"0-7", "", "isolating CPUs 0-7 would leave no CPU for everything else, piton included"},
		{"0-5", "6-7", "isolating CPUs 0-5 would leave no CPU for ordinary tasks; isolated already: CPUs 6-7"},
		{"0-6", "7", "isolating CPUs 0-6 would leave no CPU for ordinary tasks; isolated already: CPU 7"},
		{"7-9", "", "CPUs 8-9 are not online here (online: 0-7): there is nothing to move off"},
	} {
		w := newWorld(t, "0-7")
		w.f.Reserved = set(t, tt.reserved)
		_, err := Isolate(w.f, set(t, tt.cpus))
		var wrong Error
		require.ErrorAs(t, err, &wrong)
		assert.EqualError(t, err, tt.want)
	}
}

// TestRefugeesAvoidReserved: what loses its only CPU is not sent to one that was
// isolated before.
func TestRefugeesAvoidReserved(t *testing.T) {
	w := newWorld(t, "0-7")
	w.task(10, 1, "4")
	w.task(1, 0, "0-7")
	w.isolate("6-7")
	w.isolate("4-5")
	assert.Equal(t, "0-3", w.f.Tasks[0].Mask.String())
	w.include("6-7")
	w.include("4-5")
	assert.Equal(t, "4", w.f.Tasks[0].Mask.String())
}

// TestMachinePlansAgain: what was isolated meanwhile counts, and so does confirmation.
func TestMachinePlansAgain(t *testing.T) {
	m := Machine{Tuner: change.New(change.Options{})}
	online, err := m.Tuner.Online()
	require.NoError(t, err)
	if online.Len() < 2 {
		t.Skip("needs two CPUs")
	}
	plan, out, err := m.Isolate(t.Context(), cpuset.Of(online.Last()))
	require.NoError(t, err)
	again, err := plan.Sweep.Again(t.Context(), plan)
	require.NoError(t, err)
	for _, p := range []change.Plan{plan, again} {
		require.Len(t, p.Needs, 1)
		assert.Equal(t, change.Isolation, p.Needs[0].Danger)
		assert.Contains(t, p.Danger(), "leaves "+out.Rest.InWords()+" for everything else")
		assert.NotNil(t, p.Sweep)
	}
}

// Where /proc/interrupts is masked, tasks are moved all the same.
func TestIsolateWithoutInterrupts(t *testing.T) {
	m := Machine{Tuner: change.New(change.Options{}), Look: func() (Facts, error) {
		w := newWorld(t, "0-7")
		w.f.NoIRQs = irq.ErrMasked
		return w.f, nil
	}}
	plan, _, err := m.Isolate(t.Context(), cpuset.Of(5))
	require.NoError(t, err)
	assert.Equal(t, []string{"interrupts are left alone: /proc/interrupts is masked in this container; run piton on the host"}, change.Texts(plan.Warnings))
}

// TestIsolateLeavesAnOnlineCPU: what a task keeps must be online, and what is not online stays its own.
func TestIsolateLeavesAnOnlineCPU(t *testing.T) {
	w := newWorld(t, "0-4,6-7")
	w.task(10, 1, "0-7")
	w.task(20, 1, "2,5")
	out, err := Isolate(w.f, set(t, "2"))
	require.NoError(t, err)
	got := map[kernel.TID]string{}
	for _, r := range out.Requests {
		for _, target := range r.Targets {
			cpus, _ := r.Affinity()
			got[target.TID] = cpus.String()
		}
	}
	assert.Equal(t, map[kernel.TID]string{10: "0-1,3-7", 20: "0-1,3-4,6-7"}, got)
}
