// Package watch follows the migrations of chosen tasks: one by one as they
// happen where the kernel tells (eBPF), else as counts of each thread. It keeps
// the sums, in which no move is missing that the source knows of, whatever
// becomes of the lines about single ones. Wakes counts which thread wakes which, and Changes
// tells who sets how tasks and control groups are scheduled.
//
// It prints nothing and changes nothing. Start at Open and Run, OpenWakes, or OpenChanges.
package watch

import (
	"context"
	"time"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/procfs"
	"piton/internal/sample"
)

// Scope says which tasks a target's number covers.
type Scope uint8

// The scopes.
const (
	Process Scope = iota // all threads of the process, later ones too
	Thread               // the one thread
	Tree                 // the process and its descendants, later ones too
)

// String is "process", "thread" or "tree".
func (s Scope) String() string { return [...]string{"process", "thread", "tree"}[s] }

// Targets are what is watched: numbers of threads with scope Thread, else of
// processes, and control groups.
type Targets struct {
	IDs   []kernel.TID
	Scope Scope
	// Groups are control groups of the cpu controller, with those below them and the
	// processes that are in them at the time. Only EachThread knows them.
	Groups []string
}

// Unknown as a CPU: the source knows that a task moved, not from where to where.
const Unknown cpuset.CPU = -1

// Move is one migration.
type Move struct {
	At        time.Duration // CLOCK_MONOTONIC
	TID, TGID kernel.TID
	From, To  cpuset.CPU
}

// Count is a number of migrations that are not told one by one.
type Count struct {
	TID, TGID kernel.TID // 0 where not even the task is known
	From, To  cpuset.CPU // Unknown where they are
	N         uint64
}

// Batch is what happened since the batch before.
type Batch struct {
	Moves  []Move
	Counts []Count
	// Unseen are those of Counts that no source told of, found by comparing with
	// the kernel's count of each thread (accounts).
	Unseen uint64
	// Unfollowed are descendants that there was no room to watch.
	Unfollowed uint64
}

func (b *Batch) reset() { *b = Batch{Moves: b.Moves[:0], Counts: b.Counts[:0]} }

// A Source tells of the targets' migrations from when it was opened.
type Source interface {
	// Kind is sample.SourceBPF or sample.SourceSched.
	Kind() sample.Source
	// Single reports whether moves are told one by one, so that a Count is of
	// moves that were lost on the way.
	Single() bool
	// Every is how often Read has to be called.
	Every() time.Duration
	// Read adds what happened since the last call.
	Read(*Batch) error
	// Stop ends watching and adds what happened until now.
	Stop(*Batch) error
	// Left reports whether there still is a target.
	Left() (bool, error)
	Close()
}

// Open takes the best source that works here. better is why it is not a better
// one, nil if it is the best.
func Open(fs procfs.FS, t Targets) (s Source, better, err error) {
	s, better = openKernel(fs, t, ringBytes)
	if better == nil {
		return s, nil, nil
	}
	s, err = openProc(fs, t)
	return s, better, err
}

// leftEvery is how often it is asked whether there still are targets.
const leftEvery = 250 * time.Millisecond

// Run calls on with what happens, until the duration is over (0 = for ever), ctx
// ends, no target is left, or on fails. The batch is on's during the call only.
// Everything the source knows of has been given to on when Run returns nil.
func Run(ctx context.Context, s Source, d time.Duration, on func(*Batch) error) error {
	if d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d)
		defer cancel()
	}
	read, look := time.NewTicker(s.Every()), time.NewTicker(max(leftEvery, s.Every()))
	defer read.Stop()
	defer look.Stop()
	var b Batch
	for left := true; left; {
		b.reset()
		var err error
		select {
		case <-ctx.Done():
			left = false
		case <-look.C:
			left, err = s.Left()
		case <-read.C:
			if err = s.Read(&b); err == nil {
				err = on(&b)
			}
		}
		if err != nil {
			return err
		}
	}
	b.reset()
	if err := s.Stop(&b); err != nil {
		return err
	}
	return on(&b)
}
