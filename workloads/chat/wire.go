package chat

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"unsafe"

	"piton/internal/kernel"
)

// take takes a connection out of Go's network poller, which would be woken by all
// that arrives, and returns a descriptor that threads wait on in the kernel and
// that lasts until the process ends. Connections of Go have TCP_NODELAY set.
func take(c *net.TCPConn) (fd int, err error) {
	defer c.Close()
	raw, err := c.SyscallConn()
	if err != nil {
		return -1, fmt.Errorf("take a connection: %w", err)
	}
	controlErr := raw.Control(func(of uintptr) { fd, err = kernel.Duplicate(int(of)) })
	if err = cmp.Or(err, controlErr); err != nil {
		return -1, fmt.Errorf("take a connection: %w", err)
	}
	return fd, kernel.SetBlocking(fd)
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
