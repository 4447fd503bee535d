package peer

import (
	"encoding/json"
	"io"
	"os"
	"runtime/debug"
)

// Child is the process's end.
type Child struct {
	Opened chan struct{} // closed when it is told to go; after Ready
	Closed chan struct{} // closed when its input is; after Ready

	in  *json.Decoder
	out *json.Encoder
}

// Main is the whole life of a process: work is told what to do in config, calls
// Ready and then waits for Opened, and tells its result. Main returns the exit
// code once the input is closed, or at once when work fails. The garbage
// collector is off, since nothing may stop threads that wait in the kernel: see
// kernel.BlockingRead.
func Main[C any](in *os.File, out io.Writer, work func(c *Child, config C) error) int {
	debug.SetGCPercent(-1)
	c := &Child{Opened: make(chan struct{}), Closed: make(chan struct{}), in: json.NewDecoder(in), out: json.NewEncoder(out)}
	var config C
	if err := c.in.Decode(&config); err != nil {
		return 1 // whoever started it is gone
	}
	if err := work(c, config); err != nil {
		_ = c.Tell(line{Error: err.Error()})
		return 1
	}
	<-c.Closed
	return 0
}

// Tell writes a line.
func (c *Child) Tell(what any) error { return c.out.Encode(what) }

// Ready says that all is prepared and waits until it is told to go; it fails when
// the input ends instead.
func (c *Child) Ready() error {
	if err := c.Tell(line{Ready: true}); err != nil {
		return err
	}
	go c.listen()
	select {
	case <-c.Opened:
		return nil
	case <-c.Closed:
		return io.ErrUnexpectedEOF
	}
}

// listen reads the word to go, and waits for the end of the input.
func (c *Child) listen() {
	defer close(c.Closed)
	var word any
	if c.in.Decode(&word) != nil {
		return
	}
	close(c.Opened)
	_ = c.in.Decode(&word)
}
