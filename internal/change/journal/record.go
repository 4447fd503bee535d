package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
	"time"

	"piton/internal/change/attr"
	"piton/internal/change/defect"
	"piton/internal/kernel"
	"piton/internal/pattern"
)

// Record is one line of the journal: eight hexadecimal digits of CRC-32
// (IEEE 802.3) over the rest, a blank, a JSON object.
type Record struct {
	Version    int           `json:"v"`
	Kind       Kind          `json:"kind"`
	ID         uint64        `json:"id,omitempty"`
	Last       uint64        `json:"last"` // the highest ID given so far
	Time       time.Time     `json:"time"`
	Boot       string        `json:"boot,omitempty"` // of begin, as what follows up to Changes
	Namespaces Namespaces    `json:"ns,omitzero"`
	Origin     Origin        `json:"origin,omitzero"`
	User       string        `json:"user,omitempty"`
	Command    string        `json:"command,omitempty"`
	Reason     string        `json:"reason,omitempty"` // of end: what was found out
	Undoes     []uint64      `json:"undoes,omitempty"`
	Sweep      uint64        `json:"sweep,omitempty"`
	Ticks      uint64        `json:"ticks,omitempty"` // USER_HZ since boot
	Targets    []Target      `json:"targets,omitempty"`
	Changes    []attr.Change `json:"changes,omitempty"`
	AsPlanned  bool          `json:"as_planned,omitempty"` // of end: what was to be done is done, so that Changes need not say it again
	Undone     []uint64      `json:"undone,omitempty"`     // of end: those of Undoes of which nothing is left in force
}

// Kind says what a record is for.
type Kind string

// The kinds.
const (
	Head  Kind = "head"  // the first line: the highest ID given before
	Begin Kind = "begin" // what is about to be done, written before it is
	More  Kind = "more"  // the same for tasks that appeared meanwhile
	End   Kind = "end"   // what became of it
)

// version is the format that is written; that before it, without origins, is read, too.
const version = 3

// Target is one thing that was asked for.
type Target struct {
	TID        kernel.TID
	StartTicks uint64
	Scope      Scope
}

// Scope says which tasks a target covers.
type Scope uint8

// The scopes.
const (
	ScopeProcess Scope = iota // every thread of the process that the TID belongs to
	ScopeThread               // that thread alone
	ScopeTree                 // the process, its descendants, and all their threads
)

// Line is the record as the file has it, with the end of the line.
func (r Record) Line() ([]byte, error) {
	r.Version = version
	b, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	return append(fmt.Appendf(nil, "%08x ", crc32.ChecksumIEEE(b)), append(b, '\n')...), nil
}

// errCut is a line of which only the beginning is there: piton was killed while it
// wrote it. Nothing is done before its record is whole. The next piton ends the line
// with cutMark.
var errCut = errors.New("the line is cut short")

const cutMark = " (cut short)\n"

const sumLength = 8

// parse reads one line without its end. Of a record with a value that its attribute cannot
// read, the numbers are returned with the error.
func parse(line []byte) (Record, error) {
	var r Record
	body, err := sound(line)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return r, fmt.Errorf("entry %d: %w", r.ID, err)
	}
	if !known(r.Version) {
		return Record{}, fmt.Errorf("version %d, this piton reads %d", r.Version, version)
	}
	if r.Version < version && r.Kind == Begin {
		r.Origin = originOf2(&r)
	}
	if r.Kind != Head && r.ID == 0 || r.Last < r.ID {
		return Record{}, errors.New("no valid number")
	}
	return r, nil
}

func known(v int) bool { return v == version || v == version-1 }

// sound returns what the checksum of a line covers.
func sound(line []byte) (body []byte, err error) {
	if bytes.HasSuffix(line, []byte(strings.TrimSuffix(cutMark, "\n"))) {
		return nil, errCut
	}
	noRecord := errors.New("not a record of a journal")
	if len(line) <= sumLength || line[sumLength] != ' ' {
		return nil, noRecord
	}
	sum, err := strconv.ParseUint(string(line[:sumLength]), 16, 32)
	if err != nil {
		return nil, noRecord
	}
	body = line[sumLength+1:]
	if crc32.ChecksumIEEE(body) != uint32(sum) && !defect.On(8) {
		return nil, errors.New("wrong checksum")
	}
	return body, nil
}

// numbers are the parts of a record that say which it is.
type numbers struct {
	Version int    `json:"v"`
	Kind    Kind   `json:"kind"`
	ID      uint64 `json:"id"`
	Last    uint64 `json:"last"`
}

// numbersOf reads a line as parse does, but for its changes; zero of one that is no record.
func numbersOf(line []byte) numbers {
	var r numbers
	body, err := sound(line)
	if err != nil || json.Unmarshal(body, &r) != nil || !known(r.Version) || r.Kind != Head && r.ID == 0 || r.Last < r.ID {
		return numbers{}
	}
	return r
}

var numberField = pattern.Lazy(`"(?:id|last)":(\d{1,15})\b`)

// damagedNumber is the highest ID that a damaged line may have been of, 0 if none can be read. It
// is not given again. One that was cut short is of nothing that was done.
func damagedNumber(line []byte) (highest uint64) {
	if bytes.HasSuffix(line, []byte(strings.TrimSpace(cutMark))) {
		return 0
	}
	for _, found := range numberField().FindAllSubmatch(line[:min(len(line), numberLength)], -1) {
		n, _ := strconv.ParseUint(string(found[1]), 10, 64)
		highest = max(highest, n)
	}
	return highest
}

// numberLength is more than how far into a line the numbers are.
const numberLength = 128

// Namespaces are those in which numbers of a record mean what they mean, by inode
// (namespaces(7)): another PID namespace has other PIDs, another time namespace
// other start times.
type Namespaces struct {
	PID   uint64 `json:"pid"`
	Time  uint64 `json:"time"`
	User  uint64 `json:"user"`
	Mount uint64 `json:"mnt"`
}

// OwnNamespaces are those of this process, 0 where the kernel has none (time: before
// Linux 5.6).
func OwnNamespaces() Namespaces {
	inode := func(name string) uint64 {
		n, _ := kernel.Inode("/proc/self/ns/" + name)
		return n
	}
	return Namespaces{inode("pid"), inode("time"), inode("user"), inode("mnt")}
}

// differs names the first namespace that is another one, "" if all are the same.
func (n Namespaces) differs(o Namespaces) string {
	switch {
	case defect.On(7):
		return ""
	case n.PID != o.PID:
		return "PID"
	case n.Time != o.Time:
		return "time"
	case n.User != o.User:
		return "user"
	case n.Mount != o.Mount:
		return "mount"
	}
	return ""
}
