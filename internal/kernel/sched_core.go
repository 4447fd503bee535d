package kernel

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"

	"piton/internal/crash"
)

// Cookies are core-scheduling cookies: SMT siblings never run tasks of different
// cookies at once (Documentation/admin-guide/hw-vuln/core-scheduling.rst).
// Without CONFIG_SCHED_CORE every call gives EINVAL, without SMT ENODEV.
type Cookies interface {
	// Cookie returns a number that stands for the thread's cookie, 0 for none; or for
	// any, while the kernel that has just started has no numbers (errNoNumber).
	Cookie(tid TID) (uint64, error)
	// NewCookie makes a cookie and returns its number and a thread of this process
	// that has it, and lives as long as this process does.
	NewCookie() (cookie uint64, holder TID, err error)
}

func (system) Cookie(tid TID) (uint64, error) {
	var cookie uint64
	err := privileged(func() error {
		return unix.PrctlArg5Ptr(unix.PR_SCHED_CORE, unix.PR_SCHED_CORE_GET, uintptr(tid),
			unix.PR_SCHED_CORE_SCOPE_THREAD, unsafe.Pointer(&cookie))
	}, CapSysPtrace)
	if err != nil {
		return 0, fmt.Errorf("PR_SCHED_CORE_GET of tid %d: %w", tid, err)
	}
	return cookie, nil
}

func coreSched(command int, tid TID) error {
	return privileged(func() error {
		return unix.Prctl(unix.PR_SCHED_CORE, uintptr(command), uintptr(tid), unix.PR_SCHED_CORE_SCOPE_THREAD, 0)
	}, CapSysPtrace)
}

// ProbeCookie gives the calling thread a cookie of its own; call it by OnThread.
func ProbeCookie() error {
	if err := coreSched(unix.PR_SCHED_CORE_CREATE, 0); err != nil {
		return fmt.Errorf("PR_SCHED_CORE_CREATE: %w", err)
	}
	return nil
}

// errNoNumber is for a machine that has just started: the number of a cookie is a
// hash (ptr_to_hashval), and 0 until the kernel has a random key for it.
var errNoNumber = errors.New("the new cookie has no number: the kernel's random numbers are not ready yet")

func (s system) NewCookie() (cookie uint64, holder TID, err error) {
	made := make(chan struct{})
	go func() {
		defer crash.Handle()
		runtime.LockOSThread() // the thread keeps the cookie alive
		holder = TID(unix.Gettid())
		if err = ProbeCookie(); err == nil {
			cookie, err = s.Cookie(0)
		}
		if err == nil && cookie == 0 {
			err = errNoNumber
		}
		close(made)
		if err == nil {
			select {}
		}
	}()
	<-made
	return cookie, holder, err
}

func shareCookie(from, to TID) error {
	return OnThread(func() error {
		if err := coreSched(unix.PR_SCHED_CORE_SHARE_FROM, from); err != nil {
			return fmt.Errorf("PR_SCHED_CORE_SHARE_FROM tid %d: %w", from, err)
		}
		if err := coreSched(unix.PR_SCHED_CORE_SHARE_TO, to); err != nil {
			return fmt.Errorf("PR_SCHED_CORE_SHARE_TO tid %d: %w", to, err)
		}
		return nil
	})
}
