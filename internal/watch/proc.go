package watch

import (
	"errors"
	"fmt"
	"slices"
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
	err := s.targets.EachThread(s.fs, func(pid, tid kernel.TID) error {
		sched, err := s.fs.Sched(pid, tid)
		if err == nil {
			each(pid, tid, sched.Migrations)
			s.next[tid] = sched.Migrations
		}
		return err
	})
	if err == nil {
		s.seen = s.next
	}
	return err
}

// EachThread calls each for every thread that the targets cover now, and passes over those that have
// ended. Descendants that it finds are targets from then on: one that loses its parent is still a
// descendant.
func (t *Targets) EachThread(fs procfs.FS, each func(pid, tid kernel.TID) error) (err error) {
	if t.Scope == Tree {
		if t.IDs, err = Descendants(fs, t.IDs); err != nil {
			return err
		}
	}
	for _, id := range t.ids(fs) {
		pid, tids, err := t.threads(fs, id)
		if err != nil && !errors.Is(err, procfs.ErrGone) {
			return err
		}
		for _, tid := range tids {
			if err := each(pid, tid); err != nil && !errors.Is(err, procfs.ErrGone) {
				return err
			}
		}
	}
	return nil
}

// Left reports whether there is a thread of them.
func (t *Targets) Left(fs procfs.FS) (left bool, err error) {
	enough := errors.New("one is enough")
	err = t.EachThread(fs, func(_, _ kernel.TID) error {
		left = true
		return enough
	})
	if errors.Is(err, enough) {
		err = nil
	}
	return left, err
}

// ids are IDs, and the processes of Groups.
func (t *Targets) ids(fs procfs.FS) []kernel.TID {
	ids := slices.Clone(t.IDs)
	if len(t.Groups) == 0 {
		return ids
	}
	mount, _ := fs.CgroupMount("cpu") // without one there are no groups
	for _, path := range t.Groups {
		ids = append(ids, procfs.GroupProcesses(mount.File(path, ""))...)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// threads are those that a target's number covers, and their process.
func (t *Targets) threads(fs procfs.FS, id kernel.TID) (pid kernel.TID, tids []kernel.TID, err error) {
	if t.Scope != Thread {
		tids, err = fs.Threads(id)
		return id, tids, err
	}
	st, err := fs.Status(id)
	if err != nil {
		return 0, nil, err
	}
	return st.TGID, []kernel.TID{id}, nil
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
