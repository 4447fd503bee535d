package screen

import "sync/atomic"

// Meter counts what is written to the terminal. The zero value is ready; it may
// be read from any goroutine.
type Meter struct{ bytes, frames atomic.Uint64 }

// Read is the bytes and the frames written so far. A frame that differs in
// nothing from the one before is not written.
func (m *Meter) Read() (bytes, frames uint64) { return m.bytes.Load(), m.frames.Load() }

// frame counts one frame; a nil Meter counts none.
func (m *Meter) frame(bytes int) {
	if m != nil {
		m.bytes.Add(uint64(bytes))
		m.frames.Add(1)
	}
}
