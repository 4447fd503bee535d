package bpf

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"structs"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/ringbuf"

	"piton/internal/cpuset"
	"piton/internal/kernel"
)

const movesName = "single migrations"

// Moves reports each migration of chosen tasks, in the order in which they
// happened. Safe for concurrent use.
type Moves struct {
	opened
	record  ringbuf.Record
	targets targetSet
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
	return privileged(func() (*Moves, error) { return openMoves(ringBytes) })
}

func openMoves(ringBytes int) (*Moves, error) {
	if err := usable(movesName); err != nil {
		return nil, err
	}
	spec, err := loadMoves()
	if err != nil {
		return nil, err
	}
	spec.Maps[movesMapEvents].MaxEntries = uint32(ringBytes)
	m := &Moves{opened: opened{what: movesName}, keys: make([]moveKey, drainChunk), counts: make([]moveCount, drainChunk)}
	if m.objects, err = load(movesName, spec); err != nil {
		return nil, err
	}
	m.targets.entries = m.objects.Maps[movesMapTargets]
	if m.ring, err = ringbuf.NewReader(m.objects.Maps[movesMapEvents]); err == nil {
		m.ring.SetDeadline(time.Unix(0, 1)) // in the past: reads never wait
		m.tables, err = newTwoTables(m.objects.Maps[movesMapTables], spec.Maps[movesMapTables].InnerMap)
	}
	if err == nil {
		m.links, err = attach(movesName, m.objects, movesProgReportMove, movesProgFollowFork, movesProgForgetTask)
	}
	if err != nil {
		m.Close()
		return nil, explain(movesName, err)
	}
	return m, nil
}

// MaxTargets is how many ids SetTargets takes.
const MaxTargets = 4096

// targetSet is the table of ids that a program looks for.
type targetSet struct {
	entries *ebpf.Map
	ids     []kernel.TID // in order
}

// set replaces the ids. Those that stay are in the table all the time.
func (s *targetSet) set(ids []kernel.TID) error {
	if len(ids) > MaxTargets {
		return fmt.Errorf("%d tasks are more than the %d that can be told apart; watch all tasks instead", len(ids), MaxTargets)
	}
	ids = slices.Clone(ids)
	slices.Sort(ids)
	ids = slices.Compact(ids)
	for _, id := range ids {
		if err := s.entries.Put(uint32(id), uint8(1)); err != nil {
			return err
		}
	}
	for _, id := range s.ids {
		if _, stays := slices.BinarySearch(ids, id); stays {
			continue
		}
		// A program forgets tasks that end.
		if err := s.entries.Delete(uint32(id)); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
			return err
		}
	}
	s.ids = ids
	return nil
}

// SetTargets replaces the tasks to report: each id stands for the thread, or
// for all threads of the process, present and future. Of tasks that stay
// targets no move is missed.
func (m *Moves) SetTargets(ids ...kernel.TID) error {
	return m.use(func() error { return m.targets.set(ids) })
}

// SetFollow makes children that targets have from now on targets too.
func (m *Moves) SetFollow(follow bool) error {
	var on uint32
	if follow {
		on = 1
	}
	return m.use(func() error { return m.objects.Variables[movesVarFollow].Set(on) })
}

// Unfollowed is how many children SetFollow found no room for, since opening.
func (m *Moves) Unfollowed() (n uint64, err error) {
	err = m.use(func() error { return m.objects.Variables[movesVarUnfollowed].Get(&n) })
	return n, err
}

// Left are the targets that there still are, in no order: a task that has ended,
// and whose parent has taken note, is no target any more.
func (m *Moves) Left() (left []kernel.TID, err error) {
	err = m.use(func() error {
		var id uint32
		var one uint8
		entries := m.targets.entries.Iterate()
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
	err = m.use(func() (err error) {
		for range readLimit {
			err := m.ring.ReadInto(&m.record)
			if errors.Is(err, os.ErrDeadlineExceeded) {
				break
			}
			if err != nil {
				return err
			}
			var one Move
			copy(bytesOf(&one), m.record.RawSample)
			moves = append(moves, one)
		}
		lost, err = m.lostSince(movesVarLost, 0)
		return err
	})
	return moves, lost, err
}

// Lost appends, without Returns, whose moves were lost since it was called last.
// Their sum is less than what Read said where even that had no room: that many
// are of tasks not known. It sleeps for some milliseconds.
func (m *Moves) Lost(into []MoveCount) (counts []MoveCount, err error) {
	counts = into
	err = m.use(func() error {
		table, err := m.tables.exchange()
		if err != nil {
			return err
		}
		return drain(table, m.keys, m.counts, func(k moveKey, c moveCount) {
			counts = append(counts, MoveCount{k.TID, k.TGID, cpuset.CPU(k.From), cpuset.CPU(k.To), c.Moves, 0})
		})
	})
	return counts, err
}

// Stop ends reporting: once Lost was called after it, Read gives what is left
// and nothing comes after.
func (m *Moves) Stop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.links.close()
	m.links = nil
}
