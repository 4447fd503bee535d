package watch

import (
	"errors"
	"fmt"
	"time"

	"piton/internal/kernel"
	"piton/internal/procfs"
	"piton/internal/sample"
)

// procSource looks at se.nr_migrations of every thread from time to time. What
// a thread does between the last look and its end is not seen.
type procSource struct {
	fs      procfs.FS
	targets Targets
	seen    map[kernel.TID]uint64 // migrations so far, by thread
	next    map[kernel.TID]uint64
}

func openProc(fs procfs.FS, t Targets) (*procSource, error) {
	s := &procSource{fs: fs, targets: t}
	if err := s.look(func(kernel.TID, kernel.TID, uint64) {}); err != nil {
		return nil, fmt.Errorf("count migrations by /proc: %w", err)
	}
	return s, nil
}

func (*procSource) Kind() sample.Source  { return sample.SourceSched }
func (*procSource) Single() bool         { return false }
func (*procSource) Every() time.Duration { return 500 * time.Millisecond }
func (*procSource) Close()               {}

// Left reports whether the last look found a thread.
func (s *procSource) Left() (bool, error) { return len(s.seen) > 0, nil }

// Stop has nothing to end.
func (s *procSource) Stop(b *Batch) error { return s.Read(b) }

// Read adds by how much each thread's count has grown. One that was not there
// before was born since, and its count began at 0.
func (s *procSource) Read(b *Batch) error {
	return s.look(func(pid, tid kernel.TID, migrations uint64) {
		before := s.seen[tid]
		if migrations < before { // the number is another thread's now
			before = 0
		}
		if migrations > before {
			b.Counts = append(b.Counts, Count{tid, pid, Unknown, Unknown, migrations - before})
		}
	})
}

// look calls each for every thread of the targets.
func (s *procSource) look(each func(pid, tid kernel.TID, migrations uint64)) error {
	s.next = make(map[kernel.TID]uint64, len(s.seen))
	pids := s.targets.IDs
	if s.targets.Scope == Tree {
		var err error
		if pids, err = Descendants(s.fs, pids); err != nil {
			return err
		}
		s.targets.IDs = pids // one that loses its parent is still a descendant
	}
	for _, id := range pids {
		if err := s.one(id, each); err != nil && !errors.Is(err, procfs.ErrGone) {
			return err
		}
	}
	s.seen = s.next
	return nil
}

// one looks at the threads that a target's number covers.
func (s *procSource) one(id kernel.TID, each func(pid, tid kernel.TID, migrations uint64)) error {
	pid, tids := id, []kernel.TID{id}
	if s.targets.Scope == Thread {
		st, err := s.fs.Status(id)
		if err != nil {
			return err
		}
		pid = st.TGID
	} else {
		var err error
		if tids, err = s.fs.Threads(id); err != nil {
			return err
		}
	}
	for _, tid := range tids {
		sched, err := s.fs.Sched(pid, tid)
		if errors.Is(err, procfs.ErrGone) {
			continue
		}
		if err != nil {
			return err
		}
		each(pid, tid, sched.Migrations)
		s.next[tid] = sched.Migrations
	}
	return nil
}

// Descendants returns the processes and all that descend from them, each once,
// those that have ended left out.
func Descendants(fs procfs.FS, roots []kernel.TID) ([]kernel.TID, error) {
	pids, err := fs.Processes()
	if err != nil {
		return nil, err
	}
	children := map[kernel.TID][]kernel.TID{}
	there := map[kernel.TID]bool{}
	for _, pid := range pids {
		if st, err := fs.Stat(pid); err == nil { // else it is gone
			children[st.PPID] = append(children[st.PPID], pid)
			there[pid] = true
		}
	}
	var out []kernel.TID
	add := func(pid kernel.TID) {
		if there[pid] {
			there[pid] = false
			out = append(out, pid)
		}
	}
	for _, pid := range roots {
		add(pid)
	}
	for i := 0; i < len(out); i++ {
		for _, child := range children[out[i]] {
			add(child)
		}
	}
	return out, nil
}
