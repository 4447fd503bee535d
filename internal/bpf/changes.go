package bpf

import (
	"errors"
	"os"
	"structs"
	"syscall"

	"github.com/cilium/ebpf/ringbuf"

	"piton/internal/bpf/object"
	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// Changes reports the system calls that set how a task or a control group is scheduled, once
// they have returned and in that order. It looks at each system call of the machine, for some
// 20 ns, and 160 of a write: keep it open only while someone looks. Not seen are calls through io_uring or of 32-bit programs, and
// what the kernel changes by itself. Safe for concurrent use.
type Changes struct {
	object.Object
	record ringbuf.Record
}

// SetCall is what a system call sets.
type SetCall uint32

// The calls (enum call of c/changes.c).
const (
	SetAffinity SetCall = iota + 1
	SetScheduler
	SetParam
	SetAttr
	SetPriority
	SetIOPrio
	WriteFile // of a control group
	WriteVector
)

// setCalls are their numbers.
var setCalls = map[uint32]SetCall{
	syscall.SYS_SCHED_SETAFFINITY: SetAffinity, syscall.SYS_SCHED_SETSCHEDULER: SetScheduler, syscall.SYS_SCHED_SETPARAM: SetParam,
	kernel.SetAttrCall: SetAttr, syscall.SYS_SETPRIORITY: SetPriority, syscall.SYS_IOPRIO_SET: SetIOPrio,
	syscall.SYS_WRITE: WriteFile, syscall.SYS_PWRITE64: WriteFile, syscall.SYS_WRITEV: WriteVector,
}

// Change is one such call.
type Change struct {
	SetEvent
	CPUsBefore, CPUsAfter, CPUsAsked cpuset.Set
}

// SetEvent is a Change without sets of CPUs.
type SetEvent struct { // struct change of c/changes.c
	_                        structs.HostLayout
	AtNs                     uint64 // CLOCK_MONOTONIC
	Result                   int64  // -errno if it failed
	Args                     [4]uint64
	Program, Folder, ByGroup uint64 // inodes: of what the changer runs, of the group written to, of the changer's in version 2
	ProgramDevice, Device    uint32 // of Program and Folder, as the kernel has them
	Call                     SetCall
	ByTID, ByTGID            kernel.TID
	Unified                  uint32 // the group written to is of version 2
	ByComm                   [16]byte
	Before, After            TaskSet  // of the task that the call is about, if it is about one
	GroupBefore, GroupAfter  GroupSet // of the group written to, if no task is put into it
	FileName                 [32]byte // that was written
	Asked                    [64]byte // what was written, or what a pointer in Args points to
}

// TaskSet is what is set of a task. The call is about none if StartNs is 0.
type TaskSet struct { // struct task_state
	_                                      structs.HostLayout
	StartNs                                uint64 // since boot, suspend included
	Group                                  uint64 // in the hierarchy that is written to
	RuntimeNs, DeadlineNs, PeriodNs        uint64
	TID, TGID                              kernel.TID
	Policy, StaticPriority, RTPrio, IOPrio uint32
	Comm                                   [16]byte
}

// GroupSet is what is set of a control group.
type GroupSet struct { // struct group_state
	_                                  structs.HostLayout
	Shares, QuotaNs, PeriodNs, BurstNs uint64 // Shares as the kernel scales them
	Idle                               uint32
	CPU, Cpuset, Bandwidth, _          uint8 // 1 if the group has the controller
}

// ChangesBytes is a ring for 2,000 changes on a machine of 64 CPUs.
const ChangesBytes = 1 << 20

// OpenChanges begins to report into a ring of the given size: a power of two, at least a page.
// An error that Is feature.ErrNotSupported says what is missing.
func OpenChanges(ringBytes int) (*Changes, error) {
	c := &Changes{}
	s := object.Subject{What: "changes of scheduling", Compiled: changesObject, Room: ringBytes, Programs: []string{"changes_exit", "changes_enter"}}
	return opened(c, c.Open(s, func() (err error) {
		for number, call := range setCalls {
			err = errors.Join(err, c.Objects.Maps["calls"].Put(number, uint32(call)))
		}
		return err
	}))
}

// Read appends the changes that are there, without waiting, and says how many more there were
// since the last read that found the ring full.
func (c *Changes) Read(into []Change) (changes []Change, lost uint64, err error) {
	changes = into
	err = c.Use(func() (err error) {
		for range readLimit {
			err := c.Ring.ReadInto(&c.record)
			if errors.Is(err, os.ErrDeadlineExceeded) {
				break
			}
			if err != nil {
				return err
			}
			changes = append(changes, changeOf(c.record.RawSample))
		}
		lost, err = c.LostSince("lost", 0)
		return err
	})
	return changes, lost, err
}

// moreWords is MORE_WORDS of c/changes.c: so many words more the last mask has.
const moreWords = 15

// changeOf reads a record: the event, and then three masks.
func changeOf(record []byte) (c Change) {
	rest := record[copy(object.BytesOf(&c.SetEvent), record):]
	words := make([]uint64, len(rest)/8)
	copy(object.BytesOfAll(words), rest)
	each := (len(words) - moreWords) / 3
	c.CPUsBefore, c.CPUsAfter = cpuset.FromWords(words[:each]), cpuset.FromWords(words[each:2*each])
	if c.Call == SetAffinity {
		asked := words[2*each:]
		clear(object.BytesOfAll(asked)[c.Args[1]:]) // the length that was given
		c.CPUsAsked = cpuset.FromWords(asked)
	}
	return c
}

// Executable is a file that is executed, by the kernel's own numbers.
type Executable struct {
	Inode  uint64
	Device uint32
}

// Running is the program of the changer.
func (c *Change) Running() Executable { return Executable{c.Program, c.ProgramDevice} }

// Changer is the name of the thread that made the change.
func (c *Change) Changer() string { return comm(c.ByComm) }

// File is the name of the file that was written.
func (c *Change) File() string { return untilNUL(c.FileName[:]) }

// Text is what was written to it.
func (c *Change) Text() string { return untilNUL(c.Asked[:]) }

// Name is that of the task.
func (t *TaskSet) Name() string { return comm(t.Comm) }
