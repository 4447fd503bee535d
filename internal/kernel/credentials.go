package kernel

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Capability is one privilege of capabilities(7), by the kernel's number.
type Capability uint8

// The capabilities that piton's features need.
const (
	CapSysPtrace   Capability = unix.CAP_SYS_PTRACE
	CapSysNice     Capability = unix.CAP_SYS_NICE
	CapSysAdmin    Capability = unix.CAP_SYS_ADMIN
	CapPerfmon     Capability = unix.CAP_PERFMON
	CapBPF         Capability = unix.CAP_BPF
	CapDACOverride Capability = unix.CAP_DAC_OVERRIDE
	CapNetAdmin    Capability = unix.CAP_NET_ADMIN
	CapSysResource Capability = unix.CAP_SYS_RESOURCE
	CapIPCLock     Capability = unix.CAP_IPC_LOCK
)

// Capabilities is a set of them, bit n for number n.
type Capabilities uint64

// Has reports whether c is in the set.
func (s Capabilities) Has(c Capability) bool { return s>>c&1 == 1 }

// raisable are those that privileged is called with. The rights over files are not
// among them.
const raisable Capabilities = 1<<CapSysNice | 1<<CapSysPtrace | 1<<CapPerfmon | 1<<CapBPF | 1<<CapSysAdmin | 1<<CapNetAdmin

// UsableCapabilities returns what the calls of this package may do: what the calling
// thread has in its effective set or, after LowerCapabilities, what they raise.
func UsableCapabilities() (Capabilities, error) {
	sets, err := readCapabilities()
	if lowered.Load() {
		return sets.permitted & raisable, err
	}
	return sets.effective, err
}

// FileCapabilities returns what a program permits whoever executes it (xattr
// security.capability, struct vfs_cap_data of include/uapi/linux/capability.h).
func FileCapabilities(path string) (Capabilities, error) {
	var b [24]byte // version 3; version 2 is without the last word
	n, err := unix.Getxattr(path, "security.capability", b[:])
	if err != nil || n < 20 {
		return 0, err
	}
	low, high := binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint32(b[12:])
	return Capabilities(high)<<32 | Capabilities(low), nil
}

// EUID returns the effective user id of the process; 0 is root.
func EUID() int { return unix.Geteuid() }

// Limits are the resource limits of a task that its scheduling depends on
// (getrlimit(2)).
type Limits struct {
	Nice   uint64 // RLIMIT_NICE: the lowest nice allowed is 20 less this
	RTPrio uint64 // RLIMIT_RTPRIO: the highest real-time priority allowed
}

// ReadLimits returns the limits of task tid (prlimit(2)): it needs to be one of
// the caller's own, or CAP_SYS_RESOURCE.
func ReadLimits(tid TID) (Limits, error) {
	var nice, rtprio unix.Rlimit
	if err := unix.Prlimit(int(tid), unix.RLIMIT_NICE, nil, &nice); err != nil {
		return Limits{}, fmt.Errorf("RLIMIT_NICE of tid %d: %w", tid, err)
	}
	if err := unix.Prlimit(int(tid), unix.RLIMIT_RTPRIO, nil, &rtprio); err != nil {
		return Limits{}, fmt.Errorf("RLIMIT_RTPRIO of tid %d: %w", tid, err)
	}
	return Limits{Nice: nice.Cur, RTPrio: rtprio.Cur}, nil
}

// Release returns the kernel's release, "6.18.44", as uname -r prints it.
func Release() (string, error) {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return "", fmt.Errorf("uname: %w", err)
	}
	return unix.ByteSliceToString(u.Release[:]), nil
}

// CompareRelease compares a kernel's release with major.minor: -1 if it is older, 0, or 1;
// known is false if it does not begin with two numbers.
func CompareRelease(release string, major, minor int) (order int, known bool) {
	var x, y int
	if n, err := fmt.Sscanf(release, "%d.%d", &x, &y); n != 2 || err != nil {
		return 0, false
	}
	return cmp.Or(cmp.Compare(x, major), cmp.Compare(y, minor)), true
}

// The inode numbers of the initial namespaces (include/uapi/linux/nsfs.h).
var initialInodes = map[string]string{"pid": "4026531836", "user": "4026531837", "time": "4026531834"}

// InitialNamespace reports whether this process is in the namespace of a kind ("pid",
// "user", "time") that the machine booted with: elsewhere the kernel's numbers,
// capabilities or times are not the ones seen here. Without the link in /proc the kernel
// has no such namespaces, or /proc is not mounted and no task can be named at all.
func InitialNamespace(kind string) bool {
	link, err := os.Readlink("/proc/self/ns/" + kind)
	return err != nil || link == fmt.Sprintf("%s:[%s]", kind, initialInodes[kind])
}
