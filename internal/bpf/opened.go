package bpf

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/ringbuf"

	"piton/internal/kernel"
)

var errClosed = fmt.Errorf("closed: %w", os.ErrClosed)

// opened is an object in the kernel until Close: its programs, what hooks them, and what
// they write to. Safe for concurrent use.
type opened struct {
	what    string // "task wakeups"
	mu      sync.Mutex
	objects *ebpf.Collection
	links   links
	tables  *twoTables      // nil where there are none
	ring    *ringbuf.Reader // nil where there is none
	lost    uint64          // of what the program says was lost, how much was told
}

// use runs f, with the rights that bpf(2) takes, while the object is in the kernel.
func (o *opened) use(f func() error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.objects == nil {
		return errClosed
	}
	return explain(o.what, kernel.WithBPF(f))
}

// lostSince is by how much a variable that counts what was lost has grown since the last
// call; more is what was lost besides.
func (o *opened) lostSince(variable string, more uint64) (lost uint64, err error) {
	var total uint64
	err = o.objects.Variables[variable].Get(&total)
	total += more
	lost, o.lost = total-o.lost, total
	return lost, err
}

// Close removes it from the kernel.
func (o *opened) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.objects == nil {
		return
	}
	o.links.close()
	if o.ring != nil {
		o.ring.Close()
	}
	if o.tables != nil {
		o.tables.close()
	}
	o.objects.Close()
	o.objects = nil
}

// drain empties a hash table, calling each for what was in it. Keys and values
// are buffers of equal length, at least as long as the longest hash chain.
// Entries that a program changes meanwhile can be lost; see twoTables.
func drain[K, V any](m *ebpf.Map, keys []K, values []V, each func(K, V)) error {
	var cursor ebpf.MapBatchCursor
	for {
		n, err := m.BatchLookupAndDelete(&cursor, keys, values, nil)
		for i := range n {
			each(keys[i], values[i])
		}
		if errors.Is(err, ebpf.ErrKeyNotExist) { // the end
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// twoTables are a table that programs write to and a spare one. Exchanging them
// makes it possible to empty the former without losing a count: an update of an
// array of maps returns only when no running program can still have the old
// entry (synchronize_rcu in maybe_wait_bpf_programs, kernel/bpf/syscall.c).
// That wait is some milliseconds of sleep.
type twoTables struct {
	slot        *ebpf.Map // an array with the one table that programs use
	live, spare *ebpf.Map
}

func newTwoTables(slot *ebpf.Map, table *ebpf.MapSpec) (*twoTables, error) {
	t := &twoTables{slot: slot}
	var err error
	if t.live, err = ebpf.NewMap(table); err != nil {
		return nil, err
	}
	if t.spare, err = ebpf.NewMap(table); err != nil {
		t.close()
		return nil, err
	}
	if err = slot.Put(uint32(0), t.live); err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

// exchange returns the table that programs wrote to until now; they are done
// with it. It has to be empty when exchange is called again.
func (t *twoTables) exchange() (*ebpf.Map, error) {
	if err := t.slot.Put(uint32(0), t.spare); err != nil {
		return nil, err
	}
	t.live, t.spare = t.spare, t.live
	return t.spare, nil
}

func (t *twoTables) close() {
	t.live.Close()
	if t.spare != nil {
		t.spare.Close()
	}
}
