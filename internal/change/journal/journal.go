// Package journal is the record of every change: written before the change is made, and
// again with what became of it. It is a file of lines, each with a checksum, only ever
// appended to until it is compacted.
//
// Nothing is synced to the disk. What was written survives the end of piton, however it
// ends. The end of the machine it need not survive: the kernel forgets every value that
// piton can set as well, and entries of another boot are only shown. What a power failure
// leaves of the last lines, half a line or zeros, is known by the checksums.
//
// It plans and changes nothing. Start at Journal.
package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"piton/internal/procfs"
	"piton/internal/userfile"
)

// Store is the file under a journal; File is the real one.
type Store interface {
	// Exclusive runs f, with the size, while no other Store of the same file does. The
	// wait is bounded; then the error Is ErrBusy.
	Exclusive(f func(size int64) error) error
	// Read returns what the file holds from an offset on. fresh: the file is not the
	// one of the last Read, and what is returned is all of it.
	Read(offset int64) (data []byte, fresh bool, err error)
	// Append writes at the end. A write that failed leaves nothing, or the beginning of the data.
	Append(data []byte) error
	// Room is nil if so many bytes could be appended now. It leaves the file as it is.
	Room(bytes int) error
	// Replace puts another content in place of all of it, or fails and changes nothing.
	Replace(data []byte) error
}

// Journal is the changes of one user. Its methods may be called from several
// goroutines at once, and several pitons may use one file.
type Journal struct {
	store Store
	here  Where
	path  string
	// CompactAt is the size from which it is compacted, and KeepEntries how many
	// entries that keeps besides those in force.
	CompactAt   int64
	KeepEntries int
	// Gone, when not nil, reports whether all tasks of an entry have ended: it is not in
	// force then, though nothing has undone it. A piton that makes changes for days needs it.
	Gone func(*Entry) bool
	Now  func() time.Time

	mu    sync.Mutex
	known *reading
	grown bool   // it has become twice as large since Compact
	own   []byte // the line that was appended last,
	ownID uint64 // and the highest ID then
}

// Path returns where the journal of a user is, "" where there is no place
// for it (userfile.StateDir).
func Path(getenv func(string) string, euid int) string {
	dir := userfile.StateDir(getenv, euid)
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "journal")
}

// Open makes sure that the journal can be written, creating it and its directory
// where they are missing.
func Open(path string) (*Journal, error) { return openFor(path, os.O_RDWR|os.O_CREATE) }

// OpenToRead makes sure that the journal can be read. It makes nothing, and a journal that is
// missing has no entries; what is appended is written if it can be.
func OpenToRead(path string) (*Journal, error) { return openFor(path, os.O_RDONLY) }

func openFor(path string, flag int) (*Journal, error) {
	if path == "" {
		return nil, errors.New("open journal: neither XDG_STATE_HOME nor HOME is set")
	}
	boot, err := procfs.New("/").BootID()
	if err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	f := &File{path: path}
	file, err := f.open(flag)
	if err == nil {
		err = file.Close()
	}
	if err != nil && (flag != os.O_RDONLY || !errors.Is(err, fs.ErrNotExist)) {
		return nil, fmt.Errorf("open journal %s: %w", path, err)
	}
	j := New(f, Where{boot, OwnNamespaces()})
	j.path = path
	return j, nil
}

// Unwritable reports whether an error is one of a disk that takes nothing more: it is full, or the
// user's share of it is, it is read-only, or it fails.
func Unwritable(err error) bool {
	return slices.ContainsFunc([]error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG, syscall.EROFS, syscall.EIO}, func(is error) bool {
		return errors.Is(err, is)
	})
}

// roomOfEnd is that of what a record of the end has besides what the beginning has.
const roomOfEnd = 2 << 10

// Room is nil if a record could be appended now.
func (j *Journal) Room() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.store.Exclusive(func(int64) error { return j.store.Room(roomOfEnd) }); err != nil {
		return fmt.Errorf("journal %s: %w", j.path, err)
	}
	return nil
}

// New returns the journal of a store.
func New(s Store, here Where) *Journal {
	return &Journal{store: s, here: here, known: newReading(here), CompactAt: 256 << 10, KeepEntries: 200, Now: time.Now}
}

// Path returns the file's name.
func (j *Journal) Path() string { return j.path }

// Entries returns what the journal holds, oldest first, and its damaged lines.
// The entries are shared between calls and must not be changed.
func (j *Journal) Entries() ([]Entry, []Damage, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.load(); err != nil {
		return nil, nil, fmt.Errorf("journal %s: %w", j.path, err)
	}
	return slices.Clone(j.known.entries), slices.Clone(j.known.damage), nil
}

// load reads what was appended since the last time.
func (j *Journal) load() error {
	data, fresh, err := j.store.Read(j.known.offset)
	if err != nil {
		return err
	}
	if fresh {
		j.known = newReading(j.here)
	}
	j.known.take(data)
	return nil
}

