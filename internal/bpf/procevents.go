package bpf

import (
	"bytes"
	"errors"
	"os"
	"structs"
	"syscall"
	"time"

	"github.com/cilium/ebpf/ringbuf"

	"piton/internal/bpf/object"
	"piton/internal/kernel"
)

const procEventsName = "process events"

// ProcEvents reports that processes begin, execute programs, change their names and
// end, in the order in which that happened. Only an exec wakes its reader. One goroutine
// may call Read while others call Close.
type ProcEvents struct {
	object.Object
	filled  *os.File // the ring's, for the runtime to wait on
	waiting syscall.RawConn
	record  ringbuf.Record
}

type procEvent struct { // struct event of c/procevents.c
	_             structs.HostLayout
	AtNs, StartNs uint64
	PID           kernel.TID
	Kind          kernel.EventKind
	Comm          [16]byte
}

// ProcEventsBytes is a ring for 21,000 events: 5,000 processes that begin, execute, get
// their name and end.
const ProcEventsBytes = 1 << 20

// OpenProcEvents begins to report into a ring of the given size: a power of two, at
// least a page. An error that Is feature.ErrNotSupported says what is missing.
func OpenProcEvents(ringBytes int) (*ProcEvents, error) {
	p := &ProcEvents{}
	s := object.Subject{What: procEventsName, Compiled: proceventsObject, Room: ringBytes,
		Programs: []string{"event_fork", "event_exec", "event_comm", "event_exit"}}
	return opened(p, p.Open(s, func() error { return p.watch(p.Objects.Maps["events"].FD()) }))
}

// watch makes Read wait by the runtime's own poller. The ring's reader would wait in a system
// call, whose P the runtime takes away and hands to another thread each time: 0.18 ms of CPU
// for an exec that nobody matches, instead of 0.12.
func (p *ProcEvents) watch(ring int) error {
	fd, err := kernel.Duplicate(ring)
	if err != nil {
		return err
	}
	p.filled = kernel.File(fd, procEventsName)
	if p.waiting, err = p.filled.SyscallConn(); err == nil {
		err = p.filled.SetReadDeadline(time.Time{}) // fails where the runtime cannot wait on it
	}
	return err
}

// await waits until the ring has something, or an exec fills it, or the time is over.
func (p *ProcEvents) await(most time.Duration) error {
	err := p.filled.SetReadDeadline(time.Now().Add(most))
	if err == nil {
		waited := false
		err = p.waiting.Read(func(uintptr) bool {
			ready := waited || p.Pending()
			waited = true
			return ready
		})
	}
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		return object.ErrClosed // what os says then has no name
	}
	return nil
}

// Close removes it from the kernel, and ends a Read.
func (p *ProcEvents) Close() {
	if p.filled != nil {
		_ = p.filled.Close()
	}
	p.Object.Close()
}

// Read waits until there is an exec, or for at most the given time, and appends all
// events that there are by then. lost is how many there were since the last read that
// found the ring full. The error Is os.ErrClosed after Close.
func (p *ProcEvents) Read(into []kernel.ProcEvent, most time.Duration) (events []kernel.ProcEvent, lost uint64, err error) {
	if err := p.await(most); err != nil {
		return into, 0, object.Explain(procEventsName, err)
	}
	bytes := 0
	for range readLimit {
		err := p.Ring.ReadInto(&p.record)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			break
		}
		if err != nil {
			return into, 0, object.Explain(procEventsName, err)
		}
		var one procEvent
		copy(object.BytesOf(&one), p.record.RawSample)
		into = append(into, one.event())
		bytes += ringHeader + len(p.record.RawSample)
		if p.record.Remaining == 0 {
			break
		}
	}
	if bytes < p.Ring.BufferSize()/2 { // it was never full since the last read, and asking costs a system call
		return into, 0, nil
	}
	err = p.Use(func() (err error) {
		lost, err = p.LostSince("lost", 0)
		return err
	})
	return into, lost, err
}

// ringHeader is what the ring has before each record (BPF_RINGBUF_HDR_SZ).
const ringHeader = 8

func (e *procEvent) event() kernel.ProcEvent {
	comm, _, _ := bytes.Cut(e.Comm[:], []byte{0})
	return kernel.ProcEvent{Kind: e.Kind, PID: e.PID, At: time.Duration(e.AtNs), StartNs: e.StartNs, Comm: string(comm)}
}
