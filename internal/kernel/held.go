package kernel

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"piton/internal/cpuset"
)

// Writer is the write side for tasks of other processes. It has no function that
// takes a bare number: a write is a method of a Task, which only Hold gives. A
// read-only piton is given no Writer.
type Writer interface {
	// Hold opens a process that started at startTicks (field 22 of its stat file, 0 =
	// not known). ESRCH: it has ended, or the number means another process by now.
	Hold(pid TID, startTicks uint64) (Process, error)
}

// Process is a process that is held: its number cannot come to mean another one
// unnoticed (pidfd_open(2); before Linux 5.3, or where a seccomp filter forbids
// it, start times must do, and Weak says so).
type Process interface {
	// Thread is one of its threads. With startTicks 0 any thread with that number
	// is meant, as long as it is one of this process.
	Thread(tid TID, startTicks uint64) Task
	// Alive is nil while the process has not been reaped, else an error that Is
	// ESRCH. A zombie is alive in this sense.
	Alive() error
	// Weak is why the process is known by its start time only; nil if it is held.
	Weak() error
	// Signal sends sig to the process, and never to a successor of its number.
	Signal(sig syscall.Signal) error
	Close() error
}

// Task is one thread of a held process. Each of its methods makes sure before the
// write that the number means this thread, and again after it. An error that Is
// ESRCH says that it does not; as a *LostError, that this was found after the write.
type Task interface {
	// Still is nil while the number means this thread.
	Still() error
	SetAffinity(cpus cpuset.Set) error
	// SetAttr sets everything in attr, nice and slice too (sched_setattr(2)).
	SetAttr(attr SchedAttr) error
	// SetPolicy sets policy, real-time priority and reset-on-fork, and leaves nice
	// and slice as they are (sched_setscheduler(2)); not for DEADLINE.
	SetPolicy(policy Policy, rtprio int, resetOnFork bool) error
	SetNice(nice int) error
	SetIOPrio(prio IOPrio) error
	// SetSlice sets the EEVDF slice in ns, 0 = the kernel's default.
	SetSlice(ns uint64) error
	// SetClamp sets the utilisation clamps, or gives the task its policy's defaults.
	SetClamp(clamp Clamp, reset bool) error
	// ShareCookie gives the thread the core-scheduling cookie of from, none too.
	ShareCookie(from TID) error
	// MigratePages and MovePages move the process's pages between NUMA nodes
	// (migrate_pages(2), move_pages(2)).
	MigratePages(from, to cpuset.Set) (left int, err error)
	MovePages(addrs []uint64, nodes []int32) (status []int32, err error)
	// WriteFile writes to a file of the process, /proc/PID/name. The file is opened
	// first, and an open one belongs to its process for good.
	WriteFile(name, text string) error
}

// LostError is a write after which the number no longer meant the task: its
// successor may have been given the value.
type LostError struct{ Err error }

func (e *LostError) Error() string { return e.Err.Error() }
func (e *LostError) Unwrap() error { return e.Err }

// SystemWriter returns the Writer of the running kernel.
func SystemWriter() Writer { return writer{} }

type writer struct{}

func (writer) Hold(pid TID, startTicks uint64) (Process, error) {
	p := &heldProcess{fd: -1, pid: pid, startTicks: startTicks}
	fd, err := unix.PidfdOpen(int(pid), 0)
	switch {
	case errors.Is(err, unix.ESRCH):
		return nil, fmt.Errorf("pidfd_open of %d: %w", pid, err)
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOENT): // since Linux 6.15 ENOENT
		return nil, fmt.Errorf("%d is no process: %w", pid, unix.ESRCH)
	case err != nil: // ENOSYS, EPERM
		p.weak = fmt.Errorf("pidfd_open of %d: %w", pid, err)
	default:
		p.fd = fd
	}
	if startTicks != 0 {
		if err := sameStart(pid, pid, startTicks); err != nil {
			return nil, errors.Join(err, p.Close())
		}
	}
	return p, nil
}

type heldProcess struct {
	fd         int // -1 = there are no pidfds
	pid        TID
	startTicks uint64
	weak       error
}

func (p *heldProcess) Thread(tid TID, startTicks uint64) Task { return heldTask{p, tid, startTicks} }
func (p *heldProcess) Weak() error                            { return p.weak }

func (p *heldProcess) Close() error {
	if p.fd < 0 {
		return nil
	}
	return unix.Close(p.fd)
}

func (p *heldProcess) Signal(sig syscall.Signal) error {
	if p.fd < 0 {
		if p.startTicks == 0 {
			return p.weak
		}
		if err := sameStart(p.pid, p.pid, p.startTicks); err != nil {
			return err
		}
		return unix.Kill(int(p.pid), sig)
	}
	if err := unix.PidfdSendSignal(p.fd, sig, nil, 0); err != nil {
		return fmt.Errorf("send %s to %d: %w", unix.SignalName(sig), p.pid, err)
	}
	return nil
}

