package tune

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"piton/internal/kernel"
	"piton/internal/procfs"
	"piton/internal/userfile"
)

// Journal is the file in which every change is recorded before it is made, one
// JSON record a line, only ever appended to. Several pitons may use one file
// at once; each append holds its lock (flock(2)).
//
// A line that cannot be read stays where it is and is reported by Entries; it
// never hides another. One that was cut short, because piton was killed while it
// wrote it, is no damage: nothing is done before its record is whole, and without
// the last one an undo compares values.
type Journal struct {
	path  string
	boot  string // /proc/sys/kernel/random/boot_id
	mu    sync.Mutex
	known reading
}

// JournalPath returns where the journal of a user is, "" where there is no place
// for it (userfile.StateDir).
func JournalPath(getenv func(string) string, euid int) string {
	dir := userfile.StateDir(getenv, euid)
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "journal")
}

// OpenJournal makes sure that the journal can be written, creating it and its
// directory where they are missing.
func OpenJournal(path string) (*Journal, error) {
	if path == "" {
		return nil, errors.New("open journal: neither XDG_STATE_HOME nor HOME says where it is")
	}
	boot, err := procfs.New("/").BootID()
	if err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	j := &Journal{path: path, boot: boot}
	f, err := j.open()
	if err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	return j, f.Close()
}

// Path returns the file's name.
func (j *Journal) Path() string { return j.path }

