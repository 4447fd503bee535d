// Package users turns the numbers of users into names and back: by /etc/passwd, and on the
// running machine also by what its directory services know (LDAP, SSSD, systemd's
// DynamicUser), which getent asks within a bound of time.
//
// Start at New.
package users

import (
	"bytes"
	"cmp"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"piton/internal/kernel"
	"piton/internal/kernel/tree"
	"piton/internal/procfs"
)

// Parse reads how a user is named: by a number, digits alone without leading zeros, or else
// by a name. What getent would take for a number, such as +0, is neither.
func Parse(word string) (uid uint32, number bool, err error) {
	n, ok := kernel.ParseNumber(word, 32)
	uid = uint32(n)
	switch {
	case ok && uid != None:
		return uid, true, nil
	case strings.Trim(word, "0123456789") == "", strings.TrimSpace(word) != word,
		strings.ContainsAny(word[:1], "+-"), strings.ContainsAny(word, ":\n\x00"):
		return 0, false, fmt.Errorf("%q is not the name or number of a user; a number is 0 to 4294967294, without leading zeros", word)
	}
	return 0, false, nil
}

// None is no user's number (chown(2) takes it for "leave as it is").
const None = ^uint32(0)

// Names are the users of a root directory. It is for one goroutine, and may wait for a
// directory service: nothing that draws asks it.
type Names struct {
	passwd    string
	directory *directory // nil: a recorded tree has none
	names     map[uint32]string
	listed    map[string]uint32 // those of the file
	changed   time.Time         // of the file as read last
}

// New returns the users of a root directory.
func New(root string) *Names {
	n := &Names{passwd: filepath.Join(root, "etc", "passwd")}
	if filepath.Clean(root) == "/" {
		n.directory = theDirectory
	}
	return n
}

// Name is the user's name, or the number as text of one who has none, or whose name is not
// known yet.
func (n *Names) Name(uid uint32) string {
	if name, ok := n.names[uid]; ok {
		return name
	}
	n.read()
	if name, ok := n.names[uid]; ok {
		return name
	}
	name := n.directory.name(uid)
	if name != "" || n.directory == nil {
		n.names[uid] = cmp.Or(name, strconv.FormatUint(uint64(uid), 10))
		return n.names[uid]
	}
	return strconv.FormatUint(uint64(uid), 10)
}

// ID is the number of the user of this name, which is no number; known is false where a
// directory service gave no answer.
func (n *Names) ID(name string) (uid uint32, ok, known bool) {
	n.read()
	if uid, ok = n.listed[name]; ok {
		return uid, true, true
	}
	return n.directory.id(name)
}

// read reads the file again if it has changed.
func (n *Names) read() {
	info, err := tree.Stat(n.passwd)
	if n.names != nil && (err != nil || info.ModTime().Equal(n.changed)) {
		return
	}
	n.names, n.listed = map[uint32]string{}, map[string]uint32{}
	b, err := procfs.ReadFile(n.passwd)
	if err != nil {
		return
	}
	n.changed = info.ModTime()
	for line := range bytes.Lines(b) {
		n.add(line)
	}
}

// add takes in a line of passwd(5); of several names with one id, and of several ids with one
// name, the first counts, as for getpwuid(3) and getpwnam(3).
func (n *Names) add(line []byte) {
	name, uid, ok := parse(line)
	if !ok {
		return
	}
	if _, ok := n.names[uid]; !ok {
		n.names[uid] = name
	}
	if _, ok := n.listed[name]; !ok {
		n.listed[name] = uid
	}
}

// parse returns name and id of a line of passwd(5).
func parse(line []byte) (name string, uid uint32, ok bool) {
	fields := bytes.SplitN(line, []byte(":"), 4)
	if len(fields) < 4 || len(fields[0]) == 0 {
		return "", 0, false
	}
	id, err := strconv.ParseUint(string(fields[2]), 10, 32)
	return string(fields[0]), uint32(id), err == nil
}
