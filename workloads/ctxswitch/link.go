package ctxswitch

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"unsafe"

	"piton/internal/kernel"
)

// link is a process's place in the ring.
type link interface {
	send(token byte) error  // to the next process
	receive() (byte, error) // from the one before
	alone(token byte) error // the same work without a second process
}

// Descriptors that launch gives to a process.
const (
	firstFD  = 3
	secondFD = 4
)

func newLink(j job) (link, error) {
	if j.Mode == Pipe {
		return newPipes()
	}
	shared, err := kernel.MapShared(os.NewFile(firstFD, "ring"), wordsBytes)
	if err != nil {
		return nil, err
	}
	w := func(i int) *uint32 { return (*uint32)(unsafe.Pointer(&shared[i*wordBytes])) }
	return &words{mine: w(j.Index), next: w((j.Index + 1) % j.Procs)}, nil
}

type pipes struct{ in, out, selfIn, selfOut int }

func newPipes() (*pipes, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	// Fd makes the two of os.Pipe blocking; the others came so.
	p := &pipes{firstFD, secondFD, int(r.Fd()), int(w.Fd())}
	return p, kernel.OwnDescriptors()
}

func (p *pipes) send(token byte) error  { return put(p.out, token) }
func (p *pipes) receive() (byte, error) { return take(p.in) }

func (p *pipes) alone(token byte) error {
	if err := put(p.selfOut, token); err != nil {
		return err
	}
	_, err := take(p.selfIn)
	return err
}

func put(fd int, token byte) error {
	for {
		n, errno := kernel.BlockingWrite(fd, unsafe.Pointer(&token), 1)
		switch {
		case n == 1:
			return nil
		case errno != syscall.EINTR:
			return fmt.Errorf("pass the token on: %w", errno)
		}
	}
}

var errEnded = errors.New("the process before this one in the ring has ended")

func take(fd int) (token byte, err error) {
	for {
		n, errno := kernel.BlockingRead(fd, unsafe.Pointer(&token), 1)
		switch {
		case n == 1:
			return token, nil
		case n == 0 && errno == 0:
			return 0, errEnded
		case errno != syscall.EINTR:
			return 0, fmt.Errorf("take the token: %w", errno)
		}
	}
}

// A word for each process, each in a cache line of its own.
const (
	wordBytes  = 128
	wordsBytes = MaxProcs * wordBytes
)

// words are a link of futexes: a process's word is empty, or full with the token
// in its low byte.
type words struct{ mine, next *uint32 }

const full = 1 << 8

func (w *words) send(token byte) error {
	atomic.StoreUint32(w.next, full|uint32(token))
	kernel.WakeShared(w.next, 1)
	return nil
}

func (w *words) receive() (byte, error) {
	for {
		if v := atomic.LoadUint32(w.mine); v&full != 0 {
			atomic.StoreUint32(w.mine, 0)
			return byte(v), nil
		}
		kernel.BlockingWaitShared(w.mine, 0)
	}
}

// alone makes both calls: a wakeup for nobody, and a wait that ends at once.
func (w *words) alone(byte) error {
	kernel.WakeShared(w.mine, 1)
	kernel.BlockingWaitShared(w.mine, full)
	return nil
}
