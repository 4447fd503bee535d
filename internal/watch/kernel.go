package watch

import (
	"errors"
	"slices"
	"time"

	"piton/internal/bpf"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/procfs"
	"piton/internal/sample"
)

// ringBytes has room for 131,072 moves: more than a second of the worst burst
// may pass before it is read.
const ringBytes = 4 * bpf.MovesBytes

// moves is what kernelSource uses of *bpf.Moves.
type moves interface {
	Read([]bpf.Move) ([]bpf.Move, uint64, error)
	Lost([]bpf.MoveCount) ([]bpf.MoveCount, error)
	Unfollowed() (uint64, error)
	Left() ([]kernel.TID, error)
	Stop()
	Close()
}

// kernelSource is the eBPF program on sched_migrate_task.
type kernelSource struct {
	moves      moves
	only       []kernel.TID // in order, with scope Thread: the program takes a leader's number for its process
	read       []bpf.Move
	counts     []bpf.MoveCount
	lost, told uint64 // moves that found the ring full, and those of them whose task is known
	unfollowed uint64
	look       func(each func(pid, tid kernel.TID, migrations uint64)) error // at the targets' threads; nil = /proc cannot tell
	exists     func(kernel.TID) bool                                         // as far as /proc can tell
	accounts   accounts
}

func openKernel(fs procfs.FS, t Targets, ring int) (*kernelSource, error) {
	m, err := bpf.OpenMoves(ring)
	if err != nil {
		return nil, err
	}
	err = m.SetFollow(t.Scope == Tree)
	if err == nil {
		err = m.SetTargets(t.IDs...)
	}
	if err != nil {
		m.Close()
		return nil, err
	}
	s := &kernelSource{moves: m, accounts: accounts{}, exists: exists(fs)}
	if t.Scope == Thread {
		s.only = slices.Sorted(slices.Values(t.IDs))
	}
	s.look = (&procSource{fs: fs, targets: t}).look
	if s.look(s.accounts.begin) != nil {
		s.look = nil // a kernel without CONFIG_SCHED_DEBUG has no counts in /proc
	}
	return s, nil
}

// exists reports of a task whether it is there, as far as /proc can tell.
func exists(fs procfs.FS) func(kernel.TID) bool {
	return func(id kernel.TID) bool {
		_, err := fs.Stat(id)
		return !errors.Is(err, procfs.ErrGone)
	}
}

func (*kernelSource) Kind() sample.Source  { return sample.SourceBPF }
func (*kernelSource) Single() bool         { return true }
func (*kernelSource) Every() time.Duration { return 25 * time.Millisecond }
func (s *kernelSource) Close()             { s.moves.Close() }

// Left asks /proc, too, for an end that the program was not told of.
func (s *kernelSource) Left() (bool, error) {
	left, err := s.moves.Left()
	return slices.ContainsFunc(left, s.exists), err
}

func (s *kernelSource) Read(b *Batch) error {
	lost := s.lost
	if err := s.drain(b); err != nil || s.lost == lost {
		return err
	}
	return s.addLost(b)
}

// Stop asks for lost moves twice: the first time waits for programs that still
// run, and one of them may have lost a move meanwhile.
func (s *kernelSource) Stop(b *Batch) error {
	if s.look != nil {
		_ = s.look(s.accounts.end) // it could be read when watching began; what is missing now has ended
	}
	s.moves.Stop()
	if err := s.addLost(b); err != nil {
		return err
	}
	for more := true; more; more = len(s.read) > 0 {
		if err := s.drain(b); err != nil {
			return err
		}
	}
	if err := s.addLost(b); err != nil {
		return err
	}
	s.settle(b)
	return nil
}

// settle adds the moves of which only the kernel's count of a thread tells, and
// then those of which not even that does.
func (s *kernelSource) settle(b *Batch) {
	nobodys := s.lost - min(s.lost, s.told)
	if s.look != nil {
		for tid, one := range s.accounts {
			n := one.unseen()
			if n == 0 {
				continue
			}
			b.Counts = append(b.Counts, Count{tid, one.tgid, Unknown, Unknown, n})
			lost := min(n, nobodys)
			nobodys -= lost
			b.Unseen += n - lost
		}
	}
	if nobodys > 0 {
		b.Counts = append(b.Counts, Count{From: Unknown, To: Unknown, N: nobodys})
	}
}

// drain adds what is in the ring.
func (s *kernelSource) drain(b *Batch) (err error) {
	var lost uint64
	s.read, lost, err = s.moves.Read(s.read[:0])
	if err != nil {
		return err
	}
	s.lost += lost
	for i := range s.read {
		m := &s.read[i]
		if s.wanted(m.TID) {
			s.accounts.move(m)
			b.Moves = append(b.Moves, Move{time.Duration(m.AtNs), m.TID, m.TGID, cpuset.CPU(m.From), cpuset.CPU(m.To)})
		}
	}
	unfollowed, err := s.moves.Unfollowed()
	b.Unfollowed += unfollowed - s.unfollowed
	s.unfollowed = unfollowed
	return err
}

// addLost adds whose moves found the ring full.
func (s *kernelSource) addLost(b *Batch) (err error) {
	if s.counts, err = s.moves.Lost(s.counts[:0]); err != nil {
		return err
	}
	for _, c := range s.counts {
		s.told += uint64(c.Moves)
		if s.wanted(c.TID) {
			s.accounts.lost(c)
			b.Counts = append(b.Counts, Count{c.TID, c.TGID, c.From, c.To, uint64(c.Moves)})
		}
	}
	return nil
}

func (s *kernelSource) wanted(tid kernel.TID) bool {
	if s.only == nil {
		return true
	}
	_, found := slices.BinarySearch(s.only, tid)
	return found
}
