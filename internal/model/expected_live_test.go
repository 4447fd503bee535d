package model_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"piton/internal/change"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/place"
	"piton/internal/procfs"
	"piton/internal/sample"
)

// world is what CPUs have to do, and what is to be placed beside it.
type world struct {
	name  string
	on    [][]hog // by CPU; those after the last begin anew
	nice  int     // of the target
	group string  // cgroup of the target
	equal bool    // a target may stay where it is
}

func several(n int, h hog) (out []hog) {
	for range n {
		out = append(out, h)
	}
	return out
}

func (h hog) works(w work) hog      { h.work = w; return h }
func (h hog) niced(nice int) hog    { h.nice = nice; return h }
func (h hog) in(cgroup string) hog  { h.cgroup = cgroup; return h }
func some(percent, period int) hog  { return duty(percent, time.Duration(period)*time.Millisecond) }
func burst(percent, period int) hog { return some(percent, period).works(cpuWork) }
func tick(percent, period int) hog  { return some(percent, period).works(openWork) }

// worlds are those that the table of the note is of.
func worlds(t *testing.T) []world {
	heavy, light := newCgroup(t, "heavy", 200), newCgroup(t, "light", 50)
	a := always()
	return []world{
		{name: "2 spin | 3 spin", on: [][]hog{several(2, a), several(3, a)}},
		{name: "2 wall 40/10 | 1 spin", on: [][]hog{several(2, some(40, 10)), {a}}},
		{name: "2 wall 40/10 | 2 spin", on: [][]hog{several(2, some(40, 10)), several(2, a)}},
		{name: "2 cpu 40/10 | 2 spin", on: [][]hog{several(2, burst(40, 10)), several(2, a)}},
		{name: "cpu 50/20 | wall 50/20 + wall 30/20", on: [][]hog{{burst(50, 20)}, {some(50, 20), some(30, 20)}}},
		{name: "2 cpu 30/5 | open 30/5", on: [][]hog{several(2, burst(30, 5)), {tick(30, 5)}}},
		{name: "open 60/50 | wall 30/100", on: [][]hog{{tick(60, 50)}, {some(30, 100)}}},
		{name: "wall 70/4 | 2 cpu 20/40", on: [][]hog{{some(70, 4)}, several(2, burst(20, 40))}},
		{name: "1 spin nice 19 | cpu 40/10", on: [][]hog{{a.niced(19)}, {burst(40, 10)}}},
		{name: "2 spin nice 5 | spin + wall 20/10", on: [][]hog{several(2, a.niced(5)), {a, some(20, 10)}}},
		{name: "target nice 5: spin | 2 cpu 50/10", on: [][]hog{{a}, several(2, burst(50, 10))}, nice: 5},
		{name: "target in heavy: 3 spin in light | 2 cpu 40/10 in heavy", on: [][]hog{several(3, a.in(light)), several(2, burst(40, 10).in(heavy))}, group: heavy},
		{name: "target in light: spin in heavy | 2 spin in light", on: [][]hog{{a.in(heavy)}, several(2, a.in(light))}, group: light},
		{name: "4 kinds", on: [][]hog{{a}, several(2, burst(40, 20)), several(3, a), {some(50, 20)}}},
		{name: "2 spin | 2 spin", on: [][]hog{several(2, a), several(2, a)}, equal: true},
		{name: "2 cpu 40/10 | the same", on: [][]hog{several(2, burst(40, 10)), several(2, burst(40, 10))}, equal: true},
	}
}

// states are what the target does while piton looks.
var states = []struct {
	name string
	does hog
}{{"busy", always()}, {"half", burst(50, 20)}, {"asleep", burst(0, 1000)}}

// TestExpected compares what piton expects of each CPU with what a probe then gets, which
// runs on each for as many milliseconds as PITON_TEST_EXPECTED says. PITON_TEST_WORLDS
// chooses worlds, a regular expression; PITON_TEST_RECORD is a file for the tries.
func TestExpected(t *testing.T) {
	probe := time.Duration(windows(t, "PITON_TEST_EXPECTED")) * time.Millisecond
	r := newRig(t, sample.EBPFNever)
	samplers := map[string]*sample.Sampler{"proc": r.sampler}
	if s, err := sample.New(sample.Options{EBPF: sample.EBPFNow, Needs: needs}); err == nil {
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		samplers["ebpf"] = s
	}
	only := regexp.MustCompile(os.Getenv("PITON_TEST_WORLDS"))
	scores := map[string]*Score{"proc": {}, "ebpf": {}}
	for _, w := range worlds(t) {
		if only.MatchString(w.name) {
			t.Run(w.name, func(t *testing.T) {
				for _, try := range r.tries(t, w, samplers, probe) {
					a, err := try.Ask(r.topo)
					require.NoError(t, err)
					t.Log(scores[try.Source].Add(&try, a))
					keep(t, try)
				}
			})
		}
	}
	for name := range samplers {
		if s := scores[name]; len(s.Off) > 0 {
			t.Logf("%s: %s", name, s)
		}
	}
}

