package kernel

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ConnectTCP connects two sockets, one in each namespace, at the server's address. They
// wait in calls, for so long at most: then those fail with EAGAIN. Each belongs to its
// namespace in whatever process it is.
func ConnectTCP(client, server *NetNamespace, at netip.AddrPort, patience time.Duration) (c, s *os.File, err error) {
	to := &unix.SockaddrInet4{Port: int(at.Port()), Addr: at.Addr().As4()}
	listener, err := tcpSocket(server, patience)
	if err != nil {
		return nil, nil, err
	}
	defer listener.Close()
	fd := int(listener.Fd())
	err = errors.Join(os.NewSyscallError("setsockopt", unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)),
		os.NewSyscallError("bind", unix.Bind(fd, to)), os.NewSyscallError("listen", unix.Listen(fd, 1)))
	if err != nil {
		return nil, nil, fmt.Errorf("listen at %s: %w", at, err)
	}
	if c, err = tcpSocket(client, patience); err != nil {
		return nil, nil, err
	}
	if err := unix.Connect(int(c.Fd()), to); err != nil {
		_ = c.Close()
		return nil, nil, fmt.Errorf("connect to %s: %w", at, os.NewSyscallError("connect", err))
	}
	accepted, _, err := unix.Accept4(fd, unix.SOCK_CLOEXEC)
	if err != nil {
		_ = c.Close()
		return nil, nil, fmt.Errorf("accept at %s: %w", at, os.NewSyscallError("accept", err))
	}
	s = os.NewFile(uintptr(accepted), at.String())
	if err := setPatience(accepted, patience); err != nil {
		_, _ = c.Close(), s.Close()
		return nil, nil, err
	}
	return c, s, nil
}

func tcpSocket(n *NetNamespace, patience time.Duration) (f *os.File, err error) {
	err = n.Do(func() error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return os.NewSyscallError("socket", err)
		}
		f = os.NewFile(uintptr(fd), "socket")
		return setPatience(fd, patience)
	})
	if err != nil && f != nil {
		_ = f.Close()
	}
	return f, err
}

func setPatience(fd int, patience time.Duration) error {
	limit := unix.NsecToTimeval(int64(patience))
	return os.NewSyscallError("setsockopt", errors.Join(unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &limit),
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &limit), unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)))
}

// DeliveryCPUs are the CPU on which a socket's last packet was processed (SO_INCOMING_CPU of
// socket(7)), and the one that the caller is on (getcpu(2)). It is as the functions of
// blocking.go.
//
//go:nosplit
func DeliveryCPUs(fd int) (packet, caller int32, errno syscall.Errno) {
	var node uint32
	size := uint32(unsafe.Sizeof(packet))
	_, _, errno = unix.RawSyscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, unix.SO_INCOMING_CPU,
		uintptr(unsafe.Pointer(&packet)), uintptr(unsafe.Pointer(&size)), 0)
	if errno == 0 {
		_, _, errno = unix.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&caller)), uintptr(unsafe.Pointer(&node)), 0)
	}
	return packet, caller, errno
}
