package watch

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"piton/internal/bpf"
	"piton/internal/kernel"
)

// One thread's moves, numbered by the kernel's count before each.
func TestAccountFindsWhatWasNotTold(t *testing.T) {
	const tid kernel.TID = 7
	for _, tc := range []struct {
		name   string
		begin  int // the kernel's count when watching begins; -1: not born yet
		told   []uint32
		lost   uint32
		end    int // the kernel's count when watching ends; -1: it has ended
		unseen uint64
	}{
		{"nothing moved", 5, nil, 0, 5, 0},
		{"all told", 5, []uint32{5, 6, 7}, 0, 8, 0},
		{"told before it was looked at", 6, []uint32{4, 5, 6}, 0, 7, 0},
		{"told after it was looked at", 5, []uint32{5, 6, 7, 8}, 0, 7, 0},
		{"the first is missing", 5, []uint32{6, 7}, 0, 8, 1},
		{"one between is missing", 5, []uint32{5, 7}, 0, 8, 1},
		{"the last is missing", 5, []uint32{5, 6}, 0, 8, 1},
		{"all are missing", 5, nil, 0, 8, 3},
		{"told as a count", 5, []uint32{5, 8}, 2, 9, 0},
		{"born since", -1, []uint32{0, 1}, 0, 3, 1},
		{"ended since", 5, []uint32{5, 7}, 0, -1, 1},
		{"its number is another's now", 5, []uint32{5, 6, 8, 0, 1, 3}, 0, 4, 2},
		{"the count wraps", 1<<32 - 1, []uint32{1<<32 - 1, 0, 2}, 0, 3, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := accounts{}
			if tc.begin >= 0 {
				a.begin(1, tid, uint64(tc.begin))
			}
			for i, before := range tc.told {
				if i == len(tc.told)-1 && tc.end >= 0 { // the ring is emptied after the last look
					a.end(1, tid, uint64(tc.end))
				}
				a.move(&bpf.Move{TID: tid, TGID: 1, Before: before})
			}
			a.lost(bpf.MoveCount{TID: tid, TGID: 1, Moves: tc.lost})
			if tc.end >= 0 {
				a.end(1, tid, uint64(tc.end))
			}
			assert.Equal(t, tc.unseen, a[tid].unseen())
		})
	}
}
