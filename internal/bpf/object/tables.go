package object

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cilium/ebpf"

	"piton/internal/kernel"
)

// DrainChunk is how many entries are fetched at a time.
const DrainChunk = 2048

// Drain empties a hash table, calling each for what was in it. Keys and values
// are buffers of equal length, at least as long as the longest hash chain.
// Entries that a program changes meanwhile can be lost; see TwoTables.
func Drain[K, V any](m *ebpf.Map, keys []K, values []V, each func(K, V)) error {
	var cursor ebpf.MapBatchCursor
	for {
		n, err := m.BatchLookupAndDelete(&cursor, keys, values, nil)
		for i := range n {
			each(keys[i], values[i])
		}
		if errors.Is(err, ebpf.ErrKeyNotExist) { // the end
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// TwoTables are a table that programs write to and a spare one. Exchanging them
// makes it possible to empty the former without losing a count: an update of an
// array of maps returns only when no running program can still have the old
// entry (synchronize_rcu in maybe_wait_bpf_programs, kernel/bpf/syscall.c).
// That wait is some milliseconds of sleep.
type TwoTables struct {
	slot        *ebpf.Map // an array with the one table that programs use
	live, spare *ebpf.Map
}

// NewTwoTables makes two such tables and puts one into the slot.
func NewTwoTables(slot *ebpf.Map, table *ebpf.MapSpec) (*TwoTables, error) {
	t := &TwoTables{slot: slot}
	var err error
	if t.live, err = ebpf.NewMap(table); err != nil {
		return nil, err
	}
	if t.spare, err = ebpf.NewMap(table); err != nil {
		t.Close()
		return nil, err
	}
	if err = slot.Put(uint32(0), t.live); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// Exchange returns the table that programs wrote to until now; they are done
// with it. It has to be empty when Exchange is called again.
func (t *TwoTables) Exchange() (*ebpf.Map, error) {
	if err := t.slot.Put(uint32(0), t.spare); err != nil {
		return nil, err
	}
	t.live, t.spare = t.spare, t.live
	return t.spare, nil
}

// Close frees both.
func (t *TwoTables) Close() {
	t.live.Close()
	if t.spare != nil {
		t.spare.Close()
	}
}

// MaxTargets is how many ids a TargetSet takes.
const MaxTargets = 4096

// TargetSet is the table of ids that a program looks for.
type TargetSet struct {
	Entries *ebpf.Map
	IDs     []kernel.TID // those that are in it, in order
}

// Set replaces the ids. Those that stay are in the table all the time.
func (s *TargetSet) Set(ids []kernel.TID) error {
	if len(ids) > MaxTargets {
		return fmt.Errorf("%d tasks are more than the %d that can be told apart; watch all tasks instead", len(ids), MaxTargets)
	}
	ids = slices.Clone(ids)
	slices.Sort(ids)
	ids = slices.Compact(ids)
	for _, id := range ids {
		if err := s.Entries.Put(uint32(id), uint8(1)); err != nil {
			return err
		}
	}
	for _, id := range s.IDs {
		if _, stays := slices.BinarySearch(ids, id); stays {
			continue
		}
		// A program forgets tasks that end.
		if err := s.Entries.Delete(uint32(id)); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
			return err
		}
	}
	s.IDs = ids
	return nil
}

// Only is the one id, or 0 if there are more or none.
func (s *TargetSet) Only() kernel.TID {
	if len(s.IDs) != 1 {
		return 0
	}
	return s.IDs[0]
}