// keep appends a try to the file for them, if there is to be one.
func keep(t *testing.T, try Try) {
	path := os.Getenv("PITON_TEST_RECORD")
	if path == "" {
		return
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	require.NoError(t, err)
	line, err := try.Line()
	require.NoError(t, err)
	_, err = fmt.Fprintln(f, line)
	require.NoError(t, errors.Join(err, f.Close()))
}

// strangers is what others than a world's own tasks took, in CPUs: those that have ended as well.
func strangers(m *model.Model, own map[kernel.TID]bool) (share float64) {
	for _, c := range m.CPUs {
		share += float64(c.Busy)
	}
	for i, t := range m.Sample.Tasks {
		if its := m.Tasks[i].CPUPercent; its > 0 && t.IsProcess() && (own[t.TID] || t.TID == kernel.TID(os.Getpid())) {
			share -= float64(its) / 100
		}
	}
	return share
}

// undisturbed repeats what others of the machine disturb.
func (r *rig) undisturbed(t *testing.T, own map[kernel.TID]bool, do func()) {
	const attempts = 5
	little, share := 0.03*float64(r.topo.Online.Len()), 0.0 // each CPU has ticks of its own
	for range attempts {
		before, err := r.sampler.Read()
		require.NoError(t, err)
		do()
		after, err := r.sampler.Read()
		require.NoError(t, err)
		if share = strangers(model.Next(model.Next(nil, before, r.topo), after, r.topo), own); share < little {
			return
		}
	}
	t.Skipf("others take %.0f %% of a CPU", 100*share)
}

// tries makes a world, measures what a probe gets on each CPU, and looks at the world with a
// target in each state on each CPU.
func (r *rig) tries(t *testing.T, w world, samplers map[string]*sample.Sampler, probe time.Duration) (tries []Try) {
	cpus := r.topo.Online.CPUs()
	own := map[kernel.TID]bool{}
	start := func(h hog, cpu cpuset.CPU) kernel.TID {
		tid := startHog(t, h, cpu)
		own[tid] = true
		return tid
	}
	for i, cpu := range cpus {
		for _, h := range w.on[i%len(w.on)] {
			start(h, cpu)
		}
	}
	require.Eventually(t, func() bool { // a new group's tasks may wait for seconds at first (Linux 6.18)
		for tid := range own {
			if used(t, tid) < settling {
				return false
			}
		}
		return true
	}, time.Minute, settling)
	newcomer := start(always().niced(w.nice).in(w.group), cpus[0])
	require.NoError(t, signal(newcomer, pause))
	got := make([]float64, len(cpus))
	for i, cpu := range cpus {
		pin(t, newcomer, cpu)
		r.undisturbed(t, own, func() {
			require.NoError(t, signal(newcomer, resume))
			time.Sleep(settling)
			before, began := used(t, newcomer), time.Now()
			time.Sleep(probe)
			got[i] = (used(t, newcomer) - before).Seconds() / time.Since(began).Seconds()
			require.NoError(t, signal(newcomer, pause))
		})
	}
	for _, state := range states {
		target := start(state.does.niced(w.nice).in(w.group), cpus[0])
		for _, cpu := range cpus {
			pin(t, target, cpu)
			require.NoError(t, signal(target, resume))
			time.Sleep(settling)
			var seen []Try
			r.undisturbed(t, own, func() { seen = r.look(t, target, samplers) })
			for _, try := range seen {
				try.World, try.State, try.On, try.Got, try.Stay = w.name, state.name, cpu, got, w.equal
				tries = append(tries, try)
			}
			require.NoError(t, signal(target, pause))
		}
	}
	return tries
}

// settling is how long a world is left alone after a change.
const settling = 300 * time.Millisecond

// look is a window by each source.
func (r *rig) look(t *testing.T, target kernel.TID, samplers map[string]*sample.Sampler) (tries []Try) {
	for _, name := range slices.Sorted(maps.Keys(samplers)) {
		before, err := samplers[name].Read()
		require.NoError(t, err)
		time.Sleep(250 * time.Millisecond)
		now, err := samplers[name].Read()
		require.NoError(t, err)
		m := model.Next(model.Next(nil, before, r.topo), now, r.topo)
		groups := sample.NewGroups(procfs.New("/"))
		mode, _ := change.Local().GroupMode()
		i, ok := sample.Find(now.Tasks, target)
		require.True(t, ok)
		to := m.PlaceTarget(i)
		to.Group = groups.Of(now.Tasks[i])
		tries = append(tries, Try{Source: name, Loads: m.Loads(groups.Of), Target: to, Ignored: self(t, m), Groups: mode})
	}
	return tries
}

// self is the test program, which uses much where looking takes long.
func self(t *testing.T, m *model.Model) []place.Target {
	t.Helper()
	i, ok := sample.Find(m.Sample.Tasks, kernel.TID(os.Getpid()))
	require.True(t, ok)
	return []place.Target{m.PlaceTarget(i)}
}

func pin(t *testing.T, tid kernel.TID, cpu cpuset.CPU) {
	t.Helper()
	set := unix.CPUSet{}
	set.Set(int(cpu))
	require.NoError(t, unix.SchedSetaffinity(int(tid), &set))
}
