package object

import (
	"fmt"
	"os"
	"sync"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/ringbuf"

	"piton/internal/kernel"
)

// ErrClosed is the error of an object that is used after Close. It Is os.ErrClosed.
var ErrClosed = fmt.Errorf("closed: %w", os.ErrClosed)

// Object is what a subject has in the kernel until Close: its programs, what hooks them,
// and what they write to. Safe for concurrent use through Use.
type Object struct {
	What    string // "task wakeups"
	Objects *ebpf.Collection
	Links   Links
	Tables  *TwoTables      // nil where there are none
	Ring    *ringbuf.Reader // nil where there is none

	mu   sync.Mutex
	lost uint64 // of what the program says was lost, how much was told
}

// Use runs f, with the rights that bpf(2) takes, while the object is in the kernel.
func (o *Object) Use(f func() error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.Objects == nil {
		return ErrClosed
	}
	return Explain(o.What, kernel.WithBPF(f))
}

// LostSince is by how much a variable that counts what was lost has grown since the last
// call; more is what was lost besides.
func (o *Object) LostSince(variable string, more uint64) (lost uint64, err error) {
	var total uint64
	err = o.Objects.Variables[variable].Get(&total)
	total += more
	lost, o.lost = total-o.lost, total
	return lost, err
}

// Pending reports whether the ring has something to be read.
func (o *Object) Pending() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.Objects != nil && o.Ring.AvailableBytes() > 0
}

// Detach unhooks the programs; what they wrote stays.
func (o *Object) Detach() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.Links.Close()
	o.Links = nil
}

// Close removes it from the kernel.
func (o *Object) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.Objects == nil {
		return
	}
	o.Links.Close()
	if o.Ring != nil {
		o.Ring.Close()
	}
	if o.Tables != nil {
		o.Tables.Close()
	}
	o.Objects.Close()
	o.Objects = nil
}
