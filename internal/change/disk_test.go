package change_test

import (
	"bytes"
	"cmp"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/change/changetest"
	"piton/internal/change/journal"
	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// disk is a store that may be full.
type disk struct {
	journal.Memory
	Full func(data []byte) bool // whether it is, for what is to be written
	Err  error                  // nil = ENOSPC
}

func (d *disk) Append(data []byte) error {
	if d.Full != nil && d.Full(data) {
		return cmp.Or(d.Err, error(syscall.ENOSPC))
	}
	return d.Memory.Append(data)
}

func (d *disk) Room(bytes int) error {
	if d.Full != nil && d.Full(make([]byte, bytes)) {
		return cmp.Or(d.Err, error(syscall.ENOSPC))
	}
	return nil
}

// onDisk is a machine with process 10, and a Tuner whose journal is in a store.
func onDisk(t *testing.T) (*changetest.Machine, *disk, *change.Tuner) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	store := &disk{}
	return m, store, m.Tuner(change.Options{Journal: journal.New(store, journal.Where{Boot: "this"})})
}

func full([]byte) bool { return true }

func fullFor(kind journal.Kind) func([]byte) bool {
	return func(line []byte) bool { return bytes.Contains(line, []byte(`"kind":"`+string(kind)+`"`)) }
}

func TestFullDiskBeforeAChange(t *testing.T) {
	m, store, tuner := onDisk(t)
	p := plan(t, tuner, pin(change.ScopeProcess, cpuset.Of(1), 10))
	store.Full = full
	outcome, err := tuner.Apply(t.Context(), p, change.Confirmation{})
	require.ErrorIs(t, err, syscall.ENOSPC)
	assert.Equal(t, change.Outcome{}, outcome)
	assert.Empty(t, m.Calls())
	store.Full = nil
	assert.Equal(t, uint64(1), applyPlan(t, tuner, p).Entry)
}

// failing is a store whose first write fails, once it is made or before.
type failing struct {
	*journal.Memory
	made bool
	err  error
}

func (s *failing) Append(data []byte) error {
	err := s.err
	if s.err = nil; err == nil || s.made {
		err = errors.Join(err, s.Memory.Append(data))
	}
	return err
}

// TestNothingIsMadeOfWhatCannotBeBegun: an undo need not guess whether it was.
func TestNothingIsMadeOfWhatCannotBeBegun(t *testing.T) {
	for name, tt := range map[string]struct {
		store failing
		guard guards
		want  int // entries
	}{
		"disk fails":            {store: failing{err: syscall.EIO}},
		"disk fails at the end": {store: failing{err: syscall.EIO, made: true}, want: 1},
		"guard has ended":       {guard: guards{late: func() bool { return true }}, want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			m := changetest.New(t)
			m.Spawn(10, 10)
			tt.store.Memory = &journal.Memory{}
			tuner := m.Tuner(change.Options{Journal: journal.New(&tt.store, journal.Where{Boot: "this"}), Guards: &tt.guard})
			p := plan(t, tuner, pin(change.ScopeProcess, cpuset.Of(1), 10))
			_, err := tuner.Apply(t.Context(), p, change.Confirmation{RevertAfter: time.Minute})
			require.Error(t, err)
			assert.Empty(t, m.Calls())
			entries, damage, err := tuner.Entries()
			require.NoError(t, err)
			assert.Empty(t, damage)
			require.Len(t, entries, tt.want)
			for _, e := range entries {
				assert.True(t, e.ChangedNothing())
			}
		})
	}
}

// An undo goes on: it can be done again, and then finds what it left.
func TestFullDiskBeforeAnUndo(t *testing.T) {
	for name, full := range map[string]func([]byte) bool{"before": full, "before the end": fullFor(journal.End)} {
		t.Run(name, func(t *testing.T) {
			m, store, tuner := onDisk(t)
			apply(t, tuner, pin(change.ScopeProcess, cpuset.Of(1), 10))
			store.Full = full
			outcome := undo(t, tuner, change.UndoRequest{All: true})
			assert.Equal(t, []string{"affinity 1 to 0-3: done"}, brief(outcome.Changes))
			require.ErrorIs(t, outcome.Unrecorded, syscall.ENOSPC)
			assert.Equal(t, change.Some, outcome.Verdict())
			assert.Equal(t, "0-3", m.Task(10).Affinity.String())

			outcome = undo(t, tuner, change.UndoRequest{All: true}) // it finds nothing left to change
			assert.Equal(t, []string{"affinity 0-3 to 0-3: unchanged"}, brief(outcome.Changes))
			require.NoError(t, outcome.Unrecorded)
			assert.Equal(t, change.AllDone, outcome.Verdict())
			if name == "before" {
				assert.Contains(t, strings.Join(change.Texts(outcome.Warnings), "\n"), "nothing was changed, and the journal could not be written")
			}

			store.Full = nil
			outcome = undo(t, tuner, change.UndoRequest{All: true})
			assert.Equal(t, []string{"affinity 0-3 to 0-3: unchanged"}, brief(outcome.Changes))
			assert.Equal(t, change.AllDone, outcome.Verdict())
			_, err := tuner.Undo(t.Context(), change.UndoRequest{All: true})
			require.ErrorIs(t, err, change.ErrNothingToUndo)
		})
	}
}

