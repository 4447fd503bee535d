package action

import (
	"context"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/bench"
	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/change/changetest"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/place"
	"piton/internal/sample"
	"piton/internal/topology"
	"piton/internal/topology/topologytest"
)

// sleeper is a child that ends with the test.
func sleeper(t *testing.T) kernel.TID {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return kernel.TID(cmd.Process.Pid)
}

// machine is a machine of idle CPUs on which the tasks were seen.
func machine(cpus int, tasks ...kernel.TID) *model.Model {
	topo := topologytest.Sized(cpus)
	now := func(seq uint64) *sample.Sample {
		s := &sample.Sample{Seq: seq, At: time.Duration(seq) * time.Second, Host: sample.Host{TicksPerSecond: 100}}
		for _, c := range topo.CPUs {
			s.CPUs = append(s.CPUs, sample.CPU{ID: c.ID, IdleTicks: seq * 100})
		}
		for _, tid := range tasks {
			s.Tasks = append(s.Tasks, &sample.Task{TID: tid, TGID: tid, Threads: 1, ID: &sample.Identity{Comm: "sleep"}})
		}
		return s
	}
	return model.Next(model.Next(nil, now(1), topo), now(2), topo)
}

func TestPlanChoosesDifferentCores(t *testing.T) {
	mask, err := kernel.System().Affinity(kernel.TID(os.Getpid()))
	require.NoError(t, err)
	if mask.Len() < 2 || !mask.Has(0) || !mask.Has(1) {
		t.Skip("needs CPUs 0 and 1")
	}
	a, b := sleeper(t), sleeper(t)
	d := Deps{Tuner: change.Local(), Model: machine(2, min(a, b), max(a, b))}
	targets := []change.Target{{TID: a}, {TID: b}, {TID: 2147483647}}
	plan, err := d.Plan(context.Background(), Request{Targets: targets, Tuning: Tuning{Strategy: place.LeastLoaded}})
	require.NoError(t, err)
	require.Len(t, plan.Choices, 2)
	assert.Equal(t, "0-1", plan.Choices[0].CPUs.Or(plan.Choices[1].CPUs).String(), "a core each")
	require.Len(t, plan.Changes, 3)
	status := map[kernel.TID]attr.Status{}
	for _, c := range plan.Changes {
		status[c.TID] = c.Status
	}
	assert.Equal(t, map[kernel.TID]attr.Status{a: attr.Planned, b: attr.Planned, 2147483647: attr.Refused}, status)
}

// TestGivenCPUsCount is that what was placed a moment ago counts as busy, though the sample is
// older.
func TestGivenCPUsCount(t *testing.T) {
	mask, err := kernel.System().Affinity(kernel.TID(os.Getpid()))
	require.NoError(t, err)
	if mask.Len() < 2 || !mask.Has(0) || !mask.Has(1) {
		t.Skip("needs CPUs 0 and 1")
	}
	a, b := change.Target{TID: sleeper(t)}, change.Target{TID: sleeper(t)}
	d := Deps{Tuner: change.Local(), Model: machine(2)}
	choose := func(target change.Target) string {
		choices, err := Choose(d, []change.Target{target}, Tuning{Strategy: place.LeastLoaded})
		require.NoError(t, err)
		require.Len(t, choices, 1)
		assert.Equal(t, target.TID, choices[0].TID)
		return choices[0].CPUs.String()
	}
	first := choose(a)
	assert.Equal(t, first, choose(b), "nothing tells of the other one")
	cpus, err := cpuset.Parse(first)
	require.NoError(t, err)
	d.Given = []Given{{Target: a, CPUs: cpus}}
	assert.NotEqual(t, first, choose(b))
}

