package daemon

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/action"
	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/change/changetest"
	"piton/internal/change/history"
	"piton/internal/change/journal"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/procfs"
	"piton/internal/rules"
)

// wants gives each rule its settings.
type wants struct{ err error }

func (w wants) Tuning(r *rules.Rule) (action.Tuning, error) {
	t, err := r.Tuning(nil)
	return t, errors.Join(err, w.err)
}

func (wants) Load() (*model.Model, error) { return nil, errors.New("no rule has a strategy") }

// changer has a journal of its own.
func changer(t *testing.T, lock journal.Lock) (*Changer, *journal.Journal) {
	j, err := journal.Open(filepath.Join(t.TempDir(), "piton", "journal"))
	require.NoError(t, err)
	tuner := change.New(change.Options{
		Sources: attr.Sources{Proc: procfs.New("/")}, Writer: kernel.SystemWriter(), FileWriter: kernel.SystemFiles(),
		Journal: j, Lock: lock, Daemon: true,
	})
	return &Changer{Tuner: tuner, Wants: wants{}}, j
}

func sleeper(t testing.TB) kernel.TID {
	cmd := exec.Command("sleep", "600")
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return kernel.TID(cmd.Process.Pid)
}

func decision(t testing.TB, pid kernel.TID, r *rules.Rule) rules.Decision {
	st, err := procfs.New("/").Stat(pid)
	require.NoError(t, err)
	return rules.Decision{ID: rules.ID{PID: pid}, StartTicks: st.StartTicks, Rule: r}
}

func twoRules(t *testing.T) (a, b *rules.Rule) {
	set, err := rules.Parse([]byte(one + "[[rule]]\nname = 'b'\ncomm = 'b'\npolicy = 'batch'\nioprio = 'idle'\n"))
	require.NoError(t, err)
	return set.Rules[0], set.Rules[1]
}

// TestApplyIsOneEntry is that what is due together is recorded together, each process with
// its own end.
func TestApplyIsOneEntry(t *testing.T) {
	c, j := changer(t, nil)
	a, b := twoRules(t)
	first, second, reused := sleeper(t), sleeper(t), sleeper(t)
	other := decision(t, reused, a)
	other.StartTicks-- // the number was another process's
	batch := []rules.Decision{decision(t, first, a), decision(t, second, b), other}
	effects, _, _ := c.Apply(context.Background(), batch)
	require.Len(t, effects, 3)
	for i, want := range []struct {
		status  Status
		changes int
	}{{Done, 1}, {Done, 2}, {Ended, 1}} {
		assert.Equal(t, want.status, effects[i].Status, effects[i].Why)
		assert.Len(t, effects[i].Changes, want.changes)
	}
	entries, _, err := j.Entries()
	require.NoError(t, err)
	require.Len(t, entries, 1)
	assert.Equal(t, []uint64{1, 1, 0}, []uint64{effects[0].Entry, effects[1].Entry, effects[2].Entry})
	assert.Equal(t, `rule "a"; rule "b"`, entries[0].Reason)
	assert.Equal(t, []uint64{1}, InForce(procfs.New("/"), entries))

	again, _, _ := c.Apply(context.Background(), batch[:1])
	assert.Equal(t, Unchanged, again[0].Status)
	entries, _, _ = j.Entries()
	assert.Len(t, entries, 1, "nothing was to be changed")
}

func TestDryRun(t *testing.T) {
	c, j := changer(t, nil)
	c.DryRun = true
	a, _ := twoRules(t)
	effects, _, _ := c.Apply(context.Background(), []rules.Decision{decision(t, sleeper(t), a)})
	assert.Equal(t, Planned, effects[0].Status)
	entries, _, _ := j.Entries()
	assert.Empty(t, entries)
}

// busy is a lock that another piton has a few times.
type busy struct{ times int }

func (b *busy) Acquire(time.Duration, string) (func(), error) {
	if b.times--; b.times >= 0 {
		return nil, journal.ErrBusy
	}
	return func() {}, nil
}

func TestApplyLeavesWhatTheLockDelays(t *testing.T) {
	c, _ := changer(t, &busy{times: 1})
	a, _ := twoRules(t)
	batch := []rules.Decision{decision(t, sleeper(t), a), decision(t, sleeper(t), a)}
	effects, later, why := c.Apply(context.Background(), batch)
	assert.Empty(t, effects)
	require.ErrorIs(t, why, journal.ErrBusy)
	require.Equal(t, batch, later)
	effects, later, why = c.Apply(context.Background(), later)
	assert.Empty(t, later)
	require.NoError(t, why)
	require.Len(t, effects, 2)
	assert.Equal(t, Done, effects[1].Status)
}

func TestApplyFailsForEach(t *testing.T) {
	c, _ := changer(t, nil)
	c.Wants = wants{errors.New("there is no CPU 9")}
	a, b := twoRules(t)
	effects, _, _ := c.Apply(context.Background(), []rules.Decision{decision(t, sleeper(t), a), decision(t, sleeper(t), b)})
	require.Len(t, effects, 2)
	for _, d := range effects {
		assert.Equal(t, Failed, d.Status)
		assert.Equal(t, "there is no CPU 9", d.Why)
	}
}

// TestGone is that an entry whose process has ended is not in force.
func TestGone(t *testing.T) {
	c, j := changer(t, nil)
	a, _ := twoRules(t)
	cmd := exec.Command("sleep", "600")
	require.NoError(t, cmd.Start())
	effects, _, _ := c.Apply(context.Background(), []rules.Decision{decision(t, kernel.TID(cmd.Process.Pid), a)})
	require.Equal(t, Done, effects[0].Status)
	entries, _, err := j.Entries()
	require.NoError(t, err)
	assert.False(t, history.Ended(procfs.New("/"), &entries[0]))
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	assert.True(t, history.Ended(procfs.New("/"), &entries[0]))
	assert.Empty(t, InForce(procfs.New("/"), entries))
}

// TestApplyOfAGroup: what a rule sets of a control group is an effect on the process.
func TestApplyOfAGroup(t *testing.T) {
	c, _ := changer(t, nil)
	set, err := rules.Parse([]byte("version = 1\n[[rule]]\nname = 'a'\nuser = 'root'\nweight = 'idle'\n"))
	require.NoError(t, err)
	pid := sleeper(t)
	changetest.RealGroup(t, pid, "cpu")
	batch := []rules.Decision{decision(t, pid, set.Rules[0])}
	for _, want := range []Status{Done, Unchanged} {
		effects, _, err := c.Apply(t.Context(), batch)
		require.NoError(t, err)
		require.Len(t, effects, 1)
		assert.Equal(t, want, effects[0].Status, effects[0].Why)
		require.Len(t, effects[0].Changes, 1)
	}
}
