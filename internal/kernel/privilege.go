package kernel

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// An ordinary user who runs a piton with file capabilities (setcap(8)) chooses the
// paths that it opens, so it must not open them with more than that user's own
// rights. Therefore the effective set of every thread is empty, and a thread raises
// a capability of the permitted set for the one call that needs it (capabilities(7)).

// lowered is true once LowerCapabilities has emptied the effective sets.
var lowered atomic.Bool

// LowerCapabilities empties the effective set of all threads and keeps the permitted
// one, from which the calls of this package raise what they need. Root, and whoever
// has no capabilities, is left as it is. Call it first in main: threads that start
// later inherit the empty set.
func LowerCapabilities() error {
	if EUID() == 0 {
		return nil
	}
	now, err := readCapabilities()
	if err != nil || now.permitted == 0 {
		return err
	}
	now.effective = 0
	if err := now.writeToAllThreads(); err != nil {
		return err
	}
	lowered.Store(true)
	return nil
}

// DropCapabilities empties the effective and the permitted set of all threads of a
// process whose sets were lowered: nothing brings them back.
func DropCapabilities() error {
	if !lowered.Load() {
		return nil
	}
	return capabilitySets{}.writeToAllThreads()
}

// privileged runs call with the capabilities that it names in the effective set of
// its thread, as far as they are permitted. No other thread gets them: the goroutine
// stays on its thread, and the runtime never clones one to which a goroutine is
// locked (newm in runtime/proc.go). call must not open a path that a user can name,
// and must not start a process.
func privileged(call func() error, raise ...Capability) error {
	if !lowered.Load() {
		return call()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, err := readCapabilities()
	if err != nil {
		return err
	}
	raised := before
	for _, c := range raise {
		raised.effective |= before.permitted & (1 << c)
	}
	if raised == before {
		return call()
	}
	if err := raised.write(); err != nil {
		return err
	}
	defer lower(before.effective)
	return call()
}

// lower leaves the calling thread no more in its effective set than it had before.
func lower(before Capabilities) {
	now, err := readCapabilities() // DropCapabilities may have come between
	if err == nil {
		now.effective &= before
		err = now.write()
	}
	if err != nil {
		panic(err) // the thread must not go on with what it has
	}
}

// WithBPF is privileged for the eBPF loader, which makes its system calls itself.
// CAP_SYS_ADMIN, where it is held, stands for the first two and lists programs (bpf(2));
// programs of the network take CAP_NET_ADMIN besides.
func WithBPF(call func() error) error {
	return privileged(call, CapBPF, CapPerfmon, CapSysAdmin, CapNetAdmin)
}

// capabilitySets are the sets of a thread.
type capabilitySets struct{ effective, permitted, inheritable Capabilities }

func readCapabilities() (capabilitySets, error) {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData // two words of 32 capabilities
	if err := unix.Capget(&header, &data[0]); err != nil {
		return capabilitySets{}, fmt.Errorf("capget: %w", err)
	}
	join := func(low, high uint32) Capabilities { return Capabilities(high)<<32 | Capabilities(low) }
	return capabilitySets{
		effective:   join(data[0].Effective, data[1].Effective),
		permitted:   join(data[0].Permitted, data[1].Permitted),
		inheritable: join(data[0].Inheritable, data[1].Inheritable),
	}, nil
}

// words are the sets as capset(2) takes them.
func (s capabilitySets) words() (unix.CapUserHeader, [2]unix.CapUserData) {
	word := func(shift int) unix.CapUserData {
		return unix.CapUserData{
			Effective: uint32(s.effective >> shift), Permitted: uint32(s.permitted >> shift), Inheritable: uint32(s.inheritable >> shift),
		}
	}
	return unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, [2]unix.CapUserData{word(0), word(32)}
}

// write gives the calling thread the sets.
func (s capabilitySets) write() error {
	header, data := s.words()
	if err := unix.Capset(&header, &data[0]); err != nil {
		return fmt.Errorf("capset: %w", err)
	}
	return nil
}

// writeToAllThreads gives the sets to every thread of the process. ENOTSUP: a program
// built with cgo, of whose threads the Go runtime does not know all.
func (s capabilitySets) writeToAllThreads() error {
	header, data := s.words()
	_, _, errno := syscall.AllThreadsSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&data[0])), 0)
	if errno != 0 {
		return fmt.Errorf("capset on all threads: %w", errno)
	}
	return nil
}

// errnoError is the error of a raw system call, nil for 0.
func errnoError(errno syscall.Errno) error {
	if errno == 0 {
		return nil
	}
	return errno
}
