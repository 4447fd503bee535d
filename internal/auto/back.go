package auto

import (
	"context"
	"slices"
	"time"

	"piton/internal/bench/runner"
	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// mostCaches bounds the caches to which threads are brought back: each is one more value in
// the record of every thread.
const mostCaches = 32

// caches are those of Job.Caches, none where there is no choice or too much of it.
func (j *Job) caches() []cpuset.Set {
	if len(j.Caches) < 2 || len(j.Caches) > mostCaches {
		return nil
	}
	return j.Caches
}

// backTime is how long threads are kept where they were: those that do not run meanwhile
// have little to do.
const backTime = 30 * time.Millisecond

// backTries is how many times backTime is waited, as long as no thread has run where it is to
// be: where CPUs are scarce, in a virtual machine above all, 30 ms may be too short for that.
const backTries = 4

// back puts candidates in force. A process whose affinity is widened again stays where the
// candidate before had put it, as long as nothing else runs there: the kernel's own choice
// would be measured as good as that, and be bad again later. So before it is the kernel's
// turn, each thread is brought back to the cache where the kernel's turn had left it.
type back struct {
	job   *Job
	set   func(of func(kernel.TID) int) error
	first int // the candidate that is the first cache
	away  bool
	where map[kernel.TID]int32 // CPUs
}

func (b *back) put(ctx context.Context, candidate int) error {
	caches := b.job.caches()
	if b.where == nil {
		b.look()
	}
	if candidate == 0 && b.away && len(caches) > 0 {
		if err := b.set(func(tid kernel.TID) int { return b.first + b.cache(tid) }); err != nil {
			return err
		}
		for range backTries {
			if err := runner.Pause(ctx, backTime); err != nil {
				return err
			}
			if b.there() {
				break
			}
		}
	}
	b.away = candidate != 0
	return b.set(func(kernel.TID) int { return candidate })
}

// seen notes where the kernel has put the threads.
func (b *back) seen(candidate int) {
	if candidate == 0 {
		b.look()
	}
}

func (b *back) look() {
	b.where = map[kernel.TID]int32{}
	b.each(func(tid kernel.TID, cpu int32) { b.where[tid] = cpu })
}

// there reports whether a thread is in the cache to which it was brought back.
func (b *back) there() (one bool) {
	caches := b.job.caches()
	b.each(func(tid kernel.TID, cpu int32) {
		i := b.cache(tid)
		one = one || i >= 0 && caches[i].Has(cpuset.CPU(cpu))
	})
	return one
}

// cache is in which cache the kernel's turn had left a thread, -b.first where that is not known.
func (b *back) cache(tid kernel.TID) int {
	cpu, known := b.where[tid]
	i := slices.IndexFunc(b.job.caches(), func(c cpuset.Set) bool { return known && c.Has(cpuset.CPU(cpu)) })
	if i < 0 {
		return -b.first
	}
	return i
}

// each calls f with each thread and the CPU on which it is or was last.
func (b *back) each(f func(tid kernel.TID, cpu int32)) {
	proc := b.job.Tuner.Proc
	for _, t := range b.job.Targets {
		tids, _ := proc.Threads(t.TID)
		for _, tid := range tids {
			if st, err := proc.ThreadStat(t.TID, tid); err == nil {
				f(tid, st.LastCPU)
			}
		}
	}
}
