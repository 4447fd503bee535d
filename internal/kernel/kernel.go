// Package kernel is the one place that talks to Linux: it wraps the system
// calls that the rest of piton needs, and is the only importer of
// golang.org/x/sys/unix. It decides nothing: no retries, no policy, no words
// for the user beyond naming the call and its target.
//
// Reading and writing are apart: Scheduler and Settings read, Writer and
// SettingsWriter change other processes and the machine, Own changes the calling
// process. internal/kernel/kernelfake has recording fakes. Start at Scheduler.
package kernel

import (
	"strconv"

	"piton/internal/cpuset"
)

// TID is a kernel thread id. A PID is the TID of a process's first thread, its
// thread-group leader, so processes are named by a TID too.
type TID int32

// ParseTID reads the number of a process or thread, see ParseNumber.
func ParseTID(text string) (tid TID, ok bool) {
	n, ok := ParseNumber(text, 31)
	return TID(n), ok && n > 0
}

// ParseNumber reads a number that names something, of at most so many bits: digits alone,
// without leading zeros.
func ParseNumber(text string, bits int) (n uint64, ok bool) {
	n, err := strconv.ParseUint(text, 10, bits)
	return n, err == nil && strconv.FormatUint(n, 10) == text
}

// Policy is a scheduling policy number of sched(7).
type Policy uint8

// The scheduling policies, with the kernel's numbers.
const (
	Other    Policy = 0
	FIFO     Policy = 1
	RR       Policy = 2
	Batch    Policy = 3
	Idle     Policy = 5
	Deadline Policy = 6
	Ext      Policy = 7
)

// String is the name that the POL column, the flags and JSON use.
func (p Policy) String() string {
	switch p {
	case Other:
		return "OTHER"
	case FIFO:
		return "FIFO"
	case RR:
		return "RR"
	case Batch:
		return "BATCH"
	case Idle:
		return "IDLE"
	case Deadline:
		return "DEADLINE"
	case Ext:
		return "EXT"
	}
	return "?"
}

// RealTime reports whether tasks of the policy run before all ordinary ones.
func (p Policy) RealTime() bool { return p == FIFO || p == RR || p == Deadline }

// SchedAttr is a task's scheduling policy with its parameters, struct
// sched_attr of sched_setattr(2).
type SchedAttr struct {
	Policy      Policy
	ResetOnFork bool // SCHED_FLAG_RESET_ON_FORK: children start as OTHER, nice 0
	Nice        int  // -20..19, OTHER and BATCH
	RTPrio      int  // 1..99 for FIFO and RR, else 0
	RuntimeNs   uint64
	DeadlineNs  uint64
	PeriodNs    uint64
	Reclaim     bool // SCHED_FLAG_RECLAIM: a DEADLINE task also takes what others of its kind leave
}

// IOClass is an I/O scheduling class of ioprio_set(2).
type IOClass uint8

// The I/O classes, with the kernel's numbers. IONone means "follows nice".
const (
	IONone       IOClass = 0
	IORealTime   IOClass = 1
	IOBestEffort IOClass = 2
	IOIdle       IOClass = 3
)

// IOPrio is a task's I/O priority.
type IOPrio struct {
	Class IOClass
	Level int8 // 0 (first) .. 7 (last), for real time and best effort
}

// Scheduler is the read side: what the scheduler knows of a task. Errors wrap the
// syscall.Errno and name the call and the tid.
type Scheduler interface {
	// Affinity returns the mask as sched_getaffinity(2) gives it: the task's
	// mask cut to its cpuset and to the active CPUs.
	Affinity(tid TID) (cpuset.Set, error)
	// Attr's Nice is 0 for FIFO, RR and DEADLINE tasks, whatever they keep for
	// later, and its RuntimeNs is the slice of an OTHER or BATCH task.
	Attr(tid TID) (SchedAttr, error)
	// Nice works on one thread, whatever its policy: the value of a FIFO task
	// counts once it is OTHER again.
	Nice(tid TID) (int, error)
	IOPrio(tid TID) (IOPrio, error)
	Fair
	Cookies
}

// Calling is the thread that makes the call, as sched_setaffinity(2) has it.
const Calling TID = 0

// Own changes threads of the calling process, and that is Calling. The
// number of another process's thread is refused with ESRCH: those are changed
// through a Writer.
type Own interface {
	Scheduler
	SetAffinity(tid TID, cpus cpuset.Set) error
	SetAttr(tid TID, attr SchedAttr) error
	SetPolicy(tid TID, policy Policy, rtprio int, resetOnFork bool) error
	SetSlice(tid TID, ns uint64) error
}