// TestUndosThatCannotBeRecorded go from one entry that is in force to the next older one.
func TestUndosThatCannotBeRecorded(t *testing.T) {
	for _, errno := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG, syscall.EROFS, syscall.EIO} {
		t.Run(errno.Error(), func(t *testing.T) {
			m, store, tuner := onDisk(t)
			m.Spawn(20, 20)
			apply(t, tuner, pinTo(1, 10))
			apply(t, tuner, pinTo(2, 20))
			apply(t, tuner, pinTo(3, 10))
			store.Full, store.Err = full, errno
			for _, want := range []string{"affinity 3 to 1", "affinity 2 to 0-3", "affinity 1 to 0-3"} {
				outcome := undo(t, tuner, change.UndoRequest{Last: 1})
				assert.Equal(t, []string{want + ": done"}, brief(outcome.Changes))
				require.ErrorIs(t, outcome.Unrecorded, errno)
			}
			_, err := tuner.Undo(t.Context(), change.UndoRequest{Last: 1})
			require.ErrorIs(t, err, change.ErrNothingToUndo)
			require.ErrorContains(t, err, "entries 1, 2, 3: nothing is left in force, which cannot be recorded")

			store.Full = nil
			assert.Equal(t, []uint64{3, 2, 1}, undo(t, tuner, change.UndoRequest{All: true}).Undone, "once it can be recorded")
		})
	}
}

// Nothing that an undo may not touch is touched because the disk is full.
func TestOtherErrorsStopAnUndo(t *testing.T) {
	m, store, tuner := onDisk(t)
	apply(t, tuner, pin(change.ScopeProcess, cpuset.Of(1), 10))
	store.Err = syscall.EACCES
	store.Full = full
	_, err := tuner.Undo(t.Context(), change.UndoRequest{All: true})
	require.ErrorIs(t, err, syscall.EACCES)
	assert.Equal(t, "1", m.Task(10).Affinity.String())
}

func TestFullDiskBetweenBeginningAndEnd(t *testing.T) {
	m, store, tuner := onDisk(t)
	store.Full = fullFor(journal.End)
	outcome := apply(t, tuner, pin(change.ScopeProcess, cpuset.Of(1), 10))
	assert.Equal(t, []string{"affinity 0-3 to 1: done"}, brief(outcome.Changes))
	assert.Equal(t, uint64(1), outcome.Entry)
	require.ErrorIs(t, outcome.Unrecorded, syscall.ENOSPC)
	assert.Equal(t, change.Some, outcome.Verdict())

	store.Full = nil
	undo(t, tuner, change.UndoRequest{All: true})
	assert.Equal(t, "0-3", m.Task(10).Affinity.String(), "it is undone all the same")
}

// unreadable is a store that cannot be read any more.
type unreadable struct {
	*journal.Memory
	err error
}

func (s *unreadable) Read(offset int64) ([]byte, bool, error) {
	if s.err != nil {
		return nil, false, s.err
	}
	return s.Memory.Read(offset)
}

// An undo that has begun goes on with what it knows of the journal.
func TestUndoCannotReadTheJournalAgain(t *testing.T) {
	m := changetest.New(t)
	m.Spawn(10, 10)
	m.Spawn(10, 11)
	store := &unreadable{Memory: &journal.Memory{}}
	tuner := m.Tuner(change.Options{Journal: journal.New(store, journal.Where{Boot: "this"}), Guards: &guards{}})
	apply(t, tuner, pin(change.ScopeProcess, cpuset.Of(1), 10))
	m.Before("SetAffinity", 11, func() { store.err = syscall.EMFILE })
	outcome := undo(t, tuner, change.UndoRequest{All: true})
	assert.Equal(t, []string{"affinity 1 to 0-3: done", "affinity 1 to 0-3: done"}, brief(outcome.Changes))
	require.ErrorIs(t, outcome.Unrecorded, syscall.EMFILE, "its end")
	assert.Equal(t, []uint64{1}, outcome.Undone)
	assert.Equal(t, []string{"0-3", "0-3"}, masks(m, 10, 11))
}

