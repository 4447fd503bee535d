package sample

import (
	"slices"

	"piton/internal/bpf"
)

// bpfThreads makes the Group of each process from what the walk tells of every thread.
type bpfThreads struct {
	records []bpf.Record
	threads []bpf.Thread // those that are no records; none if all are
	last    []int32      // reused; by process's record, its highest thread but the first, plus 1
	next    []int32      // reused; by thread, the one below it in its process, plus 1
	list    []Thread     // reused
}

// thread is the one at a place in the walk.
func (b *bpfThreads) thread(i int) *bpf.Thread {
	if len(b.threads) == 0 {
		return &b.records[i].Thread
	}
	return &b.threads[i]
}

// sort finds the threads of each process.
func (b *bpfThreads) sort(records []bpf.Record, threads []bpf.Thread) {
	b.records, b.threads = records, threads
	n := len(threads)
	if n == 0 {
		n = len(records)
	}
	b.last = slices.Grow(b.last[:0], len(records))[:len(records)]
	clear(b.last)
	b.next = slices.Grow(b.next[:0], n)[:n]
	leader := -1
	for i := range n {
		t := b.thread(i)
		if t.IsProcess() {
			continue
		}
		if leader = bpf.FindRecord(records, t.TGID, leader); leader >= 0 {
			b.next[i] = b.last[leader]
			b.last[leader] = int32(i) + 1
		}
	}
}

// group returns the threads of the process at a place in the records, nil if it has and had
// only one. It is the old group if that says the same.
func (b *bpfThreads) group(i int, stats *bpf.WalkStats, old *Task) *Threads {
	var was *Threads
	if old != nil {
		was = old.Group
	}
	if b.last[i] == 0 && (was == nil || len(was.List) < 2) {
		return nil
	}
	have, first := HaveAttr|HaveAffinity, &b.records[i].Thread
	if stats.Have&bpf.HaveRunDelay != 0 {
		have |= HaveRun
	}
	b.list = b.list[:0]
	add := func(t *bpf.Thread) {
		th := Thread{TID: t.TID, RunDelayNs: t.RunDelayNs, Slices: t.Slices, policy: t.Policy, rtprio: t.RTPrio, nice: t.Nice}
		if t.Mask == bpf.NoMask {
			have &^= HaveAffinity
		} else {
			th.affinity = stats.Masks[t.Mask]
		}
		b.list = append(b.list, th)
	}
	for at := b.last[i]; at != 0; at = b.next[at-1] {
		t := b.thread(int(at) - 1)
		if first != nil && t.TID < first.TID {
			add(first)
			first = nil
		}
		add(t)
	}
	if first != nil {
		add(first)
	}
	slices.Reverse(b.list)
	if was != nil && was.Have == have && slices.EqualFunc(b.list, was.List, Thread.equal) {
		return was
	}
	g := &Threads{Have: have, List: slices.Clone(b.list)}
	g.compare()
	return g
}

func (th Thread) equal(o Thread) bool {
	return th.TID == o.TID && th.RunDelayNs == o.RunDelayNs && th.Slices == o.Slices &&
		th.policy == o.policy && th.rtprio == o.rtprio && th.nice == o.nice && th.affinity.Equal(o.affinity)
}
