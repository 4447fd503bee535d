package guard

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"
	"unsafe"

	"piton/internal/kernel"
	"piton/internal/procfs"
	"piton/internal/userfile"
)

// page is the memory that a guard shares with everybody who asks about it: a file
// below /run, mapped. Nobody waits for anybody: who confirms a change and the guard
// that is about to revert it race for one word, and one of them wins.
type page struct {
	bytes []byte
	path  string
	host  host
	// elsewhere: the guard is in another PID or time namespace, where its number or its
	// clock means something else than here. Whether it runs cannot be told.
	elsewhere bool
}

// host is the machine, as far as pages need it.
type host interface {
	pages(dir string) ([]*page, error)
	stat(pid kernel.TID) (procfs.Stat, error)
	remove(p *page)
	old(p *page) bool   // it was made so long ago that its guard has failed to start
	now() time.Duration // CLOCK_BOOTTIME
	unmap(p *page)
}

// The layout: words of 64 bits, then texts that end with a zero.
const (
	wordMagic  = iota
	wordState  // State
	wordEntry  // of the journal, 0 while nothing has been begun
	wordBeat   // CLOCK_BOOTTIME, in ns, when the guard was last seen to run
	wordDue    // CLOCK_BOOTTIME, in ns, when the change is reverted; 0 = not yet known
	wordPID    // of the guard
	wordStart  // of the guard, USER_HZ since boot
	wordAfter  // ns from the end of the change until it is reverted
	wordPIDNS  // inode of the guard's PID namespace
	wordTimeNS // and of its time namespace
	textsBegin = 128
	journalEnd = 2048 // path of the journal
	commandEnd = 3072 // that made the change
	pageSize   = 4096 // caveats, a line each
	magic      = 0x7069746f6e2d6731
)

// State is how far a guarded change is.
type State uint64

// The states. A change from Waiting or Making is made once. An undo may come to its end
// while the guard is still looking for what is left: that changes Reverting to Undone.
const (
	Making    State = iota // the change is being made
	Waiting                // for a confirmation
	Kept                   // confirmed: it stays
	Undone                 // there is nothing left to revert
	Reverting              // nobody confirmed it
	Reverted
)

func (s State) String() string {
	return [...]string{"being made", "waiting", "kept", "undone", "being reverted", "reverted"}[min(s, Reverted)]
}

// Dir is where the pages of the guards of a user are.
func Dir(euid int, state string) string {
	return filepath.Join(userfile.RuntimeDir(euid, state), "guards")
}

// newPage makes one.
func newPage(dir, journal string, after time.Duration) (*page, *os.File, error) {
	path := filepath.Join(dir, rand.Text())
	f, err := userfile.OpenState(path, os.O_RDWR|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return nil, nil, err
	}
	if err := f.Truncate(pageSize); err != nil {
		return nil, nil, errors.Join(err, f.Close(), os.Remove(path))
	}
	p, err := mapPage(f, path)
	if err != nil {
		return nil, nil, errors.Join(err, f.Close(), os.Remove(path))
	}
	p.begin(journal, after)
	for i, ns := range namespaces() {
		p.word(wordPIDNS + i).Store(ns)
	}
	return p, f, nil
}

// namespaces are the PID and the time namespace of this process, by inode. A kernel
// without time namespaces (before Linux 5.6) has 0.
func namespaces() (inodes [2]uint64) {
	for i, name := range []string{"pid", "time"} {
		inodes[i], _ = kernel.Inode("/proc/self/ns/" + name)
	}
	return inodes
}

func (p *page) begin(journal string, after time.Duration) {
	p.word(wordAfter).Store(uint64(after))
	p.setText(textsBegin, journalEnd, journal)
	p.word(wordMagic).Store(magic)
}

func mapPage(f *os.File, path string) (*page, error) {
	info, err := f.Stat()
	if err == nil && info.Size() != pageSize {
		err = errors.New("it is no page of a guard")
	}
	if err != nil {
		return nil, err
	}
	b, err := kernel.MapShared(f, pageSize)
	return &page{bytes: b, path: path, host: machine{}}, err
}

func (p *page) word(i int) *atomic.Uint64 { return (*atomic.Uint64)(unsafe.Pointer(&p.bytes[8*i])) }

func (p *page) state() State { return State(p.word(wordState).Load()) }

// become changes the state if it is still from.
func (p *page) become(from, to State) bool {
	return p.word(wordState).CompareAndSwap(uint64(from), uint64(to))
}

func (p *page) text(from, to int) string {
	b := p.bytes[from:to]
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}

func (p *page) setText(from, to int, text string) {
	n := copy(p.bytes[from:to-1], text)
	p.bytes[from+n] = 0
}

// alive reports whether the guard's process is there, and whether it is stopped. One
// elsewhere is taken to be.
func (p *page) alive() (there, stopped bool) {
	if p.elsewhere {
		return true, false
	}
	st, err := p.host.stat(kernel.TID(p.word(wordPID).Load()))
	if err != nil || st.StartTicks != p.word(wordStart).Load() || st.State == 'Z' || st.State == 'X' {
		return false, false
	}
	return true, st.State == 'T' || st.State == 't'
}

// machine is the host of the running kernel.
type machine struct{}

func (machine) stat(pid kernel.TID) (procfs.Stat, error) { return procfs.New("/").Stat(pid) }
func (machine) remove(p *page)                           { _ = os.Remove(p.path) }
func (machine) now() time.Duration                       { return kernel.Boottime() }
func (machine) unmap(p *page)                            { _ = kernel.Unmap(p.bytes) }

func (p *page) close() { p.host.unmap(p) }

// remove takes the page away: nobody has to know of it any more.
func (p *page) remove() {
	p.host.remove(p)
	p.close()
}

// pages maps every page of a directory; one that cannot be is left out.
func (machine) pages(dir string) ([]*page, error) {
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []*page
	here := namespaces()
	for _, entry := range files {
		path := filepath.Join(dir, entry.Name())
		f, err := userfile.OpenState(path, os.O_RDWR)
		if err != nil {
			continue // it has just been removed, or is none of ours
		}
		p, err := mapPage(f, path)
		_ = f.Close()
		switch {
		case err != nil:
		case p.word(wordMagic).Load() != magic:
			p.close()
		default:
			p.elsewhere = here != [2]uint64{p.word(wordPIDNS).Load(), p.word(wordTimeNS).Load()}
			out = append(out, p)
		}
	}
	return out, nil
}

func (machine) old(p *page) bool {
	info, err := os.Stat(p.path)
	return err == nil && time.Since(info.ModTime()) > 2*armTime
}
