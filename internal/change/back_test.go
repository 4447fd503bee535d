package change_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/change/changetest"
	"piton/internal/change/history"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/kernel/kernelfake"
)

// TestNoGuardOfWhatCannotBeReverted: an ordinary user cannot lower nice again.
func TestNoGuardOfWhatCannotBeReverted(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	j, g := changetest.Journal(t), &guards{}
	tuner := m.Tuner(change.Options{Sources: attr.Sources{Rights: changetest.NoRights}, Journal: j, Guards: g})
	for _, yes := range []bool{false, true} {
		o, err := tuner.Apply(t.Context(), plan(t, tuner, changetest.One(attr.SetNice(15), 10)), change.Confirmation{Yes: yes, RevertAfter: time.Second})
		require.NoError(t, err)
		assert.Equal(t, []string{"nice 0 to 15: refused"}, brief(o.Changes))
		assert.Contains(t, o.Changes[0].Reason, "it could not be reverted: lowering nice from 15 to 0 needs CAP_SYS_NICE")
		assert.Equal(t, change.NotPermitted, o.Verdict())
		assert.Empty(t, o.Warnings, "the refusal says why")
	}
	assert.Zero(t, g.after, "no guard is armed")
	assert.Empty(t, m.Calls())
	assert.Empty(t, changetest.Entries(t, j))

	// Without a guard it is made, and told beforehand.
	p := plan(t, tuner, changetest.One(attr.SetNice(15), 10))
	assert.Contains(t, change.Texts(p.Warnings)[0], "nice value of 10 cannot be undone: lowering nice from 15 to 0 needs CAP_SYS_NICE")
	assert.Equal(t, 1, applyPlan(t, tuner, p).Count(attr.Done))
}

// TestGuardOfTheRest: of a plan, what can be reverted is made under the guard.
func TestGuardOfTheRest(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	g := &guards{}
	tuner := m.Tuner(change.Options{Sources: attr.Sources{Rights: changetest.NoRights}, Journal: changetest.Journal(t), Guards: g})
	both := changetest.Set([]attr.Setting{attr.SetNice(15), attr.SetAffinity(cpuset.Of(1))}, 10)
	p := plan(t, tuner, both)
	m.Before("SetAffinity", 10, func() { m.Spawn(10, 11) })
	o, err := tuner.Apply(t.Context(), p, change.Confirmation{RevertAfter: time.Second})
	require.NoError(t, err)
	assert.Equal(t, []string{"affinity 0-3 to 1: done", "nice 0 to 15: refused", "affinity 0-3 to 1: done"}, brief(o.Changes))
	assert.Equal(t, change.Some, o.Verdict())
	assert.Equal(t, []string{"SetAffinity(10, 1)", "SetAffinity(11, 1)"}, m.Calls(), "the newborn's, too")
	assert.NotNil(t, o.Guard)
}

// TestNoGuardOfANewbornThatCannotBeReverted: its process had the value already.
func TestNoGuardOfANewbornThatCannotBeReverted(t *testing.T) {
	m := changetest.New(t)
	m.SpawnAs(10, 10, kernelfake.Task{Affinity: cpuset.Of(0, 1, 2, 3), Attr: kernel.SchedAttr{Nice: 15}})
	m.Spawn(20, 20)
	tuner := m.Tuner(change.Options{Sources: attr.Sources{Rights: changetest.NoRights}, Journal: changetest.Journal(t), Guards: &guards{}})
	requests := append(changetest.One(attr.SetNice(15), 10), pin(change.ScopeProcess, cpuset.Of(1), 20)...)
	p := plan(t, tuner, requests)
	m.Before("SetAffinity", 20, func() { m.Spawn(10, 11) })
	o, err := tuner.Apply(t.Context(), p, change.Confirmation{RevertAfter: time.Second})
	require.NoError(t, err)
	assert.Equal(t, []string{"nice 15 to 15: unchanged", "affinity 0-3 to 1: done", "nice 0 to 15: refused"}, brief(o.Changes))
}

// TestNoTrialOfWhatCannotBeReverted is refused before anything is tried.
func TestNoTrialOfWhatCannotBeReverted(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	tuner := m.Tuner(change.Options{Sources: attr.Sources{Rights: changetest.NoRights}, Journal: changetest.Journal(t), Guards: &guards{}})
	p, err := tuner.PlanTrial(t.Context(), [][]change.Request{changetest.One(attr.SetNice(0), 10), changetest.One(attr.SetNice(5), 10)})
	require.NoError(t, err)
	bad, _ := p.Preview().FirstBad()
	assert.Contains(t, bad.Reason, "it could not be reverted: lowering nice from 5 to 0")
	require.ErrorIs(t, bad.Err, attr.ErrNotPermitted)
}

const kexec = "/proc/sys/kernel/kexec_load_disabled"

// TestOneWaySysctlNeedsYes: nobody undoes it, so a guard is no confirmation.
func TestOneWaySysctlNeedsYes(t *testing.T) {
	m := changetest.New(t)
	m.Settings.Put(kexec, "0\n")
	m.Spawn(10, 10)
	j, g := changetest.Journal(t), &guards{}
	tuner := m.Tuner(change.Options{Journal: j, Guards: g})
	p := plan(t, tuner, changetest.File(attr.Sysctl, kexec, "kernel.kexec_load_disabled", attr.Line("1")))
	const danger = "value of kernel.kexec_load_disabled cannot be undone: only a reboot sets it to 0"
	assert.Equal(t, danger, p.Danger())
	assert.True(t, p.AsksFirst())
	assert.Equal(t, []string{danger}, change.Texts(p.Preview().Warnings))
	_, err := tuner.Apply(t.Context(), p, change.Confirmation{})
	require.EqualError(t, err, "refused: "+danger+"; --yes does it anyway")
	o, err := tuner.Apply(t.Context(), p, change.Confirmation{Yes: true, RevertAfter: time.Second})
	require.NoError(t, err)
	assert.Equal(t, "it could not be reverted: only a reboot sets it to 0", o.Changes[0].Reason)
	assert.Zero(t, g.after)
	assert.Empty(t, m.Settings.Calls())
	assert.Equal(t, change.NotPermitted, o.Verdict())

	assert.Equal(t, 1, applyPlan(t, tuner, p).Count(attr.Done))
	apply(t, tuner, pin(change.ScopeProcess, cpuset.Of(1), 10))
	o = undo(t, tuner, change.UndoRequest{All: true})
	assert.Equal(t, []string{"affinity 1 to 0-3: done", "sysctl 1 to 0: refused"}, brief(o.Changes))
	assert.Equal(t, "cannot be undone: only a reboot sets it to 0", o.Changes[1].Reason)
	assert.ErrorIs(t, o.Changes[1].Err, attr.ErrOneWay)
	assert.Equal(t, []uint64{2}, o.Undone)

	operations := history.Operations(changetest.Entries(t, j), nil)
	operations[0].Found = change.Check(t.Context(), tuner, operations)[1]
	assert.Equal(t, "in force", operations[0].State())
}
