package kernel

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// EventKind is what happened to a process.
type EventKind uint32

// The kinds, as c/procevents.c of internal/bpf has them.
const (
	EventFork EventKind = iota + 1 // a process began, not a thread
	EventExec                      // it executed a program
	EventComm                      // its name changed; also shortly before an EventExec
	EventExit                      // it ended, all of its threads included
)

// ProcEvent is something that happened to a process.
type ProcEvent struct {
	Kind    EventKind
	PID     TID
	At      time.Duration // CLOCK_MONOTONIC, as Monotonic
	StartNs uint64        // when the process began, since boot, suspend included; 0 = the source does not say
	Comm    string        // its name, "" = the source does not say
}

// The kernel's process event connector: include/uapi/linux/connector.h and cn_proc.h.
const (
	cnIdxProc       = 1 // CN_IDX_PROC, the multicast group
	cnValProc       = 1 // CN_VAL_PROC
	procListen      = 1 // PROC_CN_MCAST_LISTEN
	cnMsgSize       = 20
	procEventHeader = 16 // what, cpu, timestamp_ns
)

// proc_event.what
const (
	procEventFork = 0x1
	procEventExec = 0x2
	procEventComm = 0x200
	procEventExit = 0x80000000
)

// connectorBuffer holds what a reader is late for: an event takes some 1 KB of it.
const connectorBuffer = 8 << 20

// ProcConnector reports process events by netlink, without eBPF. It takes the initial
// network and PID namespaces, and CAP_NET_ADMIN before Linux 6.6.
type ProcConnector struct {
	fd     int
	buffer []byte
}

// OpenProcConnector begins to listen.
func OpenProcConnector() (*ProcConnector, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_CONNECTOR)
	if err != nil {
		return nil, fmt.Errorf("process connector: socket: %w", err)
	}
	p := &ProcConnector{fd: fd, buffer: make([]byte, 4096)}
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, connectorBuffer) // a smaller one loses sooner, and says so
	if err = unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: cnIdxProc}); err == nil {
		err = unix.Sendto(fd, listenMessage(), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK})
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("process connector: %w", err), p.Close())
	}
	return p, nil
}

// listenMessage is nlmsghdr, cn_msg and the operation.
func listenMessage() []byte {
	b := make([]byte, 0, unix.NLMSG_HDRLEN+cnMsgSize+4)
	b = binary.NativeEndian.AppendUint32(b, uint32(cap(b)))
	b = binary.NativeEndian.AppendUint16(b, unix.NLMSG_DONE)
	b = append(b, make([]byte, 10)...) // flags, sequence, port
	b = binary.NativeEndian.AppendUint32(b, cnIdxProc)
	b = binary.NativeEndian.AppendUint32(b, cnValProc)
	b = append(b, make([]byte, 8)...) // seq, ack
	b = binary.NativeEndian.AppendUint16(b, 4)
	b = append(b, 0, 0) // flags
	return binary.NativeEndian.AppendUint32(b, procListen)
}

// Read waits until there is an event, or for at most the given time, and appends those
// that there are by then. lost is not 0 if the kernel had no room for some since the
// last read; it does not say how many.
func (p *ProcConnector) Read(into []ProcEvent, most time.Duration) (events []ProcEvent, lost uint64, err error) {
	if _, err := AwaitData(p.fd, most); err != nil {
		return into, 0, fmt.Errorf("process connector: %w", err)
	}
	const limit = 1 << 16 // ends a read of a stream that is faster than its reader
	for range limit {
		n, from, err := unix.Recvfrom(p.fd, p.buffer, unix.MSG_DONTWAIT)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			return into, lost, nil
		case errors.Is(err, unix.ENOBUFS):
			lost++
			continue
		case err != nil:
			return into, lost, fmt.Errorf("process connector: %w", err)
		}
		if kernelSent(from) {
			if e, ok := parseProcEvent(p.buffer[:n]); ok {
				into = append(into, e)
			}
		}
	}
	return into, lost, nil
}

// kernelSent reports whether a message is the kernel's: any process may send to the socket.
func kernelSent(from unix.Sockaddr) bool {
	netlink, ok := from.(*unix.SockaddrNetlink)
	return ok && netlink.Pid == 0
}

// parseProcEvent reads nlmsghdr, cn_msg and proc_event; not ok for what concerns no
// process as a whole.
func parseProcEvent(b []byte) (ProcEvent, bool) {
	const begin = unix.NLMSG_HDRLEN + cnMsgSize
	word := binary.NativeEndian.Uint32
	if len(b) < begin+procEventHeader+16 || word(b[unix.NLMSG_HDRLEN:]) != cnIdxProc || word(b[unix.NLMSG_HDRLEN+4:]) != cnValProc {
		return ProcEvent{}, false
	}
	b = b[begin:]
	what, data := word(b), b[procEventHeader:]
	e := ProcEvent{At: time.Duration(binary.NativeEndian.Uint64(b[8:]))}
	tid, tgid := word(data), word(data[4:])
	switch what {
	case procEventFork: // parent's two numbers first
		tid, tgid = word(data[8:]), word(data[12:])
		e.Kind = EventFork
	case procEventExec:
		e.Kind = EventExec
	case procEventComm:
		e.Kind = EventComm
		if len(data) < 24 {
			return ProcEvent{}, false
		}
		comm, _, _ := bytes.Cut(data[8:24], []byte{0})
		e.Comm = string(comm)
	case procEventExit: // of the first thread, which can end before the others
		e.Kind = EventExit
	default:
		return ProcEvent{}, false
	}
	e.PID = TID(tgid)
	return e, tid == tgid
}

// Close ends listening.
func (p *ProcConnector) Close() error { return unix.Close(p.fd) }
