package bpftest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// FlowSeen is what the reader of a flow has recorded itself: at each read the CPU of the
// flow's last packet (SO_INCOMING_CPU) and its own (getcpu).
type FlowSeen struct {
	Local, Remote netip.AddrPort
	Cells         []FlowCell
}

// FlowCell is a pair of CPUs.
type FlowCell struct {
	Handled, Consumed cpuset.CPU
	Bytes, Reads      uint64
}

// Bytes are those of all cells.
func (s *FlowSeen) Bytes() (sum uint64) {
	for _, c := range s.Cells {
		sum += c.Bytes
	}
	return sum
}

// flowChunk is what is sent at a time: less than a packet of the loopback interface.
const flowChunk = 4096

// turn is how many chunks are sent before a thread goes to its next CPU.
const turn = 50

// PlayFlows is a role: two threads of which one sends to the other over the loopback
// interface, a chunk after the one before was read. words are tcp, splice (tcp read by splice(2)) or udp, how many chunks,
// and two lists of CPUs: those that the sender goes through in turn, and the reader. It
// prints its TID, and after each SIGUSR1 sends them and prints a FlowSeen; they connect at
// the first.
func PlayFlows(words []string) error {
	chunks, err := strconv.Atoi(words[1])
	if err != nil {
		return err
	}
	senders, errSenders := cpuset.Parse(words[2])
	readers, errReaders := cpuset.Parse(words[3])
	if err := errors.Join(errSenders, errReaders); err != nil {
		return err
	}
	runtime.GOMAXPROCS(4)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR1)
	fmt.Println(os.Getpid())
	var reply [2]int
	if err := unix.Pipe(reply[:]); err != nil {
		return err
	}
	by := unix.Read
	if words[0] == "splice" {
		if by, err = splicer(); err != nil {
			return err
		}
	}
	go func() {
		var write, read int
		for range signals {
			if write == 0 {
				if write, read, err = connect(words[0] == "udp"); err != nil {
					fmt.Println(err)
					return
				}
			}
			failed := make(chan error)
			go func() { failed <- send(write, reply[0], chunks, senders.CPUs()) }()
			seen, err := receive(by, read, reply[1], chunks, senders.Len(), readers.CPUs())
			if err = errors.Join(err, <-failed); err != nil {
				fmt.Println(err)
				return
			}
			_ = json.NewEncoder(os.Stdout).Encode(seen)
		}
	}()
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// connect makes a socket to send to and one to read from.
func connect(udp bool) (write, read int, err error) {
	kind := unix.SOCK_STREAM
	if udp {
		kind = unix.SOCK_DGRAM
	}
	first, err := unix.Socket(unix.AF_INET, kind, 0)
	if err == nil {
		err = unix.Bind(first, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	}
	if err == nil && !udp {
		err = unix.Listen(first, 1)
	}
	if err == nil {
		write, err = unix.Socket(unix.AF_INET, kind, 0)
	}
	if err != nil {
		return 0, 0, err
	}
	at, err := unix.Getsockname(first)
	if err == nil {
		err = unix.Connect(write, at)
	}
	if err == nil && udp { // the kernel tells the CPU of connected ones only
		if at, err = unix.Getsockname(write); err == nil {
			err = unix.Connect(first, at)
		}
	}
	if err != nil || udp {
		return write, first, err
	}
	read, _, err = unix.Accept(first)
	return write, read, err
}

// onCPU binds the thread at the first chunk of a turn: to the next of the CPUs after each so
// many turns.
func onCPU(chunk, turns int, cpus []cpuset.CPU) error {
	if chunk%turn != 0 {
		return nil
	}
	return kernel.System().SetAffinity(0, cpuset.Of(cpus[chunk/turn/turns%len(cpus)]))
}

func send(write, replies, chunks int, cpus []cpuset.CPU) error {
	runtime.LockOSThread()
	buf := make([]byte, flowChunk)
	for i := range chunks {
		if err := onCPU(i, 1, cpus); err != nil {
			return err
		}
		if err := whole(unix.Write, write, buf); err != nil {
			return err
		}
		if err := whole(unix.Read, replies, buf[:1]); err != nil {
			return err
		}
	}
	return nil
}

// splicer reads by splice(2).
func splicer() (read func(int, []byte) (int, error), err error) {
	var pipe [2]int
	if err := unix.Pipe(pipe[:]); err != nil {
		return nil, err
	}
	return func(fd int, into []byte) (int, error) {
		n, err := unix.Splice(fd, nil, pipe[1], nil, len(into), 0)
		if err != nil || n == 0 {
			return 0, err
		}
		return int(n), whole(unix.Read, pipe[0], into[:n])
	}, nil
}

func receive(by func(int, []byte) (int, error), read, replies, chunks, senders int, cpus []cpuset.CPU) (seen FlowSeen, err error) {
	runtime.LockOSThread()
	cells := map[[2]cpuset.CPU]*FlowCell{}
	peek, buf := make([]byte, 10), make([]byte, flowChunk)
	note := func(fd int, into []byte) (int, error) {
		n, err := by(fd, into)
		handled, own, _ := kernel.DeliveryCPUs(fd)
		key := [2]cpuset.CPU{cpuset.CPU(handled), cpuset.CPU(own)}
		if cells[key] == nil {
			cells[key] = &FlowCell{Handled: key[0], Consumed: key[1]}
		}
		cells[key].Bytes += uint64(max(n, 0))
		cells[key].Reads++
		return n, err
	}
	for i := range chunks {
		if err := onCPU(i, senders, cpus); err != nil { // so that each of either meets each
			return seen, err
		}
		if i%turn == 1 { // which is no read
			if _, _, err := unix.Recvfrom(read, peek, unix.MSG_PEEK); err != nil {
				return seen, err
			}
		}
		if err := whole(note, read, buf); err != nil {
			return seen, err
		}
		if err := whole(unix.Write, replies, buf[:1]); err != nil {
			return seen, err
		}
	}
	for _, c := range cells {
		seen.Cells = append(seen.Cells, *c)
	}
	local, err := unix.Getsockname(read)
	if err != nil {
		return seen, err
	}
	seen.Local = addrPort(local)
	if remote, err := unix.Getpeername(read); err == nil { // none of an unconnected socket
		seen.Remote = addrPort(remote)
	}
	return seen, nil
}

func addrPort(s unix.Sockaddr) netip.AddrPort {
	a, ok := s.(*unix.SockaddrInet4)
	if !ok {
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(a.Port))
}

// whole repeats until all is read or written.
func whole(f func(int, []byte) (int, error), fd int, buf []byte) error {
	for len(buf) > 0 {
		n, err := f(fd, buf)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return err
		}
		if n == 0 {
			return io.ErrUnexpectedEOF
		}
		buf = buf[n:]
	}
	return nil
}
