package procfs

import (
	"bytes"
	"errors"
	"fmt"
	"math"

	"piton/internal/kernel"
)

// Flags of Stat.Flags.
const (
	FlagExiting       = 0x00000004 // PF_EXITING: it runs no more code of its own
	FlagKernelThread  = 0x00200000 // PF_KTHREAD
	FlagNoSetAffinity = 0x04000000 // PF_NO_SETAFFINITY: the mask cannot be changed
)

// Stat is what piton uses of /proc/PID/stat or /proc/PID/task/TID/stat
// (proc_pid_stat(5)). In the file of a process, times, faults and memory are of
// all of its threads, and the rest is of the first.
type Stat struct {
	TID kernel.TID
	// Comm is the name as the kernel has it, up to 63 bytes for kernel threads
	// and 15 for others; it may hold any byte but NUL. It aliases the input.
	Comm        []byte
	State       byte
	PPID        kernel.TID
	Group       kernel.TID // of processes; 0 = of another PID namespace, -1 as Session
	Session     kernel.TID // -1 while the task is being released, in state X
	Flags       uint32     // PF_* of include/linux/sched.h
	MinorFaults uint64
	MajorFaults uint64
	UserTicks   uint64 // USER_HZ, guest time included
	SystemTicks uint64
	Priority    int16 // 20 + nice, or -1 - rtprio
	Nice        int8
	Threads     int32
	StartTicks  uint64 // USER_HZ since boot; with TID it names a task for good
	RSSPages    int64
	LastCPU     int32
	RTPrio      uint8
	Policy      kernel.Policy
}

// Stat reads /proc/PID/stat.
func (f FS) Stat(pid kernel.TID) (Stat, error) { return f.ThreadStat(pid, 0) }

// ThreadStat reads /proc/PID/task/TID/stat; with tid 0, /proc/PID/stat.
func (f FS) ThreadStat(pid, tid kernel.TID) (Stat, error) {
	var st Stat
	b, err := f.task(pid, tid, "stat")
	if err != nil {
		return st, err
	}
	return st, ParseStat(b, &st)
}

// ErrCut is what the error about a stat file is that is cut or not understood; the Stat then
// has its name, if there is one, and nothing else.
var ErrCut = errors.New("cut or malformed")

// maxComm is the most bytes of a name (proc_task_name in fs/proc/array.c).
const maxComm = 63

// ParseStat parses a stat file into st. It allocates nothing.
func ParseStat(b []byte, st *Stat) error {
	*st = Stat{}
	// The name may contain anything, so it ends at the last ')'.
	open := bytes.IndexByte(b, '(')
	end := bytes.LastIndexByte(b[:min(len(b), max(open, 0)+maxComm+2)], ')')
	if open < 0 || end < open {
		return cutStat(b)
	}
	head := scan(b[:open])
	st.TID, st.Comm = head.tid(), b[open+1:end]
	if !head.ok || !st.figures(scanner{b: b, i: end + 1, ok: true}) {
		*st = Stat{Comm: st.Comm}
		return cutStat(b)
	}
	return nil
}

func cutStat(b []byte) error { return fmt.Errorf("%w: %w", malformed("stat", b), ErrCut) }

// figures reads what is behind the name.
func (st *Stat) figures(s scanner) bool {
	state := s.word()
	if len(state) != 1 {
		return false
	}
	st.State = state[0]
	st.PPID = s.tid()
	st.Group = kernel.TID(s.between(-1, math.MaxInt32))
	st.Session = kernel.TID(s.between(-1, math.MaxInt32))
	s.skip(2) // tty_nr, tpgid
	st.Flags = uint32(s.uint())
	st.MinorFaults = s.uint()
	s.skip(1) // cminflt
	st.MajorFaults = s.uint()
	s.skip(1) // cmajflt
	st.UserTicks = s.uint()
	st.SystemTicks = s.uint()
	s.skip(2) // cutime, cstime
	st.Priority = int16(s.between(math.MinInt16, math.MaxInt16))
	st.Nice = int8(s.between(-20, 19))
	st.Threads = int32(s.between(0, math.MaxInt32))
	s.skip(1) // itrealvalue
	st.StartTicks = s.uint()
	s.skip(1) // vsize
	st.RSSPages = s.int()
	s.skip(14) // rsslim … exit_signal
	st.LastCPU = int32(s.between(-1, math.MaxInt32))
	st.RTPrio = uint8(s.between(0, 99))
	st.Policy = kernel.Policy(s.between(0, math.MaxUint8))
	return s.ended()
}

// tid reads a task number; 0 is one outside the reader's PID namespace.
func (s *scanner) tid() kernel.TID { return kernel.TID(s.between(0, math.MaxInt32)) }

// between reads a number that must lie in a range.
func (s *scanner) between(low, high int64) int64 {
	n := s.int()
	if n < low || n > high {
		s.ok = false
		return 0
	}
	return n
}
