package partition

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/change"
	"piton/internal/change/attr"
)

// TestUndoLeftOneAlone: what somebody else has pinned meanwhile stays, and is no
// reason to say that the CPUs are apart.
func TestUndoLeftOneAlone(t *testing.T) {
	w := server(t)
	before := w.masks()
	w.isolate("4-7")
	pinned := w.f.Tasks[6].key() // 10
	*w.at(pinned) = set(t, "4")
	w.include("4-7")
	before[pinned] = "4"
	require.Equal(t, before, w.masks())
	require.False(t, w.entries[0].Undone, "it can be forced yet")
	past := Past(w.entries)
	assert.True(t, past.Apart().Empty())

	w.isolate("6-7")
	w.include("6-7")
	assert.Equal(t, before, w.masks(), "CPUs 4-5 are taken from nothing")

	forced, err := Include(w.f, set(t, "4-7"), pastFor(w.entries, set(t, "4-7"), true), true)
	require.NoError(t, err)
	assert.Equal(t, []uint64{1}, forced.Undo)
	_, err = Include(w.f, set(t, "4-7"), pastFor(w.entries, set(t, "4-7"), false), false)
	assert.ErrorContains(t, err, "not isolated")
}

// TestUndoThatFailed: the CPUs are apart until all of it has come back, and what
// has come back already loses nothing meanwhile.
func TestUndoThatFailed(t *testing.T) {
	w := server(t)
	before := w.masks()
	w.isolate("4-7")
	failed := w.f.Tasks[6].key() // 10
	*w.at(failed) = set(t, "0")  // so that it is left out
	undo := w.undo(1)
	*w.at(failed) = set(t, "2-3")
	undo.Changes = append(undo.Changes, change.Change{Object: attr.Object{PID: 10, TID: 10, StartTicks: 10}, Attribute: attr.Affinity,
		Before: set(t, "2-3"), After: set(t, "2-5"), Status: attr.Failed})
	past := Past(w.entries)
	require.Equal(t, "4-7", past.Apart().String())

	w.isolate("2-3")
	w.fork(100, 0)
	w.include("3")
	assert.Equal(t, "0-1,3-7", w.masks()[w.f.Tasks[0].key()])
	w.include("2")
	assert.Equal(t, "0-7", w.f.Tasks[len(w.f.Tasks)-1].Mask.String(), "so has the child of one that has all again")
	past = Past(w.entries)
	assert.Equal(t, "4-7", past.Apart().String())
	w.include("4-7")
	assert.True(t, w.entries[0].Undone)
	got := w.masks()
	for k, want := range before {
		assert.Equal(t, want, got[k], "%v", k)
	}
}

// TestUndoUnderAnother: an entry of which a later one holds a part is in force.
func TestUndoUnderAnother(t *testing.T) {
	w := server(t)
	before := w.masks()
	w.isolate("6-7")
	w.isolate("4-5")
	w.undo(1)
	past := Past(w.entries)
	assert.Equal(t, "4-7", past.Apart().String())
	w.include("4-5")
	w.include("6-7")
	assert.Equal(t, before, w.masks())
}

func TestUndoThatDidNotEnd(t *testing.T) {
	entries := []change.Entry{{ID: 1, Origin: isolated(t, "4-7")}, {ID: 2, Undoes: []uint64{1}}}
	past := Past(entries)
	assert.Equal(t, "4-7", past.Apart().String())
	entries[1].Finished = true
	past = Past(entries)
	assert.True(t, past.Apart().Empty())
}