// TestAskIgnoresPiton: what piton uses while it looks is no load.
func TestAskIgnoresPiton(t *testing.T) {
	self := kernel.TID(os.Getpid())
	other := sleeper(t)
	d := Deps{Tuner: change.Local(), Model: machine(2, min(self, other), max(self, other))}
	ask, err := Ask(d, []change.Target{{TID: other}}, Tuning{Strategy: place.LeastLoaded})
	require.NoError(t, err)
	require.Len(t, ask.Ignored, 1)
	assert.Equal(t, self, ask.Ignored[0].TID)
	ask, err = Ask(d, []change.Target{{TID: self}}, Tuning{Strategy: place.LeastLoaded})
	require.NoError(t, err)
	assert.Empty(t, ask.Ignored, "it is to be placed")
}

// TestMemoryFollows: memory near CPUs that are not named is near those that are given.
func TestMemoryFollows(t *testing.T) {
	near := func(cpus ...cpuset.CPU) attr.Setting { return attr.SetMemoryNear(cpuset.Of(cpus...)) }
	given := attr.SetAffinity(cpuset.Of(1))
	wish := []attr.Setting{near(), attr.SetNice(1)}
	assert.Equal(t, []attr.Setting{near(1), attr.SetNice(1), given}, memoryFollows(wish, given))
	assert.Equal(t, near(), wish[0], "the wish is as it was")
	assert.Equal(t, []attr.Setting{near(7), given}, memoryFollows([]attr.Setting{near(7), given}))
	assert.Equal(t, wish, memoryFollows(wish), "near those that the process has")
}

func TestPlanSaysWhereThereIsNoCPU(t *testing.T) {
	pid := sleeper(t)
	d := Deps{Tuner: change.Local(), Model: machine(2, pid)}
	plan, err := d.Plan(context.Background(), Request{Targets: []change.Target{{TID: pid}}, Tuning: Tuning{Strategy: place.LeastLoaded, Within: cpuset.Of(7)}})
	require.NoError(t, err)
	assert.Empty(t, plan.Choices)
	require.Len(t, plan.Changes, 1)
	assert.Equal(t, attr.Refused, plan.Changes[0].Status)
	assert.NotEmpty(t, plan.Changes[0].Reason)
}

func TestPlanNeedsTheLoad(t *testing.T) {
	d := Deps{Tuner: change.Local()}
	_, err := d.Plan(context.Background(), Request{Targets: []change.Target{{TID: sleeper(t)}}, Tuning: Tuning{Strategy: place.Spread}})
	assert.ErrorContains(t, err, "not known yet")
	_, err = d.Plan(context.Background(), Request{Targets: []change.Target{{TID: 1}}, Tuning: Tuning{}})
	var usage attr.UsageError
	assert.ErrorAs(t, err, &usage, "nothing to set")
}

func TestNiceBySteps(t *testing.T) {
	pid := sleeper(t)
	d := Deps{Tuner: change.Local()}
	want, err := kernel.System().Nice(pid) // the tests' own, mostly 0
	require.NoError(t, err)
	for _, by := range []int{1, 1, 30} {
		want = min(want+by, 19)
		plan, err := d.Plan(context.Background(), Request{Targets: []change.Target{{TID: pid}}, Tuning: Tuning{NiceBy: by}})
		require.NoError(t, err)
		_, err = d.Apply(context.Background(), plan.Plan, change.Confirmation{})
		require.NoError(t, err)
		nice, err := kernel.System().Nice(pid)
		require.NoError(t, err)
		assert.Equal(t, want, nice)
	}
}

