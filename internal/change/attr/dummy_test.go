package attr_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/change/changetest"
	"piton/internal/change/journal"
	"piton/internal/kernel"
)

// mood is an attribute that no kernel has: "mood 3".
type mood int

func (m mood) String() string { return fmt.Sprintf("mood %d", int(m)) }

const dummy = attr.Attribute("dummy")

func registerDummy(moods map[kernel.TID]mood) (undo func()) {
	return attr.Register(dummy,
		func(text string) (attr.Value, error) {
			var m mood
			if _, err := fmt.Sscanf(text, "mood %d", &m); err != nil {
				return nil, attr.Usagef("%q is no mood", text)
			}
			return m, nil
		},
		func(o attr.Object) (attr.Value, error) { return moods[o.TID], nil },
		func(w attr.Write) error {
			moods[w.Change.TID] = w.Change.After.(mood)
			return w.Task.Still()
		})
}

// An attribute that is in the table needs nothing else to be planned, made, recorded
// and undone.
func TestANewAttributeIsALineOfTheTable(t *testing.T) {
	moods := map[kernel.TID]mood{10: 1, 11: 2}
	undo := registerDummy(moods)
	m := changetest.New(t)
	m.Write("proc/uptime", "20.00 1.00\n")
	m.Spawn(10, 10)
	m.Spawn(10, 11)
	j := changetest.Journal(t)
	tuner := m.Tuner(change.Options{Journal: j})
	outcome := changetest.Apply(t, tuner, changetest.One(attr.Setting{Attribute: dummy, Value: mood(2)}, 10))
	assert.Equal(t, []string{"dummy mood 1 to mood 2: done", "dummy mood 2 to mood 2: unchanged"}, changetest.Brief(outcome.Changes))
	assert.Equal(t, map[kernel.TID]mood{10: 2, 11: 2}, moods)
	_, err := tuner.Plan(t.Context(), changetest.One(attr.Setting{Attribute: dummy, Value: attr.NiceValue(2)}, 10))
	var usage attr.UsageError
	require.ErrorAs(t, err, &usage)

	reader, err := journal.Open(j.Path()) // as another piton reads it
	require.NoError(t, err)
	assert.Equal(t, mood(1), changetest.Entries(t, reader)[0].Changes[0].Before)
	outcome = changetest.Undo(t, m.Tuner(change.Options{Journal: reader}), change.UndoRequest{All: true})
	assert.Equal(t, []string{"dummy mood 2 to mood 1: done"}, changetest.Brief(outcome.Changes))
	assert.Equal(t, map[kernel.TID]mood{10: 1, 11: 2}, moods)

	// A piton without it tells what its journal holds, and leaves it alone.
	changetest.Apply(t, tuner, changetest.One(attr.Setting{Attribute: dummy, Value: mood(3)}, 10))
	undo()
	older, err := journal.Open(j.Path())
	require.NoError(t, err)
	outcome = changetest.Undo(t, m.Tuner(change.Options{Journal: older}), change.UndoRequest{All: true})
	assert.Equal(t, []string{"dummy  to mood 2: refused", "dummy  to mood 1: refused"}, changetest.Brief(outcome.Changes))
	assert.Empty(t, outcome.Undone)
	data, err := os.ReadFile(j.Path())
	require.NoError(t, err)
	assert.Contains(t, string(data), `"after":"mood 3"`)
}
