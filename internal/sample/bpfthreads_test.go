package sample

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/bpf"
	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// The walk tells of every thread, however many there are, in whatever order of numbers.
func TestWalkTellsOfEveryThread(t *testing.T) {
	stats := &bpf.WalkStats{Have: bpf.HaveRunDelay, Masks: []cpuset.Set{cpuset.Of(0, 1), cpuset.Of(1)}}
	const threads = 3000
	for name, all := range map[string]bool{"processes": false, "threads": true} {
		t.Run(name, func(t *testing.T) {
			thread := func(tid, tgid kernel.TID, mask uint32) bpf.Thread {
				return bpf.Thread{TID: tid, TGID: tgid, Mask: mask, RunDelayNs: uint64(tid) * 10, Slices: uint64(tid)}
			}
			every := []bpf.Thread{thread(7, 9000, 0)} // numbers began anew after that of its process
			for tid := kernel.TID(100); tid < 100+2*threads; tid += 2 {
				every = append(every, thread(tid, 100, 0), thread(tid+1, 101, 0)) // two grew together
			}
			every = append(every, thread(9000, 9000, 0), thread(9001, 9001, 1))
			every[len(every)-4].Mask = 1 // the last thread of 100 is pinned
			var records []bpf.Record
			var others []bpf.Thread
			for _, th := range every {
				if all || th.IsProcess() {
					records = append(records, bpf.Record{Thread: th})
				} else {
					others = append(others, th)
				}
			}
			var b bpfThreads
			b.sort(records, others)
			group := func(pid kernel.TID, old *Task) *Threads {
				at := bpf.FindRecord(records, pid, 0)
				require.GreaterOrEqual(t, at, 0)
				return b.group(at, stats, old)
			}
			g := group(100, nil)
			require.Len(t, g.List, threads)
			assert.Equal(t, HaveRun|HaveAttr|HaveAffinity, g.Have)
			assert.True(t, g.AffinityDiffers)
			assert.Equal(t, cpuset.Of(0, 1), g.CPUs)
			assert.True(t, slices.IsSortedFunc(g.List, func(a, b Thread) int { return int(a.TID - b.TID) }))
			assert.EqualValues(t, g.List[5].TID*10, g.List[5].RunDelayNs)
			assert.Same(t, g, group(100, &Task{Group: g}), "nothing changed")

			assert.Len(t, group(101, nil).List, threads)
			assert.False(t, group(101, nil).AffinityDiffers)
			wrapped := group(9000, nil)
			require.Len(t, wrapped.List, 2)
			assert.EqualValues(t, 7, wrapped.List[0].TID)
			assert.Nil(t, group(9001, nil), "it has one thread")

			b.thread(slices.IndexFunc(every, func(th bpf.Thread) bool { return th.TID == 7 })).Mask = bpf.NoMask
			assert.Equal(t, HaveRun|HaveAttr, group(9000, &Task{Group: wrapped}).Have, "a mask is not known")
		})
	}
}
