// Package store keeps studies and their runs in a file, one JSON record a line, and
// reads what was measured before. The records are also what piton bench -o json prints.
package store

import (
	"bufio"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"

	"piton/internal/bench"
	"piton/internal/kernel"
	"piton/internal/userfile"
)

// Store is the file of results, one JSON object a line, appended to and never
// rewritten but for lines that cannot be read, which are moved beside it. Two
// piton processes may use it at once. A nil Store keeps nothing.
type Store struct{ path string }

// New returns the store in a file; the file and its directory are made
// when something is written.
func New(path string) *Store { return &Store{path: path} }

// DefaultPath is where results live, results.jsonl in userfile.StateDir.
func DefaultPath(getenv func(string) string, euid int) (string, error) {
	dir := userfile.StateDir(getenv, euid)
	if dir == "" {
		return "", errors.New("results need XDG_STATE_HOME or HOME to be set")
	}
	return filepath.Join(dir, "results.jsonl"), nil
}

// Path is the file's path.
func (s *Store) Path() string { return s.path }

// Begin keeps that a study began.
func (s *Store) Begin(r bench.Results) error { return s.append(newStudyRecord(r)) }

// Add keeps a run of a study.
func (s *Store) Add(study string, run bench.RunResult) error {
	return s.append(newRunRecord(study, run))
}

// Grid keeps the beginning of a grid or, with Ended, its end.
func (s *Store) Grid(g bench.Grid) error {
	return s.append(gridRecord{Type: "grid", V: recordVersion, Grid: g, BudgetS: g.Budget.Seconds()})
}

// ErrUnwritable is of one record, not of the file: the next one may be kept.
var ErrUnwritable = errors.New("a record cannot be written")

// append adds one line, whole or not at all.
func (s *Store) append(record any) error {
	if s == nil {
		return nil
	}
	line, err := marshal(record)
	if err != nil {
		return fmt.Errorf("store results: %w: %w", ErrUnwritable, err)
	}
	return s.locked(func() error {
		f, err := userfile.OpenState(s.path, os.O_RDWR|os.O_CREATE|os.O_APPEND)
		if err == nil {
			defer f.Close()
			err = appendLine(f, line)
		}
		if err != nil {
			return fmt.Errorf("store results: %w", err)
		}
		return nil
	})
}

func appendLine(f *os.File, line []byte) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	last := []byte{'\n'} // before the first line, too
	if _, err := f.ReadAt(last, max(info.Size()-1, 0)); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if last[0] != '\n' { // torn by a crash: the rest of that line must not swallow this one
		line = append([]byte{'\n'}, line...)
	}
	if _, err := f.Write(append(line, '\n')); err != nil {
		return errors.Join(err, f.Truncate(info.Size())) // a full disk takes part of a line
	}
	return nil
}

// locked runs do while no other piton touches the files. The lock is on a file of its own,
// since that of the results may be replaced. It is there to stay: another process may hold it open.
func (s *Store) locked(do func() error) error {
	lock, err := userfile.OpenState(s.path+".lock", os.O_RDWR|os.O_CREATE)
	if err == nil {
		defer lock.Close() // unlocks
		err = kernel.Lock(lock)
	}
	if err != nil {
		return fmt.Errorf("store results: %w", err)
	}
	return do()
}

// Hold makes a grid this process's own to run, until release is called or the
// process ends; release is nil where another one runs it. Each grid has a byte of
// one file that stays empty, so there is nothing to clean up.
func (s *Store) Hold(grid string) (release func(), err error) {
	if s == nil {
		return func() {}, nil
	}
	f, err := userfile.OpenState(s.path+".grids.lock", os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, fmt.Errorf("store results: %w", err)
	}
	place := fnv.New32a()
	_, _ = place.Write([]byte(grid)) // never fails
	if ok, err := kernel.TryLockAt(f, int64(place.Sum32())); !ok {
		_ = f.Close()
		return nil, err
	}
	return func() { _ = f.Close() }, nil
}

// moveAside puts the lines of the file that are bad into the file beside, and
// leaves the good ones alone in it.
func (s *Store) moveAside() error {
	aside, err := userfile.OpenState(s.CorruptPath(), os.O_WRONLY|os.O_CREATE|os.O_APPEND)
	if err == nil {
		defer aside.Close()
		err = userfile.ReplaceState(s.path, userfile.Synced, func(w io.Writer) error {
			good := bufio.NewWriter(w)
			_, _, err := s.scan(func(line []byte, ok bool) error {
				to := io.Writer(good)
				if !ok {
					to = aside
				}
				_, err := to.Write(line)
				return err
			})
			return errors.Join(err, good.Flush(), aside.Sync())
		})
	}
	if err != nil {
		return fmt.Errorf("move corrupt results: %w", err)
	}
	return nil
}

// CorruptPath is where lines are moved that cannot be read.
func (s *Store) CorruptPath() string { return s.path + ".corrupt" }
