package bpf

import (
	"structs"
	"time"

	"piton/internal/bpf/object"
	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// Migrations counts every migration of every task, in the kernel, from when it
// is opened. Safe for concurrent use.
type Migrations struct {
	object.Object
	keys   []moveKey
	counts []moveCount
}

// MoveCount is how often one task moved from one CPU to another.
type MoveCount struct {
	TID, TGID kernel.TID
	From, To  cpuset.CPU
	Moves     uint32
	// Returns are the moves to a CPU that the task had left within 100 ms:
	// ping-pong.
	Returns uint32
}

// MigrationStats is what a drain tells besides counts.
type MigrationStats struct {
	Moves  uint64        // all since the last drain, the lost ones included
	Lost   uint64        // had no room in the table: it is not known whose they were
	Waited time.Duration // asleep, for running programs to end
}

// The fields of what is read from maps are exported for the loader, which else
// decodes each by reflection.

type moveKey struct { // struct move_key of c/count.c
	_         structs.HostLayout
	TID, TGID kernel.TID
	From, To  uint16
}

type moveCount struct { // struct move_count of c/count.c
	_              structs.HostLayout
	Moves, Returns uint32
}

// OpenMigrations begins to count. An error that Is
// feature.ErrNotSupported says what is missing.
func OpenMigrations() (*Migrations, error) {
	m := &Migrations{keys: make([]moveKey, object.DrainChunk), counts: make([]moveCount, object.DrainChunk)}
	s := object.Subject{What: "migration counts", Compiled: countObject, Programs: []string{"count_move"}}
	return opened(m, m.Open(s, func() error { return nil }))
}

// Drain appends what was counted since the last drain, in no order, and begins
// anew. No move is missed or counted twice; it sleeps for some milliseconds to
// be sure of that.
func (m *Migrations) Drain(into []MoveCount) (counts []MoveCount, stats MigrationStats, err error) {
	counts = into
	err = m.Use(func() error {
		before := kernel.Monotonic()
		table, err := m.Tables.Exchange()
		if err != nil {
			return err
		}
		stats.Waited = kernel.Monotonic() - before
		err = object.Drain(table, m.keys, m.counts, func(k moveKey, c moveCount) {
			counts = append(counts, MoveCount{k.TID, k.TGID, cpuset.CPU(k.From), cpuset.CPU(k.To), c.Moves, c.Returns})
			stats.Moves += uint64(c.Moves)
		})
		if err == nil {
			stats.Lost, err = m.LostSince("lost", 0)
			stats.Moves += stats.Lost
		}
		return err
	})
	return counts, stats, err
}
