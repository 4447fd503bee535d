package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/change/attr"
	"piton/internal/cpuset"
	"piton/internal/kernel"
)

func open(t *testing.T) *Journal {
	t.Helper()
	j, err := Open(filepath.Join(t.TempDir(), "state/piton/journal"))
	require.NoError(t, err)
	return j
}

func reopen(t *testing.T, j *Journal) *Journal {
	t.Helper()
	again, err := Open(j.path)
	require.NoError(t, err)
	return again
}

func entriesOf(t *testing.T, j *Journal) []Entry {
	t.Helper()
	entries, damage, err := j.Entries()
	require.NoError(t, err)
	require.Empty(t, damage)
	return entries
}

func add(t *testing.T, j *Journal, r Record, changes ...attr.Change) (id uint64) {
	t.Helper()
	r.Changes = changes
	_, err := j.Append(&r)
	require.NoError(t, err)
	return r.ID
}

func pinned(tid kernel.TID, status attr.Status) attr.Change {
	return attr.Change{
		Object: attr.Object{PID: tid, TID: tid, StartTicks: 1000, Comm: "job"}, Attribute: attr.Affinity,
		Before: cpuset.Of(0, 1), After: cpuset.Of(1), Status: status,
	}
}

// finished adds an entry of one change, and what became of it.
func finished(t *testing.T, j *Journal, tid kernel.TID, status attr.Status) (id uint64) {
	id = add(t, j, Record{Kind: Begin}, pinned(tid, attr.Planned))
	return add(t, j, Record{Kind: End, ID: id}, pinned(tid, status))
}

func undone(t *testing.T, j *Journal, id uint64) {
	undo := add(t, j, Record{Kind: Begin, Undoes: []uint64{id}})
	add(t, j, Record{Kind: End, ID: undo, Undone: []uint64{id}})
}

func TestPath(t *testing.T) {
	env := func(pairs ...string) func(string) string {
		return func(name string) string {
			for i := 0; i < len(pairs); i += 2 {
				if pairs[i] == name {
					return pairs[i+1]
				}
			}
			return ""
		}
	}
	assert.Equal(t, "/var/lib/piton/journal", Path(env("HOME", "/root"), 0))
	assert.Equal(t, "/home/b/.local/state/piton/journal", Path(env("HOME", "/home/b"), 1000))
	assert.Equal(t, "/s/piton/journal", Path(env("HOME", "/home/b", "XDG_STATE_HOME", "/s"), 1000))
	assert.Equal(t, "/s/piton/journal", Path(env("XDG_STATE_HOME", "/s"), 0))
	assert.Equal(t, "/var/lib/piton/journal", Path(env("XDG_STATE_HOME", "relative"), 0), "the specification ignores these")
}

func TestEntriesArePutTogether(t *testing.T) {
	j := open(t)
	id := add(t, j, Record{
		Kind: Begin, User: "balu (sudo)", Command: "piton pin 10", Reason: "why", Ticks: 7, Sweep: 6,
		Targets: []Target{{TID: 10, StartTicks: 1000, Scope: ScopeTree}},
	}, pinned(10, attr.Planned))
	before := entriesOf(t, j)[0]
	assert.False(t, before.Finished)
	add(t, j, Record{Kind: More, ID: id}, pinned(11, attr.Planned))
	gone := pinned(11, attr.Failed)
	gone.Err, gone.Reason = fmt.Errorf("set: %w", attr.ErrGone), "11 has ended"
	add(t, j, Record{Kind: End, ID: id}, pinned(10, attr.Done), gone, pinned(12, attr.Done))

	entries := entriesOf(t, reopen(t, j))
	require.Len(t, entries, 1)
	e := entries[0]
	assert.Equal(t, []any{uint64(1), "balu (sudo)", "piton pin 10", "why", uint64(7), uint64(6), true, false, false, ""},
		[]any{e.ID, e.User, e.Command, e.Reason, e.Ticks, e.Sweep, e.Finished, e.Undone, e.PastBoot, e.Foreign})
	assert.Equal(t, []Target{{TID: 10, StartTicks: 1000, Scope: ScopeTree}}, e.Targets)
	require.Len(t, e.Changes, 3)
	assert.Equal(t, pinned(10, attr.Done), e.Changes[0])
	assert.True(t, e.Changes[1].Gone())
	assert.Equal(t, "11 has ended", e.Changes[1].Reason)
	assert.Equal(t, pinned(12, attr.Done), e.Changes[2], "born with the value")
	assert.True(t, e.Undoable())
	assert.Len(t, before.Changes, 1, "what was handed out is not written to")

	undone(t, j, id)
	entries = entriesOf(t, j)
	assert.True(t, entries[0].Undone)
	assert.False(t, entries[0].Undoable() || entries[1].Undoable())
	id = finished(t, j, 10, attr.Failed)
	assert.False(t, entriesOf(t, j)[id-1].Undoable(), "it changed nothing")
}

