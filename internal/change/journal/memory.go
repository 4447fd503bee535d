package journal

import (
	"bytes"
	"slices"
	"sync"
)

// Memory is a Store in memory, for tests and for the made-up machine of piton demo.
type Memory struct {
	mu       sync.Mutex
	data     []byte
	replaced bool
}

var _ Store = (*Memory)(nil)

// Exclusive is part of Store.
func (s *Memory) Exclusive(f func(size int64) error) error {
	s.mu.Lock()
	size := int64(len(s.data))
	s.mu.Unlock()
	return f(size)
}

// Read is part of Store.
func (s *Memory) Read(offset int64) ([]byte, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fresh := s.replaced || int64(len(s.data)) < offset
	if s.replaced = false; fresh {
		offset = 0
	}
	return bytes.Clone(s.data[offset:]), fresh, nil
}

// Room is part of Store.
func (s *Memory) Room(int) error { return nil }

// Append is part of Store.
func (s *Memory) Append(data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.data = append(s.data, data...)
	return nil
}

// Replace is part of Store.
func (s *Memory) Replace(data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.data, s.replaced = slices.Clone(data), true
	return nil
}
