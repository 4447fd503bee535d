package machine

import "piton/internal/kernel"

// Misses are the calling thread's misses of the last-level cache from Open to Read, where a
// PMU can count them.
type Misses struct {
	fd    int
	Count uint64
	Why   string // it cannot be counted
}

// Open begins to count.
func (m *Misses) Open() {
	fd, err := kernel.OpenMissCounter()
	if err != nil {
		m.Why = "no PMU here: " + err.Error()
		return
	}
	m.fd = fd
}

// Read ends it.
func (m *Misses) Read() {
	if m.Why != "" {
		return
	}
	n, err := kernel.ReadCounter(m.fd)
	if err != nil {
		m.Why = err.Error()
	}
	m.Count = n
	_ = kernel.CloseFile(m.fd)
}
