package sample

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/kernel"
)

func TestThreadsOfWatchedProcesses(t *testing.T) {
	h := newTree(t)
	first := stub{pid: 5, comm: "five", threads: 3, start: 1, mask: "0"}
	h.task(first)
	h.task(stub{pid: 5, tid: 5, comm: "five", start: 1, mask: "0", delay: 10, slices: 1})
	h.task(stub{pid: 5, tid: 6, comm: "a", start: 1, mask: "0", delay: 20, slices: 2, policy: 1, rtprio: 9})
	h.task(stub{pid: 5, tid: 7, comm: "b", start: 1, mask: "1", delay: 30, slices: 3})
	h.task(stub{pid: 8, comm: "eight", threads: 2, start: 1})
	h.task(stub{pid: 8, tid: 8, comm: "eight", start: 1})

	n := h.read(h.sampler(Needs{Watch: []kernel.TID{5}}))
	assert.Nil(t, n.Tasks[0].Group, "no column needs it")

	n = h.read(h.sampler(Needs{Affinity: true, ThreadDelay: true, ThreadAttr: true, Watch: []kernel.TID{5}}))
	assert.Nil(t, n.Tasks[1].Group, "it is not watched")
	g := n.Tasks[0].Group
	require.NotNil(t, g)
	assert.Equal(t, cpuset.Of(0, 1), g.CPUs)
	assert.True(t, g.AffinityDiffers)
	assert.True(t, g.PolicyDiffers)
	assert.False(t, g.NiceDiffers)
	require.Len(t, g.List, 3)
	assert.Equal(t, []uint64{10, 20, 30}, []uint64{g.List[0].RunDelayNs, g.List[1].RunDelayNs, g.List[2].RunDelayNs})
}

func TestExtraOfWatchedTasks(t *testing.T) {
	h := newTree(t)
	h.task(stub{pid: 5, comm: "five", start: 1})
	h.write("proc/5/statm", "1000 200 30 4 0 50 0\n")
	h.write("proc/5/io", "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 0\n")
	h.write("proc/5/oom_score", "666\n")
	h.write("proc/5/wchan", "do_epoll_wait")
	assert.Nil(t, h.read(h.sampler(Needs{All: true})).Tasks[0].Extra)

	e := h.read(h.sampler(Needs{Memory: true, IO: true, OOM: true, Wait: true, All: true})).Tasks[0].Extra
	assert.Equal(t, &Extra{Have: HaveMemory | HaveIO | HaveOOM | HaveWait, VirtPages: 1000, SharePages: 30,
		ReadBytes: 4096, WriteBytes: 8192, OOMScore: 666, WaitChannel: "do_epoll_wait"}, e)

	h.write("proc/5/wchan", "0")
	h.remove("proc/5/io")
	e = h.read(h.sampler(Needs{Memory: true, IO: true, Wait: true, All: true})).Tasks[0].Extra
	assert.Equal(t, HaveMemory, e.Have)
}

// Without a walk that tells of every thread, processes take turns: each is read within a few
// samples, two times running, and what was not read is not known.
func TestThreadsTakeTurns(t *testing.T) {
	h := newTree(t)
	sizes := map[kernel.TID]int{100: 3, 200: 9, 300: 3, 400: 3}
	for pid, threads := range sizes {
		h.task(stub{pid: int(pid), comm: "p", threads: threads, start: 1, mask: "0"})
		for i := range threads {
			mask := "0"
			if i == threads-1 {
				mask = "1"
			}
			h.task(stub{pid: int(pid), tid: int(pid) + i, comm: "t", start: 1, mask: mask, delay: 10, slices: 1})
		}
	}
	s := h.sampler(Needs{Affinity: true, ThreadDelay: true, All: true})
	s.details.crews.most = 4
	read, running := map[kernel.TID]bool{}, map[kernel.TID]bool{}
	var before *Sample
	for range 20 {
		n := h.read(s)
		for i, task := range n.Tasks {
			g := task.Group
			if g == nil {
				assert.False(t, read[task.TID], "%d: what was read once holds", task.TID)
				continue
			}
			read[task.TID] = true
			assert.True(t, g.AffinityDiffers)
			assert.Len(t, g.List, sizes[task.TID])
			if before != nil && before.Tasks[i].Group != nil && before.Tasks[i].Group.Have&g.Have&HaveRun != 0 {
				running[task.TID] = true
			}
		}
		before = n
	}
	assert.Len(t, read, len(sizes), "every process had its turn")
	assert.Equal(t, map[kernel.TID]bool{100: true, 300: true, 400: true}, running, "not the one that takes several samples")
}
