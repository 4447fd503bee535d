package bpf

import (
	"github.com/cilium/ebpf"

	"piton/internal/cpuset"
)

// maxMasks is how many distinct affinity masks the table holds, MAX_MASKS of
// c/record.h. A machine has few: one, and those that someone set.
const maxMasks = 2048

// maskTable is the table of distinct affinity masks that walks fill. Rows stay
// from walk to walk, so that only new ones are decoded.
type maskTable struct {
	memory  *ebpf.Memory
	rows    *ebpf.Map // from a mask's hash to its row
	words   []uint64  // of one row
	used    uint32
	decoded []cpuset.Set
}

func newMaskTable(masks, rows *ebpf.Map) (*maskTable, error) {
	memory, err := masks.Memory()
	return &maskTable{memory: memory, rows: rows, words: make([]uint64, masks.ValueSize()/8)}, err
}

// sets returns the masks of the first used rows.
func (t *maskTable) sets(used uint32) ([]cpuset.Set, error) {
	t.used = used
	for row := len(t.decoded); row < int(used); row++ {
		if _, err := t.memory.ReadAt(bytesOfAll(t.words), int64(row*len(t.words)*8)); err != nil {
			return nil, err
		}
		t.decoded = append(t.decoded, cpuset.FromWords(t.words))
	}
	return t.decoded[:used:used], nil
}

// makeRoom forgets all rows once the table is full: most are masks that no task
// has any more. The next walk fills it anew.
func (t *maskTable) makeRoom() error {
	if t.used < maxMasks {
		return nil
	}
	err := drain(t.rows, make([]uint64, maxMasks), make([]uint32, maxMasks), func(uint64, uint32) {})
	if err != nil {
		return err
	}
	t.used, t.decoded = 0, nil
	return nil
}
