package changetest

import (
	"bytes"
	"cmp"
	"slices"
	"sync"
	"syscall"

	"piton/internal/change/journal"
)

// Store is a journal.Store in memory.
type Store struct {
	mu       sync.Mutex
	data     []byte
	replaced bool
	// Full, when it is set, says whether the disk is full for what is to be written. Err
	// is what a write fails with then; nil = ENOSPC.
	Full func(data []byte) bool
	Err  error
}

var _ journal.Store = (*Store)(nil)

// Exclusive is part of journal.Store.
func (s *Store) Exclusive(f func(size int64) error) error {
	s.mu.Lock()
	size := int64(len(s.data))
	s.mu.Unlock()
	return f(size)
}

// Read is part of journal.Store.
func (s *Store) Read(offset int64) ([]byte, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fresh := s.replaced || int64(len(s.data)) < offset
	if s.replaced = false; fresh {
		offset = 0
	}
	return bytes.Clone(s.data[offset:]), fresh, nil
}

// Append is part of journal.Store.
func (s *Store) Append(data []byte, _ bool) error {
	if s.Full != nil && s.Full(data) {
		return cmp.Or(s.Err, error(syscall.ENOSPC))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.data = append(s.data, data...)
	return nil
}

// Replace is part of journal.Store.
func (s *Store) Replace(data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.data, s.replaced = slices.Clone(data), true
	return nil
}

// Is reports whether a line that is to be written is a record of a kind.
func Is(line []byte, kind journal.Kind) bool {
	return bytes.Contains(line, []byte(`"kind":"`+string(kind)+`"`))
}