// A newborn that cannot be recorded is not changed, and told.
func TestFullDiskForANewborn(t *testing.T) {
	m, store, tuner := onDisk(t)
	p := plan(t, tuner, pin(change.ScopeProcess, cpuset.Of(1), 10))
	store.Full = fullFor(journal.More)
	m.OnList = func(kernel.TID) {
		if m.Tasks[11] == nil {
			m.Spawn(10, 11)
		}
	}
	outcome := applyPlan(t, tuner, p)
	assert.Equal(t, []string{"affinity 0-3 to 1: done", "affinity 0-3 to 1: failed"}, brief(outcome.Changes))
	assert.ErrorIs(t, outcome.Changes[1].Err, syscall.ENOSPC)
	assert.Equal(t, change.Some, outcome.Verdict())
	assert.Equal(t, "0-3", m.Task(11).Affinity.String())
	store.Full = nil
	undo(t, tuner, change.UndoRequest{All: true})
	assert.Equal(t, []string{"0-3", "0-3"}, []string{m.Task(10).Affinity.String(), m.Task(11).Affinity.String()})
}

func TestVerdict(t *testing.T) {
	c := func(s attr.Status, err error) change.Change { return change.Change{Status: s, Err: err} }
	done, same := c(attr.Done, nil), c(attr.Unchanged, nil)
	failed, refused := c(attr.Failed, syscall.EINVAL), c(attr.Refused, nil)
	denied := c(attr.Failed, attr.NotPermitted(syscall.EPERM))
	absent := c(attr.Refused, attr.ErrNotSupported)
	taken := failed
	taken.Taken = true
	some := func(all ...change.Change) change.Outcome { return change.Outcome{Changes: all} }
	for _, tt := range []struct {
		outcome change.Outcome
		want    change.Verdict
	}{
		{some(), change.AllDone}, {some(done), change.AllDone}, {some(done, same), change.AllDone}, {some(same), change.AllDone},
		{some(done, failed), change.Some}, {some(done, refused), change.Some}, {some(same, failed), change.Some},
		{some(taken), change.Some}, {some(taken, failed), change.Some}, {some(done, denied), change.Some},
		{some(failed), change.Failed}, {some(refused), change.Failed}, {some(failed, refused), change.Failed}, {some(denied, failed), change.Failed},
		{some(denied), change.NotPermitted}, {some(absent), change.NotPermitted}, {some(denied, absent), change.NotPermitted},
		{change.Outcome{Changes: []change.Change{done}, Unrecorded: syscall.ENOSPC}, change.Some},
		{change.Outcome{Changes: []change.Change{done}, Damage: []journal.Damage{{Line: 1}}}, change.Some},
	} {
		assert.Equal(t, tt.want, tt.outcome.Verdict(), "%v", tt.outcome)
	}
	bad, ok := some(done, refused, failed).FirstBad()
	assert.True(t, ok)
	assert.Equal(t, refused, bad)
	_, ok = some(done, same).FirstBad()
	assert.False(t, ok)
}

// An undo of all says what of the journal it could not read.
func TestUndoOfAllTellsDamage(t *testing.T) {
	m, store, tuner := onDisk(t)
	m.Spawn(20, 20)
	apply(t, tuner, pin(change.ScopeProcess, cpuset.Of(1), 10))
	require.NoError(t, store.Append([]byte("00000000 {\"lost\":1}\n")))
	apply(t, tuner, pin(change.ScopeProcess, cpuset.Of(1), 20))
	outcome := undo(t, tuner, change.UndoRequest{Last: 1})
	assert.Equal(t, change.AllDone, outcome.Verdict(), "it was asked for one that is sound")
	outcome = undo(t, tuner, change.UndoRequest{All: true})
	assert.Equal(t, []string{"affinity 1 to 0-3: done"}, brief(outcome.Changes))
	require.Len(t, outcome.Damage, 1)
	assert.Equal(t, 3, outcome.Damage[0].Line)
	assert.Equal(t, change.Some, outcome.Verdict())
	assert.Contains(t, change.Texts(outcome.Warnings), outcome.Damage[0].Error())
}
