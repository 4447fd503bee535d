package chat

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"unsafe"

	"piton/internal/kernel"
)

// socket is a TCP connection that threads wait on in the kernel.
type socket struct {
	file *os.File // keeps the descriptor open
	fd   int
}

// newSocket takes a connection out of Go's network poller. Connections of Go
// have TCP_NODELAY set.
func newSocket(c *net.TCPConn) (socket, error) {
	defer c.Close()
	file, err := c.File()
	if err != nil {
		return socket{}, fmt.Errorf("take a connection: %w", err)
	}
	s := socket{file: file, fd: int(file.Fd())}
	return s, kernel.SetBlocking(s.fd)
}

// What can go wrong with a connection, as loops that may not allocate tell it.
type trouble struct {
	errno syscall.Errno
	ended bool
	wrong bool // a message is not what it must be
}

//go:nosplit
func (t trouble) ok() bool { return t.errno == 0 && !t.ended && !t.wrong }

func (t trouble) err() error {
	switch {
	case t.errno != 0:
		return t.errno
	case t.ended:
		return io.ErrUnexpectedEOF
	case t.wrong:
		return errors.New("a message came damaged, twice, or not at all")
	}
	return nil
}

//go:nosplit
func send(fd int, m *message) trouble {
	for at := 0; at < MessageBytes; {
		n, errno := kernel.BlockingWrite(fd, unsafe.Add(unsafe.Pointer(m), at), MessageBytes-at)
		if errno == syscall.EINTR {
			continue
		}
		if errno != 0 {
			return trouble{errno: errno}
		}
		at += n
	}
	return trouble{}
}

//go:nosplit
func receive(fd int, m *message) trouble {
	for at := 0; at < MessageBytes; {
		n, errno := kernel.BlockingRead(fd, unsafe.Add(unsafe.Pointer(m), at), MessageBytes-at)
		if errno == syscall.EINTR {
			continue
		}
		if errno != 0 {
			return trouble{errno: errno}
		}
		if n == 0 {
			return trouble{ended: true}
		}
		at += n
	}
	return trouble{}
}