// tailSize is how much of the end of the file is looked at for the last ID.
const tailSize = 4 << 10

// last returns the highest ID, which the last sound line has or a damaged one after it, and
// whether a line without an end follows. A piton that makes one change and ends reads no more.
func (j *Journal) last(size int64) (id uint64, torn bool, err error) {
	for window := int64(tailSize); ; window *= 4 {
		tail, fresh, err := j.store.Read(max(0, size-window))
		if err != nil {
			return 0, false, err
		}
		if fresh {
			j.known = newReading(j.here)
		}
		if len(j.own) > 0 && bytes.HasSuffix(tail, j.own) {
			return j.ownID, false, nil
		}
		lines := bytes.Split(tail, []byte{'\n'})
		torn = len(lines[len(lines)-1]) > 0
		sound := uint64(0)
		for _, line := range slices.Backward(lines[:len(lines)-1]) {
			line = bytes.TrimSpace(line)
			if sound = numbersOf(line).Last; sound > 0 {
				break
			}
			id = max(id, damagedNumber(line))
		}
		if id = max(id, sound); sound > 0 || fresh || window >= size {
			return id, torn, nil
		}
	}
}

// Append writes a record, gives it the next ID if it has none, and returns its line.
func (j *Journal) Append(r *Record) (line []byte, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	err = j.store.Exclusive(func(size int64) error {
		last, torn, err := j.last(size)
		if err != nil {
			return err
		}
		r.Last, r.Time = max(last, r.ID), j.Now() // the beginning may have been damaged since
		if r.ID == 0 {
			r.Last++
			r.ID = r.Last
		}
		if r.Kind == Begin {
			r.Boot, r.Namespaces = j.here.Boot, j.here.Namespaces
		}
		if line, err = r.Line(); err != nil {
			return err
		}
		data := line
		if torn { // it keeps a line of its own
			data = append([]byte(cutMark), line...)
		}
		if r.Kind == Begin && len(r.Undoes) == 0 && j.Gone == nil { // it is to be recorded whole, or not be made
			if err := j.store.Room(2*len(data) + roomOfEnd); err != nil {
				return err
			}
		}
		doublings := func(size int64) int { return bits.Len64(uint64(size / j.CompactAt)) }
		j.grown = j.grown || doublings(size) != doublings(size+int64(len(data)))
		if err = j.store.Append(data); err == nil && j.Gone != nil && !torn && j.known.offset == size {
			j.known.wrote(*r, len(line))
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("journal %s: %w", j.path, err)
	}
	j.own, j.ownID = line, r.Last
	return line, nil
}

// Compact writes the journal anew once it is large and half of it is of no use: the
// entries in force stay, the last KeepEntries, and every damaged line. It is called
// under the user's lock.
func (j *Journal) Compact() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.grown {
		return nil
	}
	j.grown = false
	return j.store.Exclusive(func(int64) error {
		data, fresh, err := j.store.Read(0)
		if err != nil {
			return err
		}
		if fresh || int64(len(data)) < j.known.offset {
			j.known = newReading(j.here)
		}
		j.known.take(data[j.known.offset:])
		head, err := Record{Kind: Head, Last: j.known.last, Time: j.Now()}.Line()
		if err != nil {
			return err
		}
		after, lines := j.known.without(j.kept(), len(head))
		if after.offset > int64(len(data))/2 {
			return nil
		}
		kept := make([]byte, 0, after.offset)
		kept = append(kept, head...)
		for _, l := range lines {
			kept = append(kept, data[l.begin:l.end]...)
		}
		if err := j.store.Replace(kept); err != nil {
			return err
		}
		j.known = after
		return nil
	})
}

// kept are the entries that are of use.
func (j *Journal) kept() map[uint64]bool {
	all, keep, ended := j.known, map[uint64]bool{}, 0
	for i := range slices.Backward(all.entries) {
		e := &all.entries[i]
		if e.Undoable() && j.Gone != nil && j.Gone(e) {
			ended++
			continue
		}
		recent := len(all.entries)-ended-i <= j.KeepEntries
		keep[e.ID] = recent || e.Undoable() || e.Foreign != "" && !e.PastBoot && !e.Undone
	}
	first := uint64(math.MaxUint64)               // in force of those that follow
	for i := range slices.Backward(all.entries) { // what was undone below an entry in force is found by its undo
		e := &all.entries[i]
		keep[e.ID] = keep[e.ID] || e.UndoneBy > first
		if keep[e.ID] && e.Undoable() {
			first = min(first, e.ID)
		}
	}
	for i := range all.entries { // undos of what stays in force say what of it was undone
		e := &all.entries[i]
		keep[e.ID] = keep[e.ID] || slices.ContainsFunc(e.Undoes, func(id uint64) bool { return keep[id] })
	}
	return keep
}
