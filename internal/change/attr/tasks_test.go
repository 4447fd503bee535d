package attr_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/change/changetest"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/kernel/kernelfake"
)

func plan(t *testing.T, m *changetest.Machine, s attr.Setting, tids ...kernel.TID) change.Plan {
	t.Helper()
	return changetest.Plan(t, m.Tuner(change.Options{}), changetest.One(s, tids...))
}

func warnings(t *testing.T, m *changetest.Machine, o change.Options, s attr.Setting) []string {
	t.Helper()
	return change.Texts(changetest.Plan(t, m.Tuner(o), changetest.One(s, 10)).Warnings)
}

// The undo of a slice that was never set writes 0 and not the length that was read.
func TestUndoOfASliceIsTheDefault(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	tuner := m.Tuner(change.Options{Journal: changetest.Journal(t)})
	outcome := changetest.Apply(t, tuner, changetest.One(attr.SetSlice(3*time.Millisecond), 10))
	assert.Equal(t, []string{"slice default to 3ms: done"}, changetest.Brief(outcome.Changes))
	changetest.Undo(t, tuner, change.UndoRequest{Last: 1})
	assert.Equal(t, []string{"SetSlice(10, 3000000)", "SetSlice(10, 0)"}, m.Calls())

	base := attr.SetSlice(2800 * time.Microsecond) // as long as the default
	assert.Equal(t, []string{"slice default to default: unchanged"}, changetest.Brief(plan(t, m, base, 10).Changes))
}

func TestSliceOfARealTimeTask(t *testing.T) {
	m := changetest.New(t)
	m.SpawnAs(10, 10, kernelfake.Task{Affinity: cpuset.Of(0), Attr: kernel.SchedAttr{Policy: kernel.FIFO, RTPrio: 5}})
	c := plan(t, m, attr.SetSlice(time.Millisecond), 10).Changes[0]
	assert.Equal(t, attr.Refused, c.Status)
	assert.Equal(t, "its policy is FIFO, and only OTHER and BATCH tasks have a slice", c.Reason)
}

func TestClampAndItsUndo(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	m.SpawnAs(20, 20, kernelfake.Task{Affinity: cpuset.Of(0), Attr: kernel.SchedAttr{Policy: kernel.FIFO, RTPrio: 5}})
	tuner := m.Tuner(change.Options{Journal: changetest.Journal(t)})
	half := attr.Setting{Attribute: attr.Clamp, Value: attr.ClampValue{Clamp: kernel.Clamp{Min: 0, Max: 512}}}
	outcome := changetest.Apply(t, tuner, changetest.One(half, 10))
	assert.Equal(t, []string{"uclamp 0,1024 to 0,512: done"}, changetest.Brief(outcome.Changes))
	changetest.Undo(t, tuner, change.UndoRequest{Last: 1})
	assert.Equal(t, []string{"SetClamp(10, 0,512,false)", "SetClamp(10, 0,1024,true)"}, m.Calls(), "given back to the kernel")

	assert.Equal(t, []string{"uclamp 0,1024 to 0,1024: unchanged", "uclamp 1024,1024 to 0,1024: planned"},
		changetest.Brief(plan(t, m, attr.Setting{Attribute: attr.Clamp, Value: attr.ClampValue{Reset: true}}, 10, 20).Changes),
		"the sysctl of the fake machine says 0 for real time")
}

func TestCookies(t *testing.T) {
	m := changetest.New(t)
	for _, tid := range []kernel.TID{10, 11} {
		m.Spawn(10, tid)
	}
	m.Spawn(20, 20)
	j := changetest.Journal(t)
	tuner := m.Tuner(change.Options{Journal: j})
	set := func(c attr.CookieValue, tids ...kernel.TID) change.Outcome {
		return changetest.Apply(t, tuner, changetest.One(attr.SetCookie(c), tids...))
	}
	outcome := set(attr.CookieValue{New: true}, 10)
	assert.Equal(t, []string{"cookie none to 0xc0de0001: done", "cookie none to 0xc0de0001: done"}, changetest.Brief(outcome.Changes), "one for all")
	outcome = set(attr.CookieValue{From: 10}, 20)
	assert.Equal(t, []string{"cookie none to 0xc0de0001: done"}, changetest.Brief(outcome.Changes))

	m.Spawn(1, 1)
	later := m.Tuner(change.Options{Journal: j}) // another piton, which holds no cookie
	outcome = changetest.Undo(t, later, change.UndoRequest{All: true})
	require.Equal(t, 3, outcome.Count(attr.Done), "%+v", outcome.Changes)
	for _, tid := range []kernel.TID{10, 11, 20} {
		assert.Zero(t, m.Task(tid).Cookie)
	}
	assert.Equal(t, "10 has no cookie to share", set(attr.CookieValue{From: 10}, 20).Changes[0].Reason)
}

func TestBarePriorityKeepsThePolicy(t *testing.T) {
	m := changetest.New(t)
	m.SpawnAs(10, 10, kernelfake.Task{Attr: kernel.SchedAttr{Policy: kernel.RR, RTPrio: 5, ResetOnFork: true}})
	m.Spawn(20, 20)
	changes := plan(t, m, policy(t, "30"), 10, 20).Changes
	assert.Equal(t, []string{"policy RR:5,reset-on-fork to RR:30,reset-on-fork: planned", "policy OTHER to 30: refused"}, changetest.Brief(changes))
	assert.Equal(t, "its policy is OTHER, which has no real-time priority: say fifo:30 or rr:30", changes[1].Reason)
}

