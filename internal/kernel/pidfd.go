package kernel

import (
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// pidfdThread is PIDFD_THREAD of pidfd_open(2), Linux 6.9: any thread may be
// held, not leaders only.
const pidfdThread = unix.O_EXCL

type pidfd struct {
	fd  int
	tid TID
}

func (system) Hold(tid TID) (Handle, error) {
	fd, err := unix.PidfdOpen(int(tid), 0)
	// A thread that is no leader: EINVAL, since Linux 6.15 ENOENT.
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT) {
		fd, err = unix.PidfdOpen(int(tid), pidfdThread)
	}
	if err != nil {
		return nil, fmt.Errorf("pidfd_open of tid %d: %w", tid, err)
	}
	return &pidfd{fd: fd, tid: tid}, nil
}

func (p *pidfd) Alive() error {
	err := unix.PidfdSendSignal(p.fd, 0, nil, 0)
	// EPERM: it is somebody else's, and so still there to be forbidden.
	if err == nil || errors.Is(err, unix.EPERM) {
		return nil
	}
	return fmt.Errorf("pidfd_send_signal to tid %d: %w", p.tid, err)
}

// HasThread asks by number first: if the process is still alive after that, the
// number has meant it all along.
func (p *pidfd) HasThread(tid TID) error {
	if err := unix.Tgkill(int(p.tid), int(tid), 0); err != nil && !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("tgkill of tid %d in process %d: %w", tid, p.tid, err)
	}
	return p.Alive()
}

func (p *pidfd) Signal(sig syscall.Signal) error {
	if err := unix.PidfdSendSignal(p.fd, sig, nil, 0); err != nil {
		return fmt.Errorf("send %s to %d: %w", unix.SignalName(sig), p.tid, err)
	}
	return nil
}

func (p *pidfd) Close() error { return unix.Close(p.fd) }