func TestNiceStepsEachThreadFromItsOwn(t *testing.T) {
	pid := kernel.TID(os.Getpid())
	own, err := kernel.System().Nice(pid)
	require.NoError(t, err)
	if own > 10 {
		t.Skip("needs room to raise nice")
	}
	d, targets := Deps{Tuner: change.Local()}, []change.Target{{TID: pid}}
	var worker kernel.TID
	var up, down Proposal
	require.NoError(t, kernel.OnThread(func() (err error) {
		worker = kernel.TID(syscall.Gettid())
		if err = kernel.System().SetAttr(0, kernel.SchedAttr{Nice: own + 5}); err != nil {
			return err
		}
		if up, err = d.Plan(context.Background(), Request{Targets: targets, Tuning: Tuning{NiceBy: 1}}); err != nil {
			return err
		}
		down, err = d.Plan(context.Background(), Request{Targets: targets, Tuning: Tuning{NiceBy: -40}})
		return err
	}))
	after := map[kernel.TID]attr.Value{}
	for _, c := range up.Changes {
		after[c.TID] = c.After
	}
	assert.Equal(t, attr.NiceValue(own+1), after[pid])
	assert.Equal(t, attr.NiceValue(own+6), after[worker])
	assert.Len(t, up.Requests, 2, "one for each value")
	require.Len(t, down.Requests, 1, "all alike")
	assert.Equal(t, change.ScopeProcess, down.Requests[0].Targets[0].Scope)
}

func TestPlacer(t *testing.T) {
	pid := sleeper(t)
	before, err := kernel.System().Affinity(pid)
	require.NoError(t, err)
	topo, err := topology.Read("/")
	require.NoError(t, err)
	measured := 0
	put := Placer(change.Local(), topo, func(context.Context) (*model.Model, error) {
		measured++
		return machine(2, pid), nil
	})
	placed, err := put(context.Background(), pid, bench.Spec{})
	require.NoError(t, err)
	assert.Equal(t, bench.Placed{}, placed, "normal changes nothing")

	own, err := kernel.System().Nice(pid)
	require.NoError(t, err)
	nice := min(19, own+3)
	placed, err = put(context.Background(), pid, bench.Spec{CPUs: before.String(), Nice: &nice, Policy: kernel.Batch})
	require.NoError(t, err)
	assert.Equal(t, before.String(), placed.CPUs)
	attr, err := kernel.System().Attr(pid)
	require.NoError(t, err)
	assert.Equal(t, kernel.Batch, attr.Policy)
	assert.Equal(t, nice, attr.Nice)
	assert.Zero(t, measured, "given CPUs need no measuring")

	_, err = put(context.Background(), pid, bench.Spec{Strategy: place.LeastLoaded})
	require.NoError(t, err)
	assert.Equal(t, 1, measured)

	_, err = put(context.Background(), pid, bench.Spec{CPUs: "65000"})
	assert.ErrorContains(t, err, "65000")

	_, err = put(context.Background(), pid, bench.Spec{Aggregate: true})
	assert.EqualError(t, err, "this piton is built without it", "the laboratory has it")
}

// TestAProcessThatSetsItsOwnAffinityIsSaidTo: before a pin is tried, and where it has the
// CPUs already that it would be given.
func TestAProcessThatSetsItsOwnAffinityIsSaidTo(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	var hop func()
	n := 0
	hop = func() {
		n++
		_ = m.SetAffinity(10, cpuset.Of(cpuset.CPU(n%2)))
		m.Fake.Before("Affinity", 10, hop)
	}
	m.Fake.Before("Affinity", 10, hop)
	pin := Tuning{Set: []attr.Setting{attr.SetAffinity(cpuset.Of(1))}}
	d := Deps{Tuner: m.Tuner(change.Options{})}
	for range 2 {
		plan, err := d.Plan(t.Context(), Request{Targets: []change.Target{{TID: 10}}, Tuning: pin})
		require.NoError(t, err)
		if plan.Changes[0].Status == attr.Unchanged {
			assert.Contains(t, plan.Changes[0].Why(), "sets its own affinity, at least")
		}
		n++ // the next one finds the other mask
	}
	d.Model = machine(2, 10)
	d.Model.Tasks[0].MigPerS = 500
	for range 2 {
		plan, err := d.Plan(t.Context(), Request{Targets: []change.Target{{TID: 10}}, Tuning: pin})
		require.NoError(t, err)
		n++
		if plan.Changes[0].Status == attr.Planned {
			assert.Contains(t, change.Texts(plan.Warnings)[0], "a pin will not hold")
		}
	}
}
