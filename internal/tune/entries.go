package tune

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"piton/internal/kernel"
)

// Damage is a line of the journal that could not be read. The line is kept as
// it is; the entries around it are sound.
type Damage struct {
	Line int // 1-based
	Err  error
}

func (d Damage) Error() string {
	return fmt.Sprintf("journal line %d is damaged and was skipped (it is kept in the file): %v", d.Line, d.Err)
}

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

// reading is what a journal held when it was last read.
type reading struct {
	file    os.FileInfo // nil = never read
	entries []Entry
	damage  []Damage
}

// load reads the file if it is another, or another size, than it was: it is
// only ever appended to.
func (j *Journal) load() error {
	f, err := j.open()
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	if err := kernel.Lock(f); err != nil { // or a record being written would look torn
		return err
	}
	file, err := f.Stat()
	if err != nil {
		return err
	}
	if k := j.known.file; k != nil && os.SameFile(k, file) && k.Size() == file.Size() {
		return nil
	}
	data, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	j.known = reading{file: file}
	j.known.entries, j.known.damage = parseJournal(data, j.boot)
	return nil
}

// parseJournal puts the records together to entries.
func parseJournal(data []byte, boot string) ([]Entry, []Damage) {
	var entries []Entry
	var damage []Damage
	index := map[uint64]int{}
	number := 0
	for line := range bytes.Lines(data) {
		number++
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		r, err := parseRecord(line)
		if isCut(line, err) {
			continue
		}
		if err != nil {
			damage = append(damage, Damage{number, err})
			continue
		}
		if _, known := index[r.ID]; !known {
			index[r.ID] = len(entries)
			entries = append(entries, Entry{ID: r.ID, Time: r.Time})
		}
		entries[index[r.ID]].take(r, boot)
		for _, id := range r.Undone {
			if i, ok := index[id]; ok {
				entries[i].Undone = true
			}
		}
	}
	return entries, damage
}

// take adds what one record says of the entry.
func (e *Entry) take(r record, boot string) {
	switch r.Kind {
	case kindBegin:
		e.Time, e.BootID, e.User, e.Command, e.Reason = r.Time, r.Boot, r.User, r.Command, r.Reason
		e.Undoes, e.Targets, e.Sweep, e.Ticks = r.Undoes, r.Targets, r.Sweep, r.Ticks
		e.PastBoot = r.Boot != boot
		e.add(r.Changes)
	case kindMore:
		e.add(r.Changes)
	case kindEnd:
		e.Finished = true
		e.result(r.Changes)
	}
}

// ChangedNothing reports whether none of the changes came about: all were refused.
func (e *Entry) ChangedNothing() bool {
	return e.Finished && !slices.ContainsFunc(e.Changes, func(c Change) bool { return c.took() || c.Status == Planned })
}

func (e *Entry) add(changes []jchange) {
	for _, c := range changes {
		c.Status = Planned // nothing is known of it until the end is
		e.Changes = append(e.Changes, c.change())
	}
}

// result fills in what became of the changes, and adds those of threads that
// were born with the new value and so needed no record beforehand.
func (e *Entry) result(results []jchange) {
	index := map[changeKey]int{}
	for i, c := range e.Changes {
		index[c.key()] = i
	}
	for _, r := range results {
		c := r.change()
		if i, ok := index[c.key()]; ok {
			e.Changes[i] = c
			continue
		}
		e.Changes = append(e.Changes, c)
	}
}

// isCut reports whether the line is the beginning of a record only.
func isCut(line []byte, err error) bool {
	var syntax *json.SyntaxError
	return errors.As(err, &syntax) && syntax.Offset == int64(len(line)) && line[0] == '{'
}
