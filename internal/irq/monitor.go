package irq

import "sync"

// Monitor makes a Table at each reading, with the rates since the last one.
type Monitor struct {
	mu     sync.Mutex // readings one after the other
	reader *Reader
	last   *Snapshot
}

// NewMonitor returns the Monitor of a root: "/" or "" for this machine.
func NewMonitor(root string) *Monitor { return &Monitor{reader: New(root).NewReader()} }

// Table reads the interrupts; the first one has no rates.
func (m *Monitor) Table() (Table, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, err := m.reader.Read()
	if err != nil {
		return Table{}, err
	}
	t := Next(m.last, s)
	m.last = s
	return t, nil
}
