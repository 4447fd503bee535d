package guard

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"piton/internal/change/journal"
	"piton/internal/kernel"
	"piton/internal/procfs"
	"piton/internal/userfile"
)

// page is the memory that a guard shares with every piton that asks about it: a file
// below /run, mapped. A decision is one compare-and-swap of one word, so a piton that
// confirms the change and the guard that is about to revert it cannot both succeed.
type page struct {
	bytes []byte
	path  string // "" on a simulated machine
	host  host
}

// host is the machine, as far as pages need it.
type host interface {
	Machine
	pages(dir string) ([]*page, error)
	remove(p *page)
}

// The layout: words of 64 bits, then texts that end with a zero.
const (
	wordMagic  = iota
	wordState  // State
	wordEntry  // of the journal, 0 while nothing has been begun
	wordBeat   // CLOCK_BOOTTIME, in ns, when the guard was last seen to run; at first when the page was made
	wordDue    // CLOCK_BOOTTIME, in ns, when the change is reverted
	wordPID    // of the guard
	wordStart  // of the guard, USER_HZ since boot
	wordAfter  // ns from the end of the change until it is reverted
	wordPIDNS  // inode of the guard's PID namespace
	wordTimeNS // and of its time namespace
	textsBegin = 128
	journalEnd = 2048 // path of the journal
	commandEnd = 3072 // that made the change
	pageSize   = 4096 // caveats, a line each
	magic      = 0x7069746f6e2d6732
)

// State is how far a guarded change is.
type State uint64

// The states; from Kept on it is decided. A change from Waiting or Making is made once.
// An undo may end while the guard is still looking for what is left: that changes
// Reverting to Undone.
const (
	Making    State = iota // the change is being made
	Waiting                // for a confirmation
	Reverting              // not confirmed in time
	Kept                   // confirmed: it stays
	Undone                 // there is nothing left to revert
	Reverted
	Moved // the file of this page was removed; the guard has a new one
)

func (s State) String() string {
	return [...]string{"being made", "waiting", "being reverted", "kept", "undone", "reverted", "moved"}[min(s, Moved)]
}

func newPage(dir, journal string, after time.Duration) (*page, error) {
	p, err := openPage(filepath.Join(dir, rand.Text()), os.O_CREATE|os.O_EXCL)
	if err == nil {
		p.word(wordBeat).Store(uint64(p.host.Now()))
		p.begin(journal, after)
	}
	return p, err
}

// openPage maps the page at a path. With os.O_CREATE it makes the file, without a hole:
// a store into a hole is a SIGBUS where the file system is full.
func openPage(path string, flag int) (*page, error) {
	f, err := userfile.OpenState(path, os.O_RDWR|flag)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p := &page{path: path, host: machine{}}
	if flag&os.O_CREATE != 0 {
		if _, err := f.Write(make([]byte, pageSize)); err != nil {
			return nil, errors.Join(err, os.Remove(path))
		}
	}
	if info, err := f.Stat(); err != nil || info.Size() != pageSize {
		return nil, errors.Join(err, errors.New("not a page of a guard"))
	}
	p.bytes, err = kernel.MapShared(f, pageSize)
	return p, err
}

func (p *page) begin(journal string, after time.Duration) {
	for i, ns := range p.host.Namespaces() {
		p.word(wordPIDNS + i).Store(ns)
	}
	p.word(wordAfter).Store(uint64(after))
	p.setText(textsBegin, journalEnd, journal)
	p.word(wordMagic).Store(magic)
}

func (p *page) word(i int) *atomic.Uint64 { return (*atomic.Uint64)(unsafe.Pointer(&p.bytes[8*i])) }

func (p *page) entry() uint64 { return p.word(wordEntry).Load() }

// state is how far the change is. Where the guard has moved the page, that is followed.
func (p *page) state() State {
	if State(p.word(wordState).Load()) == Moved {
		if again, err := openPage(p.path, 0); err == nil {
			p.bytes = again.bytes // the old ones stay mapped: another goroutine may use them
		}
	}
	return State(p.word(wordState).Load())
}

// become changes the state if it is still from.
func (p *page) become(from, to State) bool {
	return p.word(wordState).CompareAndSwap(uint64(from), uint64(to))
}

// decide changes the state if it is one of from.
func (p *page) decide(to State, from ...State) bool {
	for {
		state := p.state()
		if !slices.Contains(from, state) {
			return false
		}
		if p.become(state, to) {
			return true
		}
	}
}

// restore makes the guard's page anew if its file has been removed, as systemd-logind
// removes /run/user/UID at the end of the user's last session (pam_systemd(8)). Until
// the user logs in again it cannot be made, and the change cannot be confirmed.
func (p *page) restore() {
	if _, err := os.Stat(p.path); !errors.Is(err, fs.ErrNotExist) {
		return
	}
	again, err := openPage(p.path, os.O_CREATE|os.O_EXCL)
	if err != nil {
		return
	}
	copy(again.bytes[8*wordEntry:], p.bytes[8*wordEntry:])
	for moved := false; !moved; { // a piton that has the old page mapped may decide meanwhile
		state := p.state()
		again.word(wordState).Store(uint64(state))
		moved = p.become(state, Moved)
	}
	again.word(wordMagic).Store(magic)
	p.close()
	p.bytes = again.bytes
}

func (p *page) text(from, to int) string {
	text, _, _ := bytes.Cut(p.bytes[from:to], []byte{0})
	return string(text)
}

func (p *page) setText(from, to int, text string) {
	n := copy(p.bytes[from:to-1], text)
	p.bytes[from+n] = 0
}

// caveats is what the guard could not have, in sentences.
func (p *page) caveats() []string {
	return strings.FieldsFunc(p.text(commandEnd, pageSize), func(r rune) bool { return r == '\n' })
}

func (p *page) close() {
	if p.path != "" {
		_ = kernel.Unmap(p.bytes)
	}
}

// remove removes the page, when its guard has nothing left to decide.
func (p *page) remove() {
	p.host.remove(p)
	p.close()
}

// machine is the host of the running kernel. Its clock needs no other thread.
type machine struct{}

func (machine) Stat(pid kernel.TID) (procfs.Stat, error) { return procfs.New("/").Stat(pid) }
func (machine) Now() time.Duration                       { return kernel.Boottime() }
func (machine) Sleep(d time.Duration)                    { kernel.Sleep(d) }
func (machine) remove(p *page)                           { _ = os.Remove(p.path) }

func (machine) Namespaces() [2]uint64 {
	ns := journal.OwnNamespaces()
	return [2]uint64{ns.PID, ns.Time}
}

// pages maps every page of a directory; one that cannot be is left out: it has just
// been removed, or is being made, or is none of piton's.
func (machine) pages(dir string) ([]*page, error) {
	files, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var out []*page
	for _, entry := range files {
		p, err := openPage(filepath.Join(dir, entry.Name()), 0)
		if err != nil {
			continue
		}
		if p.word(wordMagic).Load() != magic {
			p.close()
			continue
		}
		out = append(out, p)
	}
	return out, nil
}
