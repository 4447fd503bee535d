package netns

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// ConnectTCP connects two sockets, one in each namespace, at the server's address. They
// wait in calls, for so long at most: then those fail with EAGAIN. Each belongs to its
// namespace in whatever process it is.
func ConnectTCP(client, server *Namespace, at netip.AddrPort, patience time.Duration) (c, s *os.File, err error) {
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

func tcpSocket(n *Namespace, patience time.Duration) (f *os.File, err error) {
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
