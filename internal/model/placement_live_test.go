package model_test

import (
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/bpf"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/place"
	"piton/internal/procfs"
	"piton/internal/sample"
	"piton/internal/topology"
)

// probeTime is how long probes measure what a CPU has left.
const probeTime = 300 * time.Millisecond

// rig is two CPUs of this machine, and what looks at them.
type rig struct {
	topo    *topology.Topology
	sampler *sample.Sampler
	cpus    [2]cpuset.CPU
}

// needs are those of piton pin.
var needs = sample.Needs{Affinity: true, Threads: true, Delay: true, All: true}

func newRig(t *testing.T, ebpf sample.EBPF) *rig {
	topo, err := topology.Read("/")
	require.NoError(t, err)
	if topo.Online.Len() < 2 {
		t.Skip("one CPU: there is nothing to choose")
	}
	if ebpf == sample.EBPFNow {
		w, err := bpf.OpenWalk(bpf.WalkOptions{})
		if err != nil {
			t.Skip(err)
		}
		w.Close()
	}
	s, err := sample.New(sample.Options{EBPF: ebpf, Needs: needs})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	online := topo.Online.CPUs()
	return &rig{topo, s, [2]cpuset.CPU{online[0], online[1]}}
}

// pick measures for a window and chooses one of the two CPUs.
func (r *rig) pick(t *testing.T, target func(*model.Model, model.Groups) place.Target) place.Choice {
	before, err := r.sampler.Read()
	require.NoError(t, err)
	time.Sleep(250 * time.Millisecond)
	after, err := r.sampler.Read()
	require.NoError(t, err)
	m := model.Next(model.Next(nil, before, r.topo), after, r.topo)
	groups := sample.NewGroups(procfs.New("/")).Of
	to := target(m, groups)
	to.Allowed = cpuset.Of(r.cpus[:]...)
	choices, err := place.Place(place.Request{Topology: r.topo, Loads: m.Loads(groups), Targets: []place.Target{to}, Ignored: self(t, m), Strategy: place.LeastLoaded})
	require.NoError(t, err)
	return choices[0]
}

// newcomer is a busy task that is not on the machine yet, and will be in the group
// of another.
func newcomer(like kernel.TID) func(*model.Model, model.Groups) place.Target {
	return func(m *model.Model, groups model.Groups) place.Target {
		t := &sample.Task{TID: like, TGID: like}
		return place.Target{LastCPU: -1, HomeNode: -1, BusyShare: 1, BusyThreads: 1, Group: groups(t)}
	}
}

// truth is what a probe on each CPU gets while the other does not run, as a share
// of a CPU.
func truth(t *testing.T, probes [2]kernel.TID) (got [2]float64) {
	for i, pid := range probes {
		before, began := used(t, pid), time.Now()
		require.NoError(t, signal(pid, resume))
		time.Sleep(probeTime)
		require.NoError(t, signal(pid, pause))
		got[i] = (used(t, pid) - before).Seconds() / time.Since(began).Seconds()
		time.Sleep(probeTime / 2) // its load decays
	}
	return got
}

// contest is a load of two CPUs, and the cgroup of the probe.
type contest struct {
	name  string
	on    [2][]hog
	probe string
}

// sixLoads are those that FACTS §3 measured.
func sixLoads(*testing.T) []contest {
	fifo, low := always(), always()
	fifo.fifo, low.nice = true, 19
	ms := time.Millisecond
	return []contest{
		{"1 vs 3 hogs", [2][]hog{{always()}, {always(), always(), always()}}, ""},
		{"30 vs 60 % duty", [2][]hog{{duty(30, 10*ms)}, {duty(60, 10*ms)}}, ""},
		{"the same, 100 ms period", [2][]hog{{duty(30, 100*ms)}, {duty(60, 100*ms)}}, ""},
		{"nice 19 vs 0", [2][]hog{{low}, {always()}}, ""},
		{"FIFO vs other", [2][]hog{{fifo}, {always()}}, ""},
		{"5 x 10 vs 30 %", [2][]hog{{duty(10, 20*ms), duty(10, 21*ms), duty(10, 22*ms), duty(10, 23*ms), duty(10, 24*ms)}, {duty(30, 20*ms)}}, ""},
	}
}

