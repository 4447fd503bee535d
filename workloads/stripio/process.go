package stripio

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"unsafe"

	"piton/internal/child"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/workloads/machine"
)

// config is what Run tells a process. Its descriptor 3 is the ring's memory, and
// a reader's next ones are the files.
type config struct {
	App, Strips, Files int
	Reads, Merges      bool
	// CPU numbers that the two are put on, -1 = none.
	ReaderCPU, MergerCPU int
}

type part struct {
	BeginNs, EndNs int64 // CLOCK_MONOTONIC
	Checksum       uint64
	Misses         uint64
	MissesWhy      string
}

func runProcess(process *child.Child) error {
	var c config
	if err := process.Hear(&c); err != nil {
		return err
	}
	child.ThreadRoom(2)
	memory, err := kernel.MapShared(os.NewFile(3, "ring"), ringBytes)
	if err != nil {
		return err
	}
	a := &application{config: c, ring: newRing(memory)}
	var threads []*thread
	if c.Reads {
		for i := range c.Files {
			a.files = append(a.files, 4+i)
		}
		threads = append(threads, a.start(c.ReaderCPU, a.read))
	}
	if c.Merges {
		threads = append(threads, a.start(c.MergerCPU, a.merge))
	}
	return finish(process, a, threads)
}

// finish lets the threads go and tells what they did.
func finish(process *child.Child, a *application, threads []*thread) error {
	for _, t := range threads {
		if err := <-t.ready; err != nil {
			return err
		}
	}
	if err := process.Ready(); err != nil {
		return err
	}
	result := part{BeginNs: int64(kernel.Monotonic())}
	for _, t := range threads {
		close(t.gate)
	}
	for _, t := range threads {
		select {
		case err := <-t.ended:
			if err != nil {
				return err
			}
		case <-process.Closed(): // the other process has failed
			return io.ErrUnexpectedEOF
		}
		result.Misses += t.misses.Count
		result.MissesWhy = t.misses.Why
	}
	result.EndNs, result.Checksum = int64(kernel.Monotonic()), a.checksum
	return process.Tell(result)
}

// application is one pair of reader and merger, or its half in this process.
type application struct {
	config
	ring     *ring
	files    []int // descriptors
	checksum uint64
}

type thread struct {
	ready, ended chan error
	gate         chan struct{}
	misses       machine.Misses
}

func (a *application) start(cpu int, work func() error) *thread {
	t := &thread{ready: make(chan error, 1), ended: make(chan error, 1), gate: make(chan struct{})}
	go func() {
		runtime.LockOSThread()
		if cpu >= 0 {
			if err := kernel.System().SetAffinity(kernel.Calling, cpuset.Of(cpuset.CPU(cpu))); err != nil {
				t.ready <- fmt.Errorf("map a thread to CPU %d: %w", cpu, err)
				return
			}
		}
		t.misses.Open()
		t.ready <- nil
		<-t.gate
		err := work()
		t.misses.Read()
		t.ended <- err
	}()
	return t
}

func (a *application) read() error {
	for k := range uint32(a.Strips) {
		file, strip := locate(a.App, int(k), a.Files)
		slot := a.ring.free(k)
		raw := unsafe.Slice((*byte)(unsafe.Pointer(&slot[0])), StripBytes)
		n, err := kernel.ReadFileAt(a.files[file], raw, int64(strip)*StripBytes)
		if err != nil || n != StripBytes {
			return fmt.Errorf("read a strip: %d bytes of %d: %w", n, StripBytes, err)
		}
		a.ring.full(k)
	}
	return nil
}

func (a *application) merge() error {
	transfer := make([]uint64, TransferBytes/8)
	for k := range uint32(a.Strips) {
		from := a.ring.next(k)
		at := k % perTransfer * words
		sum := merge(transfer[at:at+words], from)
		a.ring.done(k)
		a.checksum = weigh(a.checksum, uint64(k), sum)
	}
	return nil
}
