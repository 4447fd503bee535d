package sample

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"piton/internal/kernel"
)

func TestLaneMerge(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var l lane
		var want []kernel.TID
		for tid := kernel.TID(1); tid < 40; tid++ {
			e := entry{task: Task{TID: tid, TGID: tid}}
			switch random.IntN(3) {
			case 0:
				l.entries = append(l.entries, e)
			case 1:
				l.born = append(l.born, e)
			default:
				continue
			}
			want = append(want, tid)
		}
		l.merge()
		got := make([]kernel.TID, 0, len(want))
		for i := range l.entries {
			got = append(got, l.entries[i].task.TID)
		}
		assert.True(t, slices.Equal(want, got), "%v %v", want, got)
	}
}

func FuzzJoinArgs(f *testing.F) {
	f.Add([]byte("sleep\x0060\x00"))
	f.Fuzz(func(t *testing.T, b []byte) { assert.NotContains(t, joinArgs(b), "\x00") })
}
