package bpf

import (
	"errors"
	"structs"
	"syscall"
	"time"

	"piton/internal/bpf/object"
	"piton/internal/kernel"
)

// WorkKinds says what of Work is counted; each kind costs.
type WorkKinds uint8

// The kinds.
const (
	WorkCalls WorkKinds = 1 << iota // a look at each system call of the machine
	WorkBytes                       // at the end of each
	WorkWaits                       // at each context switch
)

// Work counts what some processes do, from when it is opened. What they do by io_uring is
// no system call, and that of 32-bit programs has other numbers. Safe for concurrent use.
type Work struct {
	object.Object
}

// workBuckets is BUCKETS of c/work.c, and workFirst FIRST.
const (
	workBuckets = 128
	workFirst   = 8
)

// WorkSums is what processes have done since Work was opened.
type WorkSums struct { // struct work of c/work.c
	_     structs.HostLayout
	Calls uint64 // system calls
	Bytes uint64 // read, written, sent and received by them
	// Waits are the waits for a CPU by their length: four buckets to each power of two of ns.
	Waits [workBuckets]uint32
}

// moving are the system calls that return how many bytes they read, wrote, sent or received.
var moving = []uint32{syscall.SYS_READ, syscall.SYS_WRITE, syscall.SYS_PREAD64, syscall.SYS_PWRITE64, syscall.SYS_READV, syscall.SYS_WRITEV,
	syscall.SYS_PREADV, syscall.SYS_PWRITEV, syscall.SYS_SENDTO, syscall.SYS_RECVFROM, syscall.SYS_SENDMSG, syscall.SYS_RECVMSG,
	syscall.SYS_SENDFILE, syscall.SYS_SPLICE}

// OpenWork begins to count what processes do. An error that Is feature.ErrNotSupported
// says what is missing.
func OpenWork(kinds WorkKinds, pids ...kernel.TID) (*Work, error) {
	s := object.Subject{What: "task work", Compiled: workObject}
	for kind, name := range map[WorkKinds]string{WorkCalls: "work_call", WorkBytes: "work_bytes", WorkWaits: "work_wait"} {
		if kinds&kind != 0 {
			s.Programs = append(s.Programs, name)
		}
	}
	w := &Work{}
	return opened(w, w.Open(s, func() (err error) {
		for _, number := range moving {
			err = errors.Join(err, w.Objects.Maps["moving"].Put(number, uint8(1)))
		}
		ids := object.TargetSet{Entries: w.Objects.Maps["targets"]}
		return errors.Join(err, ids.Set(pids))
	}))
}

// Read returns what has been done until now.
func (w *Work) Read() (sums WorkSums, err error) {
	err = w.Use(func() error { return w.Objects.Maps["sums"].Lookup(uint32(0), object.BytesOf(&sums)) })
	return sums, err
}

// Wait is the length that a share of the waits since an earlier reading do not exceed, by
// its bucket: up to a quarter too long. Without a wait it is 0.
func (s *WorkSums) Wait(since *WorkSums, share float64) time.Duration {
	var all, sum uint32
	for i := range s.Waits {
		all += s.Waits[i] - since.Waits[i]
	}
	for i := range s.Waits {
		sum += s.Waits[i] - since.Waits[i]
		if all > 0 && float64(sum) >= share*float64(all) {
			return bucketEnd(i)
		}
	}
	return 0
}

// bucketEnd is the longest wait of a bucket.
func bucketEnd(i int) time.Duration {
	if i == 0 {
		return 1 << workFirst
	}
	quarter := time.Duration(1) << (workFirst + (i-1)/4 - 2)
	return quarter * time.Duration(4+(i-1)%4+1)
}
