package bpf

import (
	"errors"
	"os"
	"structs"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/ringbuf"

	"piton/internal/bpf/object"
	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// Moves reports each migration of chosen tasks, in the order in which they
// happened. Safe for concurrent use.
type Moves struct {
	object.Object
	record  ringbuf.Record
	targets object.TargetSet
	keys    []moveKey
	counts  []moveCount
}

// Move is one migration.
type Move struct { // struct move of c/moves.c
	_         structs.HostLayout
	AtNs      uint64 // CLOCK_MONOTONIC, as kernel.Monotonic
	TID, TGID kernel.TID
	From, To  uint16
	// Before is the low part of the task's se.nr_migrations when it was about to
	// move: moves of a task whose numbers follow each other are all there.
	Before uint32
}

// MovesBytes is a ring for 32,768 moves: at 100,000 a second it has to be read
// three times a second.
const MovesBytes = 1 << 20

// OpenMoves begins to report, of no task yet, into a ring of the given size: a
// power of two, at least a page. An error that Is feature.ErrNotSupported says
// what is missing.
func OpenMoves(ringBytes int) (*Moves, error) {
	m := &Moves{keys: make([]moveKey, object.DrainChunk), counts: make([]moveCount, object.DrainChunk)}
	s := object.Subject{What: "single migrations", Compiled: movesObject, Room: ringBytes,
		Programs: []string{"report_move", "follow_fork", "forget_task"}}
	return opened(m, m.Open(s, func() error {
		m.targets.Entries = m.Objects.Maps["targets"]
		return nil
	}))
}

// SetTargets replaces the tasks to report: each id stands for the thread, or
// for all threads of the process, present and future. Of tasks that stay
// targets no move is missed.
func (m *Moves) SetTargets(ids ...kernel.TID) error {
	return m.Use(func() error { return m.targets.Set(ids) })
}

// SetFollow makes children that targets have from now on targets too.
func (m *Moves) SetFollow(follow bool) error {
	var on uint32
	if follow {
		on = 1
	}
	return m.Use(func() error { return m.Objects.Variables["follow"].Set(on) })
}

// Unfollowed is how many children SetFollow found no room for, since opening.
func (m *Moves) Unfollowed() (n uint64, err error) {
	err = m.Use(func() error { return m.Objects.Variables["unfollowed"].Get(&n) })
	return n, err
}

// Left are the targets that there still are, in no order: a task that has ended,
// and whose parent has taken note, is no target any more.
func (m *Moves) Left() (left []kernel.TID, err error) {
	err = m.Use(func() error {
		var id uint32
		var one uint8
		entries := m.targets.Entries.Iterate()
		for entries.Next(&id, &one) {
			left = append(left, kernel.TID(id))
		}
		// Targets that go meanwhile can spoil the iteration: some were left.
		if err := entries.Err(); !errors.Is(err, ebpf.ErrIterationAborted) {
			return err
		}
		return nil
	})
	return left, err
}

// readLimit ends a read of a stream that is faster than its reader.
const readLimit = 1 << 17

// Read appends the moves that are there, without waiting, and says how many
// more were lost since the last read because the ring was full.
func (m *Moves) Read(into []Move) (moves []Move, lost uint64, err error) {
	moves = into
	err = m.Use(func() (err error) {
		for range readLimit {
			err := m.Ring.ReadInto(&m.record)
			if errors.Is(err, os.ErrDeadlineExceeded) {
				break
			}
			if err != nil {
				return err
			}
			var one Move
			copy(object.BytesOf(&one), m.record.RawSample)
			moves = append(moves, one)
		}
		lost, err = m.LostSince("lost", 0)
		return err
	})
	return moves, lost, err
}

// Lost appends, without Returns, whose moves were lost since it was called last.
// Their sum is less than what Read said where even that had no room: that many
// are of tasks not known. It sleeps for some milliseconds.
func (m *Moves) Lost(into []MoveCount) (counts []MoveCount, err error) {
	counts = into
	err = m.Use(func() error {
		table, err := m.Tables.Exchange()
		if err != nil {
			return err
		}
		return object.Drain(table, m.keys, m.counts, func(k moveKey, c moveCount) {
			counts = append(counts, MoveCount{k.TID, k.TGID, cpuset.CPU(k.From), cpuset.CPU(k.To), c.Moves, 0})
		})
	})
	return counts, err
}

// Stop ends reporting: once Lost was called after it, Read gives what is left
// and nothing comes after.
func (m *Moves) Stop() { m.Detach() }