func TestDeadlineIsCautioned(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	warnings := func(text string) []string { return warnings(t, m, change.Options{}, policy(t, text)) }
	assert.Equal(t, []string{"10 (job) cannot create threads or processes while it is DEADLINE (they fail with EAGAIN); add ,reset-on-fork to let it create ordinary ones"},
		warnings("deadline:5ms/10ms/10ms"))
	assert.Empty(t, warnings("deadline:5ms/10ms/10ms,reset-on-fork"))
	m.Write("sys/kernel/sched_ext/state", "disabled\n")
	assert.Equal(t, []string{"no sched_ext scheduler is loaded: until one is, EXT tasks are run as OTHER ones"}, warnings("ext"))
}

func TestOneWayChangesAreSaidBefore(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	for want, s := range map[string]attr.Setting{
		"nice value of 10 cannot be undone: lowering nice from 5 to 0 needs CAP_SYS_NICE (or a RLIMIT_NICE of at least 20, it is 0": attr.SetNice(5),
		"policy of 10 cannot be undone: leaving SCHED_IDLE needs CAP_SYS_NICE (or a RLIMIT_NICE of at least 20, it is 0":            policy(t, "idle"),
		"policy of 10 cannot be undone: dropping reset-on-fork needs CAP_SYS_NICE":                                                  policy(t, "other,reset-on-fork"),
	} {
		p := changetest.Plan(t, m.Tuner(withRights(changetest.NoRights)), changetest.One(s, 10))
		require.Len(t, p.Warnings, 1)
		assert.Contains(t, p.Warnings[0].Text, want)
		assert.True(t, p.OneWay())
		p = plan(t, m, s, 10)
		assert.Empty(t, p.Warnings, "root may go back")
		assert.False(t, p.OneWay())
	}
	generous := withRights(changetest.NoRights)
	generous.Limits = func(kernel.TID) (kernel.Limits, error) { return kernel.Limits{Nice: 20}, nil }
	assert.Empty(t, warnings(t, m, generous, attr.SetNice(5)), "RLIMIT_NICE allows the way back")
}

func TestAutogroupOfASession(t *testing.T) {
	m := changetest.New(t)
	for _, pid := range []kernel.TID{10, 20, 30} {
		m.Spawn(pid, pid)
	}
	m.Spawn(10, 11)
	m.Sessions[30] = "/autogroup-2"
	tuner := m.Tuner(change.Options{Journal: changetest.Journal(t)})
	five := changetest.One(attr.Setting{Attribute: attr.Autogroup, Value: attr.NiceValue(5)}, 10, 20, 30)
	outcome := changetest.Apply(t, tuner, five)
	assert.Equal(t, []string{"autogroup 0 to 5: done", "autogroup 0 to 0: unchanged", "autogroup 0 to 5: done"}, changetest.Brief(outcome.Changes),
		"one process stands for its session")
	assert.Equal(t, "it is in the session of 10", outcome.Changes[1].Reason)
	assert.Equal(t, map[string]int{"/autogroup-1": 5, "/autogroup-2": 5}, m.Groups)
	assert.Equal(t, 2, changetest.Undo(t, tuner, change.UndoRequest{All: true}).Count(attr.Done))
	assert.Equal(t, map[string]int{"/autogroup-1": 0, "/autogroup-2": 0}, m.Groups)

	early := changetest.Plan(t, tuner, five)
	m.Replace(10, 10, "other") // the number was reused
	outcome = changetest.ApplyPlan(t, tuner, early)
	assert.ErrorIs(t, outcome.Changes[0].Err, attr.ErrGone)
	assert.Zero(t, m.Groups["/autogroup-1"], "the newcomer's session was left alone")

	m.Sessions[30] = ""
	c := plan(t, m, attr.Setting{Attribute: attr.Autogroup, Value: attr.NiceValue(5)}, 30).Changes[0]
	assert.Equal(t, attr.Refused, c.Status)
	assert.ErrorIs(t, c.Err, attr.ErrNotSupported)
	assert.Contains(t, c.Reason, "it is in no autogroup")
}

func TestPlanWarnsOfCPUsThatAreNotThere(t *testing.T) {
	m := changetest.New(t)
	m.SpawnAs(10, 10, kernelfake.Task{Affinity: cpuset.Of(0)})
	assert.Equal(t, []string{"CPU 9 is not online here (online: 0-3); the kernel leaves out what is not"},
		warnings(t, m, change.Options{}, attr.SetAffinity(cpuset.Of(1, 9))))
	m.SetOnline(cpuset.Of(0, 1))
	for release, words := range map[string]string{
		"6.1.0-50-cloud-amd64": "this kernel leaves them out for good: set the affinity again when online",
		"6.6.1":                "the kernel may leave them out for good: look again when online",
		"6.12.117":             "the task may use them once online",
	} {
		m.Write("proc/sys/kernel/osrelease", release)
		assert.Equal(t, []string{"CPUs 2-3 are not online here (online: 0-1); " + words}, warnings(t, m, change.Options{}, attr.SetAffinity(cpuset.Of(1, 2, 3))))
	}
	assert.Equal(t, "CPUs 2-3 are not online here (online: 0-1)", plan(t, m, attr.SetAffinity(cpuset.Of(2, 3)), 10).Changes[0].Reason)
}
