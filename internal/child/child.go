package child

import (
	"encoding/json"
	"io"
	"sync"

	"piton/internal/crash"
)

// Child is the process's end.
type Child struct {
	in     *json.Decoder
	out    *json.Encoder
	closed func() <-chan struct{}
}

// Main is the whole life of a process. Work is told what to do by Hear, prepares, is
// Ready, and tells its result; it fails when Ready does. Main returns the exit code: 0
// once the input is closed, 1 at once when work fails.
func Main(in io.Reader, out io.Writer, work func(*Child) error) int {
	c := &Child{in: json.NewDecoder(in), out: json.NewEncoder(out)}
	c.out.SetEscapeHTML(false)
	c.closed = sync.OnceValue(c.listen)
	if err := work(c); err != nil {
		_ = c.Tell(line{Error: err.Error()})
		return 1
	}
	<-c.Closed()
	return 0
}

// Hear reads the parent's next line; before Closed is called.
func (c *Child) Hear(what any) error { return c.in.Decode(what) }

// Tell writes a line.
func (c *Child) Tell(what any) error { return c.out.Encode(what) }

// Ready says that all is prepared and waits until the process is told to go; it fails
// when the input ends instead.
func (c *Child) Ready() error {
	if err := c.Tell(line{Ready: true}); err != nil {
		return err
	}
	var word string
	if c.Hear(&word) != nil {
		return io.ErrUnexpectedEOF
	}
	return nil
}

// Closed is closed when the input is: the process is released, or its parent is gone.
func (c *Child) Closed() <-chan struct{} { return c.closed() }

func (c *Child) listen() <-chan struct{} {
	closed := make(chan struct{})
	go func() {
		defer crash.Handle()
		defer close(closed)
		var word any
		_ = c.in.Decode(&word)
	}()
	return closed
}