func (j *Journal) open() (*os.File, error) {
	return os.OpenFile(j.path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
}

// record is one line of the file.
type record struct {
	Version int       `json:"v"`
	Kind    string    `json:"kind"`
	ID      uint64    `json:"id"`
	Last    uint64    `json:"last"` // the highest ID given so far
	Time    time.Time `json:"time"`
	Boot    string    `json:"boot,omitempty"`
	User    string    `json:"user,omitempty"`
	Command string    `json:"command,omitempty"`
	Reason  string    `json:"reason,omitempty"`
	Undoes  []uint64  `json:"undoes,omitempty"`
	Undone  []uint64  `json:"undone,omitempty"` // those of Undoes that are wholly taken back
	Sweep   uint64    `json:"sweep,omitempty"`
	Ticks   uint64    `json:"ticks,omitempty"` // of begin: USER_HZ since boot
	Targets []Target  `json:"targets,omitempty"`
	Changes []jchange `json:"changes,omitempty"`
}

const (
	recordVersion = 1
	kindBegin     = "begin" // what is about to be done, synced before it is
	kindMore      = "more"  // the same for threads that appeared meanwhile
	kindEnd       = "end"   // what became of it
)

// jchange is a Change in the file.
type jchange struct {
	PID        kernel.TID `json:"pid,omitempty"`
	TID        kernel.TID `json:"tid,omitempty"`
	StartTicks uint64     `json:"start,omitempty"`
	Comm       string     `json:"comm,omitempty"`
	Path       string     `json:"path,omitempty"`
	Name       string     `json:"name,omitempty"`
	Attribute  Attribute  `json:"attribute"`
	Before     string     `json:"before"`
	After      string     `json:"after"`
	Status     Status     `json:"status,omitempty"`
	Taken      bool       `json:"taken,omitempty"`
	Error      string     `json:"error,omitempty"`
	Reason     string     `json:"reason,omitempty"`
}

func toJournal(changes []Change) []jchange {
	out := make([]jchange, len(changes))
	for i, c := range changes {
		out[i] = jchange{
			PID: c.PID, TID: c.TID, StartTicks: c.StartTicks, Comm: c.Comm, Path: c.Path, Name: c.Name, Attribute: c.Attribute,
			Before: c.Before, After: c.After, Status: c.Status, Taken: c.Taken, Reason: c.Reason,
		}
		if c.Err != nil {
			out[i].Error = c.Err.Error()
		}
	}
	return out
}

func (c jchange) change() Change {
	out := Change{
		PID: c.PID, TID: c.TID, StartTicks: c.StartTicks, Comm: c.Comm, Path: c.Path, Name: c.Name, Attribute: c.Attribute,
		Before: c.Before, After: c.After, Status: c.Status, Taken: c.Taken, Reason: c.Reason,
	}
	if c.Error != "" {
		out.Err = errors.New(c.Error)
	}
	return out
}

// append writes one record, giving it the next ID if it has none, and returns
// its ID. With sync it returns only when the record is on the disk.
func (j *Journal) append(r record, sync bool) (uint64, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	f, err := j.open()
	if err != nil {
		return 0, fmt.Errorf("journal: %w", err)
	}
	defer func() { _ = f.Close() }()
	if err := kernel.Lock(f); err != nil {
		return 0, fmt.Errorf("journal: %w", err)
	}
	if err := j.write(f, &r, sync); err != nil {
		return 0, fmt.Errorf("journal %s: %w", j.path, err)
	}
	return r.ID, nil
}

func (j *Journal) write(f *os.File, r *record, sync bool) error {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	last, whole, err := lastID(f, size)
	if err != nil {
		return err
	}
	if r.ID == 0 {
		last++
		r.ID = last
	}
	r.Version, r.Last, r.Time = recordVersion, last, time.Now()
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	line = append(line, '\n')
	if !whole {
		line = append([]byte{'\n'}, line...) // the torn line keeps a line of its own
	}
	if _, err := f.Write(line); err != nil {
		return errors.Join(err, f.Truncate(size)) // a full disk leaves no half record
	}
	if sync {
		return f.Sync()
	}
	return nil
}

// lastID returns the highest ID in the file, and whether its last line is whole.
func lastID(f io.ReaderAt, size int64) (last uint64, whole bool, err error) {
	if size == 0 {
		return 0, true, nil
	}
	for window := int64(4096); ; window *= 4 {
		window = min(window, size)
		buf := make([]byte, window)
		if _, err := f.ReadAt(buf, size-window); err != nil && !errors.Is(err, io.EOF) {
			return 0, false, err
		}
		whole = buf[window-1] == '\n'
		start := bytes.LastIndexByte(buf[:window-1], '\n') + 1
		if start == 0 && window < size {
			continue // the last line is longer than the window
		}
		if last, err := lastOf(buf[start:]); err == nil {
			return last, whole, nil
		}
		if window == size {
			return highestID(buf), whole, nil
		}
	}
}

// highestID is for a file whose last line is damaged.
func highestID(data []byte) uint64 {
	var last uint64
	for line := range bytes.Lines(data) {
		if given, err := lastOf(line); err == nil {
			last = max(last, given)
		}
	}
	return last
}

// lastOf returns the Last of a line that is a record or begins like one. The
// changes, of thousands of threads perhaps, come after it and are not read.
func lastOf(line []byte) (uint64, error) {
	var r record
	fields := map[string]any{"v": &r.Version, "id": &r.ID, "last": &r.Last}
	in := json.NewDecoder(bytes.NewReader(line))
	if _, err := in.Token(); err != nil { // the brace
		return 0, err
	}
	for len(fields) > 0 {
		name, err := in.Token()
		if err != nil {
			return 0, err
		}
		key, _ := name.(string)
		field := fields[key]
		if field == nil {
			field = new(json.RawMessage)
		}
		if err := in.Decode(field); err != nil {
			return 0, err
		}
		delete(fields, key)
	}
	return r.Last, r.check()
}

// parseRecord reads one line of a journal.
func parseRecord(line []byte) (record, error) {
	var r record
	if err := json.Unmarshal(line, &r); err != nil {
		return record{}, err
	}
	return r, r.check()
}

func (r *record) check() error {
	if r.Version != recordVersion {
		return fmt.Errorf("version %d, this piton reads %d", r.Version, recordVersion)
	}
	if r.ID == 0 || r.Last < r.ID {
		return errors.New("no valid id")
	}
	return nil
}