// Alive is part of Process.
func (p *heldProcess) Alive() error {
	if p.fd < 0 {
		if p.startTicks == 0 {
			return nil // its thread's own start was compared
		}
		return sameStart(p.pid, p.pid, p.startTicks)
	}
	err := unix.PidfdSendSignal(p.fd, 0, nil, 0)
	if err == nil || errors.Is(err, unix.EPERM) { // somebody else's, and so still there
		return nil
	}
	return fmt.Errorf("pidfd_send_signal to %d: %w", p.pid, err)
}

type heldTask struct {
	*heldProcess
	tid        TID
	startTicks uint64
}

// Still is part of Task. The thread is asked for
// first: if the process is alive after that, its number has meant it all along.
func (t heldTask) Still() error {
	switch {
	case t.startTicks != 0:
		if err := running(t.pid, t.tid, t.startTicks); err != nil {
			return err
		}
	case t.fd >= 0 && t.tid == t.pid: // the number of the process is its first thread's
	case t.fd < 0 && t.heldProcess.startTicks == 0:
		return fmt.Errorf("%d: neither a pidfd nor a start time tells whom the number means: %w", t.tid, unix.ESRCH)
	default:
		if err := unix.Tgkill(int(t.pid), int(t.tid), 0); err != nil && !errors.Is(err, unix.EPERM) {
			return fmt.Errorf("tgkill of tid %d in process %d: %w", t.tid, t.pid, err)
		}
	}
	return t.Alive()
}

// write is one write with the checks around it.
func (t heldTask) write(f func() error) error {
	if err := t.Still(); err != nil {
		return err
	}
	if err := f(); err != nil {
		return err
	}
	if err := t.Still(); err != nil {
		return &LostError{err}
	}
	return nil
}

func (t heldTask) SetAffinity(cpus cpuset.Set) error {
	return t.write(func() error { return setAffinity(t.tid, cpus) })
}

func (t heldTask) SetAttr(attr SchedAttr) error {
	return t.write(func() error { return setAttr(t.tid, attr) })
}

func (t heldTask) SetPolicy(policy Policy, rtprio int, reset bool) error {
	return t.write(func() error { return setPolicy(t.tid, policy, rtprio, reset) })
}

func (t heldTask) SetNice(nice int) error {
	return t.write(func() error { return setNice(t.tid, nice) })
}

func (t heldTask) SetIOPrio(prio IOPrio) error {
	return t.write(func() error { return setIOPrio(t.tid, prio) })
}

func (t heldTask) SetSlice(ns uint64) error {
	return t.write(func() error { return setSlice(t.tid, ns) })
}

func (t heldTask) SetClamp(c Clamp, reset bool) error {
	return t.write(func() error { return setClamp(t.tid, c, reset) })
}

func (t heldTask) ShareCookie(from TID) error {
	return t.write(func() error { return shareCookie(from, t.tid) })
}

func (t heldTask) MigratePages(from, to cpuset.Set) (left int, err error) {
	err = t.write(func() error {
		left, err = migratePages(t.pid, from, to)
		return err
	})
	return left, err
}

func (t heldTask) MovePages(addrs []uint64, nodes []int32) (status []int32, err error) {
	err = t.write(func() error {
		status, err = movePages(t.pid, addrs, nodes)
		return err
	})
	return status, err
}

func (t heldTask) WriteFile(name, text string) error {
	f, err := os.OpenFile(fmt.Sprintf("/proc/%d/%s", t.pid, name), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	return t.write(func() error {
		_, err := f.WriteString(text)
		return err
	})
}

// StartTicks returns when a thread of a process started, in USER_HZ since boot as
// this time namespace counts it (field 22 of its stat file, proc_pid_stat(5)), and
// its state. ESRCH: there is no such thread in the process.
func StartTicks(pid, tid TID) (ticks uint64, state byte, err error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/stat", pid, tid))
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH) {
		return 0, 0, fmt.Errorf("tid %d of process %d: %w", tid, pid, unix.ESRCH)
	}
	if err != nil {
		return 0, 0, err
	}
	// The name, in brackets, may hold anything; state is field 3, the start field 22.
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	if len(fields) < 20 {
		return 0, 0, fmt.Errorf("stat of tid %d has %d fields", tid, len(fields)+2)
	}
	ticks, err = strconv.ParseUint(string(fields[19]), 10, 64)
	return ticks, fields[0][0], err
}

// sameStart is nil if the thread started at startTicks. It may have ended: the first
// thread of a process is a zombie while others run.
func sameStart(pid, tid TID, startTicks uint64) error {
	_, err := stateOf(pid, tid, startTicks)
	return err
}

// running is nil if the thread started at startTicks and has not ended.
func running(pid, tid TID, startTicks uint64) error {
	state, err := stateOf(pid, tid, startTicks)
	if err == nil && (state == 'Z' || state == 'X') {
		err = fmt.Errorf("%d is a zombie: %w", tid, unix.ESRCH)
	}
	return err
}

func stateOf(pid, tid TID, startTicks uint64) (state byte, err error) {
	ticks, state, err := StartTicks(pid, tid)
	if err == nil && ticks != startTicks {
		err = fmt.Errorf("%d now means another task: %w", tid, unix.ESRCH)
	}
	return state, err
}
