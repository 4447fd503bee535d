package object

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

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

// Subject is how an object is put into the kernel.
type Subject struct {
	What     string
	Compiled []byte
	Room     int      // of its ring, in bytes, or else of its tables, in entries; 0: as compiled
	Programs []string // that are hooked, in order
	Alone    bool     // no other program is loaded
}

// Open puts a subject into the kernel, with the rights that bpf(2) takes; prepare fills its maps
// before the programs are hooked.
func (o *Object) Open(s Subject, prepare func() error) error {
	o.What = s.What
	return kernel.WithBPF(func() error {
		if err := Usable(s.What); err != nil {
			return err
		}
		spec, err := Spec(s.Compiled)
		if err != nil {
			return err
		}
		if err := s.fit(spec); err != nil {
			return err
		}
		if o.Objects, err = Load(s.What, spec); err != nil {
			return err
		}
		if err := o.begin(s, spec, prepare); err != nil {
			o.Close()
			return Explain(s.What, err)
		}
		return nil
	})
}

// fit gives maps their sizes, and leaves out programs.
func (s *Subject) fit(spec *ebpf.CollectionSpec) error {
	if s.Alone {
		maps.DeleteFunc(spec.Programs, func(name string, _ *ebpf.ProgramSpec) bool { return !slices.Contains(s.Programs, name) })
	}
	if cpus := spec.Maps["cpus"]; cpus != nil {
		n, err := PossibleCPUs(s.What)
		if err != nil {
			return err
		}
		cpus.MaxEntries = uint32(n)
	}
	if words := spec.Variables["mask_words"]; words != nil {
		n, err := PossibleCPUs(s.What)
		if err == nil {
			err = words.Set(uint32(n+63) / 64)
		}
		if err != nil {
			return err
		}
	}
	if ring := spec.Maps["events"]; s.Room > 0 && ring != nil {
		ring.MaxEntries = uint32(s.Room)
	} else if s.Room > 0 {
		spec.Maps["tables"].InnerMap.MaxEntries = uint32(s.Room)
	}
	return nil
}

func (o *Object) begin(s Subject, spec *ebpf.CollectionSpec, prepare func() error) (err error) {
	if ring := o.Objects.Maps["events"]; ring != nil {
		if o.Ring, err = ringbuf.NewReader(ring); err != nil {
			return err
		}
		o.Ring.SetDeadline(time.Unix(0, 1)) // in the past: reads never wait
	}
	if tables := spec.Maps["tables"]; tables != nil {
		if o.Tables, err = NewTwoTables(o.Objects.Maps["tables"], tables.InnerMap); err != nil {
			return err
		}
	}
	if err := prepare(); err != nil {
		return err
	}
	hooked, err := Attach(s.What, o.Objects, s.Programs...)
	o.Links = append(o.Links, hooked...)
	return err
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
