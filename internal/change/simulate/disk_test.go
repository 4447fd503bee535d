package simulate

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"piton/internal/change/journal"
)

// disk is the file of one journal.
type disk struct {
	w      *world
	name   string
	inode  int
	data   []byte
	holder *actor // of the file's lock
	full   bool
	// What the world knows of it: every line that was written whole, and who wrote the
	// lines of an entry.
	lines  map[string]bool
	author map[uint64][]*actor // several, if a number was given again after damage or a crash
	hurt   map[uint64]bool     // entries of which the world has damaged a line
}

func newDisk(w *world, name string) *disk {
	return &disk{w: w, name: name, inode: 1, lines: map[string]bool{}, author: map[uint64][]*actor{}, hurt: map[uint64]bool{}}
}

// store is a disk as a process uses it: it does what journal.File does.
type store struct {
	*disk
	a     *actor
	inode int // of the last Read, 0 = none
}

var _ journal.Store = (*store)(nil)

// appendWait is that of journal.File.
const appendWait = 2 * time.Second

// Exclusive is part of journal.Store.
func (s *store) Exclusive(do func(size int64) error) error {
	s.a.wait(s.w.now+appendWait, func() bool { return s.holder == nil })
	if s.a.dead {
		return syscall.EINTR
	}
	if err := (view{s.a}).fails("open the journal", append([]syscall.Errno{syscall.EMFILE, syscall.EACCES}, unwritable...)...); err != nil {
		return err
	}
	if s.holder != nil {
		return fmt.Errorf("another piton has been writing to it for %v: %w", appendWait, journal.ErrBusy)
	}
	s.holder = s.a
	defer func() {
		if s.holder == s.a {
			s.holder = nil
		}
	}()
	return do(int64(len(s.disk.data)))
}

// Read is part of journal.Store.
func (s *store) Read(offset int64) (data []byte, fresh bool, err error) {
	if !s.a.step() {
		return nil, false, syscall.EINTR
	}
	if err := (view{s.a}).fails("read the journal", syscall.EIO, syscall.EMFILE); err != nil {
		return nil, false, err
	}
	if fresh = s.inode != 0 && (s.inode != s.disk.inode || int64(len(s.disk.data)) < offset); fresh {
		offset = 0
	}
	s.inode = s.disk.inode
	return bytes.Clone(s.disk.data[min(offset, int64(len(s.disk.data))):]), fresh, nil
}

// Room is part of journal.Store.
func (s *store) Room(int) error {
	if !s.a.step() {
		return syscall.EINTR
	}
	if err := (view{s.a}).fails("look for room", unwritable...); err != nil {
		return err
	}
	if s.full {
		return fmt.Errorf("write: %w", syscall.ENOSPC)
	}
	return nil
}

// unwritable is what a disk fails with that takes nothing more.
var unwritable = []syscall.Errno{syscall.EIO, syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EFBIG}

// Append is part of journal.Store.
func (s *store) Append(data []byte) error {
	if !s.a.step() {
		return syscall.EINTR
	}
	if err := (view{s.a}).fails("write the journal", unwritable...); err != nil {
		return err
	}
	old, whole := len(s.disk.data), data
	if s.full {
		s.a.log("the disk is full")
		return fmt.Errorf("write: %w", syscall.ENOSPC)
	}
	if s.w.fate.torn && len(data) > 1 {
		cut := 1 + s.w.rng.IntN(len(data)-1)
		s.disk.data = append(s.disk.data, data[:cut]...)
		data = data[cut:]
		if !s.a.step() { // only when the process is unwound
			return syscall.EINTR
		}
		if s.full {
			s.disk.data = s.disk.data[:old] // as journal.File does
			return fmt.Errorf("write: %w", syscall.ENOSPC)
		}
	}
	s.disk.data = append(s.disk.data, data...)
	s.wrote(whole)
	if bytes.Contains(whole, []byte(`"kind":"end"`)) {
		return nil
	}
	// Some file systems say when the file is closed that it has no room. An end that fails
	// is tried by its write.
	if !s.a.step() {
		return syscall.EINTR
	}
	return (view{s.a}).fails("close the journal", syscall.EIO)
}

// wrote notes what has been written whole.
func (s *store) wrote(data []byte) {
	for line := range bytes.Lines(data) {
		text := string(bytes.TrimSpace(line))
		if text == "" {
			continue
		}
		s.lines[text] = true
		id := idOf(text)
		if !slices.Contains(s.author[id], s.a) {
			s.author[id] = append(s.author[id], s.a)
		}
		s.a.log("journal %s: %s", s.name, text)
	}
}

// idOf is the number of the entry that a line is of.
func idOf(line string) (id uint64) {
	const field = `"id":`
	if i := strings.Index(line, field); i >= 0 && i < 40 {
		_, _ = fmt.Sscan(strings.TrimRight(line[i+len(field):min(len(line), i+20)], `",:abcdefghijklmnopqrstuvwxyz`), &id)
	}
	return id
}

// Replace is part of journal.Store.
func (s *store) Replace(data []byte) error {
	if !s.a.step() {
		return syscall.EINTR
	}
	if err := (view{s.a}).fails("replace the journal", unwritable...); err != nil {
		return err
	}
	if s.full {
		return fmt.Errorf("write: %w", syscall.ENOSPC)
	}
	s.a.log("journal %s is compacted", s.name)
	s.disk.data = bytes.Clone(data)
	s.disk.inode++
	head, _, _ := bytes.Cut(data, []byte{'\n'})
	s.lines[string(head)] = true
	return nil
}

// userLock is the lock of the user.
type userLock struct{ *actor }

// Acquire is part of journal.Lock.
func (l userLock) Acquire(most time.Duration, _ string) (func(), error) {
	a, w := l.actor, l.world
	a.wait(w.now+most, func() bool { return w.holder == nil })
	if a.dead {
		return nil, syscall.EINTR
	}
	if w.holder != nil {
		a.log("the lock is %s's", w.holder.name)
		return nil, fmt.Errorf("%w: %s", journal.ErrBusy, w.holder.name)
	}
	w.holder = a
	a.log("has the lock")
	return func() {
		if w.holder == a {
			w.holder = nil
		}
	}, nil
}