// nicedLoads are a hog at nice n in the probe's session, in another one and in
// another cgroup, against an idle CPU and such as are used from within the probe's
// own group. None of them is a close call: short bursts cost a
// newcomer all their time, long ones half of it.
func nicedLoads(n int) func(*testing.T) []contest {
	return func(t *testing.T) []contest {
		same, some, much := always(), duty(10, 40*time.Millisecond), duty(60, 40*time.Millisecond)
		same.nice = n
		apart := same
		apart.session = true
		out := []contest{
			{"same session vs idle", [2][]hog{{same}, nil}, ""},
			{"same session vs 10 %", [2][]hog{{same}, {some}}, ""},
			{"other session vs 10 %", [2][]hog{{apart}, {some}}, ""},
			{"other session vs nice 0", [2][]hog{{apart}, {always()}}, ""},
		}
		heavy, light := newCgroup(t, "heavy", 100), newCgroup(t, "light", 10)
		in := func(h hog, group string) hog {
			h.cgroup = group
			return h
		}
		three := []hog{in(always(), light), in(always(), light), in(always(), light)}
		return append(out,
			contest{"cpu.weight 10, probe 100, vs 60 %", [2][]hog{{in(same, light)}, {in(much, heavy)}}, heavy},
			contest{"cpu.weight 10, probe 100, vs nice 0", [2][]hog{{in(same, light)}, {in(always(), heavy)}}, heavy},
			contest{"cpu.weight 100, probe 10, vs 3 hogs", [2][]hog{{in(same, heavy)}, three}, light})
	}
}

// The pick is the CPU on which a probe then gets most. What counts as right is
// measured each time, because other load of the machine moves the truth as well.
func TestLeastLoadedPick(t *testing.T) {
	n := windows(t, "PITON_TEST_PLACEMENT")
	for _, source := range []struct {
		name string
		ebpf sample.EBPF
	}{{"ebpf", sample.EBPFNow}, {"proc", sample.EBPFNever}} {
		for _, loads := range []struct {
			name string
			of   func(*testing.T) []contest
		}{{"six", sixLoads}, {"nice 1", nicedLoads(1)}, {"nice 5", nicedLoads(5)}, {"nice 19", nicedLoads(19)}} {
			t.Run(source.name+"/"+loads.name, func(t *testing.T) {
				for _, c := range loads.of(t) {
					t.Run(c.name, func(t *testing.T) { c.pick(t, n, newRig(t, source.ebpf)) })
				}
			})
		}
	}
}

// pick chooses n times and compares with the truth.
func (c contest) pick(t *testing.T, n int, r *rig) {
	for i, hogs := range c.on {
		for _, h := range hogs {
			startHog(t, h, r.cpus[i])
		}
	}
	like := always()
	like.cgroup = c.probe
	probes := [2]kernel.TID{startHog(t, like, r.cpus[0]), startHog(t, like, r.cpus[1])}
	for _, pid := range probes {
		require.NoError(t, signal(pid, pause))
	}
	right, guesses, off := 0, 0, 0.0
	for range n {
		time.Sleep(200 * time.Millisecond) // the probes' load decays
		choice := r.pick(t, newcomer(probes[0]))
		got := truth(t, probes)
		at := 1
		if choice.CPUs.Has(r.cpus[0]) {
			at = 0
		}
		share, err := strconv.Atoi(expected.FindStringSubmatch(choice.Reason)[1])
		require.NoError(t, err)
		off += math.Abs(float64(share)/100-got[at]) / float64(n)
		switch {
		case choice.Guess:
			guesses++
		case asGood(got[:], cpuset.CPU(at)):
			right++
		default:
			t.Logf("wrong: %s; a probe got %.2f", choice.Reason, got)
		}
	}
	t.Logf("%d of %d picks right, %d more were called guesses; the estimate was off by %.1f %% of a CPU on average", right, n-guesses, guesses, 100*off)
	if guesses > n/2 {
		t.Skip("other load of this machine floats, most picks are guesses")
	}
	assert.GreaterOrEqual(t, float64(right), 0.95*float64(n-guesses))
}
