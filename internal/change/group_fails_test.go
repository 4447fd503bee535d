package change_test

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/change/changetest"
	"piton/internal/change/journal"
	"piton/internal/kernel"
)

// breaking takes so many writes to files, and fails those after them.
type breaking struct {
	kernel.SettingsWriter
	left int
}

func (f *breaking) WriteSetting(path, text string) error {
	if f.left--; f.left < 0 {
		return syscall.EIO
	}
	return f.SettingsWriter.WriteSetting(path, text)
}

// TestUndoOfAGroupHalfSet: where a write fails and the one before it cannot be undone either, that
// is said, and undo does it.
func TestUndoOfAGroupHalfSet(t *testing.T) {
	for _, unified := range []bool{true, false} {
		m := changetest.New(t)
		m.Spawn(10, 10)
		m.Group("/web", unified, 10)
		o := change.Options{Journal: journal.New(&journal.Memory{}, journal.Where{Boot: "this"})}
		o.Sources, o.Writer, o.FileWriter = m.Sources(), m.Fake, &breaking{m.Settings, 1}
		tuner := change.New(o)
		original := m.Settings.All()
		out := apply(t, tuner, changetest.One(ofQuota(t, "20% burst 5ms"), 10))
		assert.Equal(t, attr.Failed, out.Changes[0].Status)
		assert.True(t, out.Changes[0].Taken)
		assert.NotEqual(t, original, m.Settings.All())
		undo(t, m.Tuner(change.Options{Journal: o.Journal}), change.UndoRequest{All: true})
		assert.Equal(t, original, m.Settings.All())
	}
}

// TestQuotaOfAnotherPeriod: somebody else sets the period when the plan is made.
func TestQuotaOfAnotherPeriod(t *testing.T) {
	for _, unified := range []bool{true, false} {
		m := changetest.New(t)
		m.Spawn(10, 10)
		dir := m.Group("/web", unified, 10)
		tuner := m.Tuner(change.Options{})
		p := plan(t, tuner, changetest.One(ofQuota(t, "20%"), 10))
		m.Settings.Put(dir+"/cpu.max", "max 50000\n")
		m.Settings.Put(dir+"/cpu.cfs_period_us", "50000\n")
		out := applyPlan(t, tuner, p)
		assert.Equal(t, attr.Done, out.Changes[0].Status, "%+v", out.Changes)
		assert.Equal(t, "20% period 50ms", out.Changes[0].After.String())
	}
}

func ofQuota(t *testing.T, text string) attr.Setting {
	t.Helper()
	v, err := attr.Quota.Parse(text)
	assert.NoError(t, err)
	return attr.Setting{Attribute: attr.Quota, Value: v}
}
