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

func FuzzNames(f *testing.F) {
	f.Add([]byte("root:x:0:0::/:/bin/sh\nx\n:y:1:\na:b:c:d\nsame:x:0:\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		names := map[uint32]string{}
		parsePasswd(b, names)
		for uid, name := range names {
			assert.NotEmpty(t, name, uid)
			assert.NotContains(t, name, ":")
		}
		assert.NotContains(t, joinArgs(b), "\x00")
	})
}

func TestParsePasswd(t *testing.T) {
	names := map[uint32]string{}
	parsePasswd([]byte("root:x:0:0::/:/bin/sh\ntoor:x:0:0::/:/bin/sh\nbroken\nbad:x:no:1\nbig:x:4294967296:1\nlast:x:4294967295:1"), names)
	assert.Equal(t, map[uint32]string{0: "root", 1<<32 - 1: "last"}, names)
}
