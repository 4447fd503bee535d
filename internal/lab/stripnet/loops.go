package stripnet

import (
	"encoding/binary"
	"fmt"
	"syscall"
	"time"
	"unsafe"

	"piton/internal/kernel"
)

// trouble is how a loop ended; the zero value is well.
type trouble struct {
	errno syscall.Errno
	ended bool // the other end closed the connection
	wrong bool // a strip is not what it should be
}

func (t trouble) ok() bool { return t == trouble{} }

func (t trouble) err(doing string) error {
	switch {
	case t.ok():
		return nil
	case t.errno == syscall.EAGAIN:
		return fmt.Errorf("%s: nothing arrived for %v", doing, patience)
	case t.errno != 0:
		return fmt.Errorf("%s: %w", doing, t.errno)
	case t.ended:
		return fmt.Errorf("%s: the connection was closed", doing)
	}
	return fmt.Errorf("%s: a strip is not what was sent", doing)
}

// A request is the number of the strip that is wanted. Strips come from the servers round robin.
type request uint32

const requestBytes = 4

// strips are those of a transfer, as servers have them in memory.
type strips []byte

const words = StripBytes / 8

// newStrips are words that count up from another number in each strip.
func newStrips() strips {
	s := make(strips, TransferBytes)
	for i := range TransferBytes / 8 {
		binary.NativeEndian.PutUint64(s[8*i:], firstWord(i/words)+uint64(i%words))
	}
	return s
}

func firstWord(strip int) uint64 { return uint64(strip+1) * 0x9e3779b97f4a7c15 }

func stripSum(strip int) uint64 { return words*firstWord(strip) + words*(words-1)/2 }

func sumOf(strip []byte) (sum uint64) {
	for _, w := range unsafe.Slice((*uint64)(unsafe.Pointer(&strip[0])), words) {
		sum += w
	}
	return sum
}

// server is a thread that serves one client.
type server struct {
	fd     int
	strips strips
}

// run serves requests until the client closes the connection.
func (s *server) run() trouble {
	for {
		var r request
		n, errno := kernel.BlockingRead(s.fd, unsafe.Pointer(&r), requestBytes)
		switch {
		case errno == syscall.EAGAIN || errno == syscall.EINTR: // the client is between two transfers
			continue
		case errno != 0:
			return trouble{errno: errno}
		case n == 0:
			return trouble{}
		case n != requestBytes:
			return trouble{wrong: true}
		}
		if r >= perTransfer {
			return trouble{wrong: true}
		}
		if t := send(s.fd, s.strips[r*StripBytes:(r+1)*StripBytes]); !t.ok() {
			return t
		}
	}
}

func send(fd int, b []byte) trouble {
	for len(b) > 0 {
		n, errno := kernel.BlockingWrite(fd, unsafe.Pointer(&b[0]), len(b))
		switch errno {
		case 0:
			b = b[n:]
		case syscall.EINTR:
		default:
			return trouble{errno: errno}
		}
	}
	return trouble{}
}

// reader is the thread of a client.
type reader struct {
	sockets  int
	request  request // where the kernel reads it
	transfer []byte
	every    int64 // ns from the beginning of a transfer to the next one's; 0 = none waits
	next     int64 // CLOCK_MONOTONIC

	bytes, same uint64
	micros      []float64
}

// mostTransfers is how many times of transfers are kept: more than a period has.
const mostTransfers = 1 << 16

func newReader(c config) *reader {
	return &reader{sockets: c.Sockets, transfer: make([]byte, TransferBytes), every: c.EveryNs, micros: make([]float64, 0, mostTransfers)}
}

func (r *reader) close() {
	for i := range r.sockets {
		_ = kernel.CloseFile(firstSocket + i)
	}
}

// until makes transfers until the first that is merged after the end.
func (r *reader) until(end int64) trouble {
	for {
		now := int64(kernel.Monotonic())
		if now >= end {
			return trouble{}
		}
		if r.every > 0 {
			if now < r.next {
				kernel.Sleep(time.Duration(r.next - now))
				now = int64(kernel.Monotonic())
			}
			r.next = max(r.next+r.every, now) // what is late is not made up for
		}
		if t := r.one(); !t.ok() {
			return t
		}
		if len(r.micros) < cap(r.micros) {
			r.micros = append(r.micros, float64(int64(kernel.Monotonic())-now)/1e3)
		}
	}
}

// one makes a transfer: it asks each server for a strip, and for the next one as soon as that is
// there, and merges what they send.
func (r *reader) one() trouble {
	for k := range r.sockets {
		if t := r.ask(k); !t.ok() {
			return t
		}
	}
	for k := range perTransfer {
		strip := r.transfer[k*StripBytes : (k+1)*StripBytes]
		if t := r.receive(r.server(k), strip); !t.ok() {
			return t
		}
		if next := k + r.sockets; next < perTransfer {
			if t := r.ask(next); !t.ok() {
				return t
			}
		}
		if sumOf(strip) != stripSum(k) {
			return trouble{wrong: true}
		}
	}
	return trouble{}
}

func (r *reader) server(strip int) int { return firstSocket + strip%r.sockets }

// ask asks for a strip, from the CPU on which the reader runs now.
func (r *reader) ask(strip int) trouble {
	r.request = request(strip)
	n, errno := kernel.BlockingWrite(r.server(strip), unsafe.Pointer(&r.request), requestBytes)
	if errno != 0 || n != requestBytes {
		return trouble{errno: errno, wrong: errno == 0}
	}
	return trouble{}
}

// receive reads a strip to its place, and compares CPUs after each read.
func (r *reader) receive(fd int, strip []byte) trouble {
	for len(strip) > 0 {
		n, errno := kernel.BlockingRead(fd, unsafe.Pointer(&strip[0]), len(strip))
		switch {
		case errno == syscall.EINTR:
			continue
		case errno != 0:
			return trouble{errno: errno}
		case n == 0:
			return trouble{ended: true}
		}
		packet, own, errno := kernel.DeliveryCPUs(fd)
		if errno != 0 {
			return trouble{errno: errno}
		}
		if r.bytes += uint64(n); packet == own {
			r.same += uint64(n)
		}
		strip = strip[n:]
	}
	return trouble{}
}
