package stripio

import "piton/internal/kernel"

// misses counts the calling thread's cache misses, where a PMU can.
type misses struct {
	fd    int
	count uint64
	why   string // it cannot be counted
}

func (m *misses) open() {
	fd, err := kernel.OpenMissCounter()
	if err != nil {
		m.why = "no PMU here: " + err.Error()
		return
	}
	m.fd = fd
}

func (m *misses) read() {
	if m.why != "" {
		return
	}
	n, err := kernel.ReadCounter(m.fd)
	if err != nil {
		m.why = err.Error()
	}
	m.count = n
	_ = kernel.CloseFile(m.fd)
}
