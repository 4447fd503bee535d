package journal

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/change/attr"
)

func compact(t *testing.T, j *Journal) {
	t.Helper()
	j.grown, j.KeepEntries = true, 2
	require.NoError(t, j.Compact())
}

func ids(entries []Entry) []uint64 {
	var out []uint64
	for _, e := range entries {
		out = append(out, e.ID)
	}
	return out
}

// What is in force stays, with what undos say of it, and the last entries; numbers are
// never given twice.
func TestCompactionKeepsWhatIsInForce(t *testing.T) {
	j := open(t)
	inForce := finished(t, j, 10, attr.Done)
	killed := add(t, j, Record{Kind: Begin}, pinned(11, attr.Planned))
	partly := finished(t, j, 12, attr.Done)
	trial := add(t, j, Record{Kind: Begin, Undoes: []uint64{partly}}) // and something stayed
	add(t, j, Record{Kind: End, ID: trial})
	for range 50 {
		undone(t, j, finished(t, j, 20, attr.Done))
	}
	refused := finished(t, j, 30, attr.Failed)
	last := finished(t, j, 40, attr.Done)
	undone(t, j, last)
	other := reopen(t, j) // has read it before
	before := entriesOf(t, other)
	size := func() int64 {
		info, err := os.Stat(j.path)
		require.NoError(t, err)
		return info.Size()
	}
	was := size()
	compact(t, j)
	assert.Less(t, size(), was/2)

	want := []uint64{inForce, killed, partly, trial, last, last + 1}
	for _, reader := range []*Journal{j, other, reopen(t, j)} {
		entries := entriesOf(t, reader)
		assert.Equal(t, want, ids(entries))
		assert.NotContains(t, want, refused)
		for _, e := range entries {
			assert.Equal(t, before[e.ID-1], e)
		}
	}
	assert.Equal(t, last+2, finished(t, other, 50, attr.Done))
	undone(t, j, inForce)
	assert.True(t, entriesOf(t, other)[0].Undone, "what is kept can be undone")

	for _, id := range []uint64{killed, partly, last + 2} {
		undone(t, j, id)
	}
	for range 5 {
		undone(t, j, finished(t, j, 20, attr.Done))
	}
	highest := entriesOf(t, j)[len(entriesOf(t, j))-1].ID
	j.grown, j.KeepEntries = true, 0
	require.NoError(t, j.Compact())
	assert.Empty(t, entriesOf(t, j))
	assert.Equal(t, highest+1, finished(t, reopen(t, j), 60, attr.Done), "also when nothing is left")
}

func TestCompactionKeepsDamageAndForeignEntries(t *testing.T) {
	j := open(t)
	foreign := finished(t, New(j.store, Where{Boot: j.here.Boot}), 10, attr.Done)
	old := finished(t, New(j.store, Where{Boot: "before"}), 10, attr.Done)
	bad := Record{Kind: Begin, ID: 90, Last: 90, Changes: []attr.Change{{Object: attr.Object{TID: 1}, Attribute: attr.Nice, Before: attr.Opaque("many"), After: attr.NiceValue(5)}}}
	line, err := bad.Line()
	require.NoError(t, err)
	text := "nonsense\n" + string(line) + "torn"
	data, err := os.ReadFile(j.path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(j.path, append(data, text...), 0o600))
	for range 20 {
		undone(t, j, finished(t, j, 20, attr.Done))
	}
	compact(t, j)
	entries, damage, err := reopen(t, j).Entries()
	require.NoError(t, err)
	assert.Len(t, damage, 2)
	assert.Contains(t, ids(entries), foreign, "its own namespace may undo it")
	assert.NotContains(t, ids(entries), old)
	data, err = os.ReadFile(j.path)
	require.NoError(t, err)
	assert.Contains(t, string(data), "nonsense\n"+string(line))
	assert.NotContains(t, string(data), "torn")
}

func TestCompactionOfWhatIsSmallOrOfUse(t *testing.T) {
	j := open(t)
	for range 20 {
		undone(t, j, finished(t, j, 20, attr.Done))
	}
	require.NoError(t, j.Compact())
	assert.Len(t, entriesOf(t, j), 40, "it is small")
	useful := open(t)
	for range 20 {
		finished(t, useful, 20, attr.Done)
	}
	compact(t, useful)
	assert.Len(t, entriesOf(t, useful), 20, "it is all in force")
}

// TestCompactionDropsWhatHasEnded is that entries whose tasks have ended go, where somebody
// can tell.
func TestCompactionDropsWhatHasEnded(t *testing.T) {
	j := open(t)
	var all []uint64
	for range 50 {
		all = append(all, finished(t, j, 10, attr.Done))
	}
	lives := all[7]
	compact(t, j)
	assert.Equal(t, all, ids(entriesOf(t, j)), "nobody can tell")
	j.Gone = func(e *Entry) bool { return e.ID != lives }
	compact(t, j)
	assert.Equal(t, []uint64{lives}, ids(entriesOf(t, j)), "what ended does not push out what is in force or was undone")
}