// Where and when numbers mean something else, the entry says so.
func TestEntriesFromElsewhere(t *testing.T) {
	home := Namespaces{PID: 1, Time: 2, User: 3, Mount: 4}
	for want, there := range map[string]Where{
		"":      {Boot: "now", Namespaces: home},
		"PID":   {Boot: "now", Namespaces: Namespaces{PID: 9, Time: 2, User: 3, Mount: 4}},
		"time":  {Boot: "now", Namespaces: Namespaces{PID: 1, Time: 9, User: 3, Mount: 4}},
		"user":  {Boot: "now", Namespaces: Namespaces{PID: 1, Time: 2, User: 9, Mount: 4}},
		"mount": {Boot: "now", Namespaces: Namespaces{PID: 1, Time: 2, User: 3, Mount: 9}},
	} {
		store := open(t).store
		id := finished(t, New(store, there), 10, attr.Done)
		e := entriesOf(t, New(store, Where{Boot: "now", Namespaces: home}))[0]
		assert.Equal(t, []any{id, want, false, want == ""}, []any{e.ID, e.Foreign, e.PastBoot, e.Undoable()})
	}
	store := open(t).store
	finished(t, New(store, Where{Boot: "before", Namespaces: home}), 10, attr.Done)
	e := entriesOf(t, New(store, Where{Boot: "now", Namespaces: home}))[0]
	assert.True(t, e.PastBoot)
	assert.False(t, e.Undoable())
}

func TestManyWriters(t *testing.T) {
	path := open(t).path
	const writers, each = 4, 10
	var wg sync.WaitGroup
	for range writers {
		j, err := Open(path) // each has its own descriptor, as two processes do
		require.NoError(t, err)
		wg.Go(func() {
			for range each {
				err := ErrBusy // a loaded machine may keep one of them waiting for long
				for errors.Is(err, ErrBusy) {
					_, err = j.Append(&Record{Kind: Begin, Command: strings.Repeat("x", 5000)})
				}
				assert.NoError(t, err)
			}
		})
	}
	wg.Wait()
	j, err := Open(path)
	require.NoError(t, err)
	got := ids(entriesOf(t, j))
	for i := range writers * each {
		require.Equal(t, uint64(i+1), got[i])
	}
	assert.Len(t, got, writers*each)
}

func TestEntriesAreReadAgainWhenTheFileHasGrown(t *testing.T) {
	j := open(t)
	other := reopen(t, j)
	for want := range 3 {
		require.Len(t, entriesOf(t, j), want)
		require.Len(t, entriesOf(t, j), want)
		finished(t, other, 10, attr.Done)
	}
	require.NoError(t, os.Remove(j.path))
	require.NoError(t, os.WriteFile(j.path, nil, 0o600))
	require.Empty(t, entriesOf(t, j))
}

// The lines that a guard has make the entry, without the file.
func TestFromLines(t *testing.T) {
	j := open(t)
	var lines []byte
	tell := func(r Record, changes ...attr.Change) {
		r.Changes = changes
		line, err := j.Append(&r)
		require.NoError(t, err)
		lines = append(lines, line...)
	}
	_, err := FromLines(lines)
	require.EqualError(t, err, "no journal entry has begun")
	tell(Record{Kind: Begin}, pinned(10, attr.Planned))
	tell(Record{Kind: More, ID: 1}, pinned(11, attr.Planned))
	tell(Record{Kind: End, ID: 1}, pinned(10, attr.Done), pinned(11, attr.Done))
	e, err := FromLines(lines)
	require.NoError(t, err)
	assert.Equal(t, entriesOf(t, j)[0], e)
	lines[20]++
	_, err = FromLines(lines)
	require.ErrorAs(t, err, &Damage{})
}

// TestReadWhileRoomIsLookedFor: what is written to find out whether there is room is not taken for
// a part of the journal.
func TestReadWhileRoomIsLookedFor(t *testing.T) {
	j := open(t)
	reader, written := reopen(t, j), make(chan bool)
	go func() {
		defer close(written)
		for range 100 {
			finished(t, j, 10, attr.Done)
		}
	}()
	for over := false; !over; {
		select {
		case <-written:
			over = true
		default:
		}
		entries := entriesOf(t, reader)
		require.True(t, !over || len(entries) == 100)
	}
}
