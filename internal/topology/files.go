package topology

import (
	"bytes"
	"strconv"
	"strings"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/kernel/tree"
)

// pageBytes is the most that the kernel gives in one read of a file of /sys
// (kernfs, fs/kernfs/file.c): a full page may have more behind it.
const pageBytes = 4096

// mostBytes is the most that is read of one: the list of 8192 CPUs takes 40 KB.
const mostBytes = 1 << 20

// dir reads files below one directory into a buffer of its own. It is not safe
// for concurrent use; clone makes one for another goroutine. The zero fd is
// never used: open fails for a directory that is not there.
type dir struct {
	fd   int
	base string // before names, where fd is no directory
	buf  []byte
	path []byte
}

// openDir opens a directory to read files below it.
func openDir(path string) (*dir, error) {
	fd, err := kernel.OpenDir(kernel.NoDir, append([]byte(path), 0))
	if err != nil {
		return nil, err
	}
	if tree.Of(kernel.NoDir, []byte(path)) != nil { // links are resolved from its top
		_ = kernel.CloseFile(fd)
		return newDir(kernel.NoDir, path+"/"), nil
	}
	return newDir(fd, ""), nil
}

func newDir(fd int, base string) *dir {
	return &dir{fd: fd, base: base, buf: make([]byte, pageBytes), path: make([]byte, 0, 64)}
}

// clone shares the open directory; only the original is closed.
func (d *dir) clone() *dir { return newDir(d.fd, d.base) }

func (d *dir) close() {
	if d.base == "" {
		_ = kernel.CloseFile(d.fd)
	}
}

// read returns the content of a file without blanks around it, and whether it could be read. The bytes are valid until the next call.
func (d *dir) read(name ...string) ([]byte, bool) {
	d.path = append(d.path[:0], d.base...)
	for _, part := range name {
		d.path = append(d.path, part...)
	}
	fd, err := kernel.OpenFile(d.fd, append(d.path, 0))
	if err != nil {
		return nil, false
	}
	defer kernel.CloseFile(fd)
	n := 0
	for {
		if n >= mostBytes {
			return nil, false
		}
		if n == len(d.buf) {
			d.buf = append(d.buf, make([]byte, len(d.buf))...)
		}
		got, err := kernel.ReadFileAt(fd, d.buf[n:], int64(n))
		if err != nil {
			return nil, false
		}
		n += got
		if got == 0 || n%pageBytes != 0 {
			return bytes.Trim(d.buf[:n], cpuset.Blank), true
		}
	}
}

func (d *dir) number(name ...string) (int, bool) {
	text, ok := d.read(name...)
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(string(text))
	return n, err == nil
}

func (d *dir) list(name ...string) (cpuset.Set, bool) {
	text, ok := d.read(name...)
	if !ok {
		return cpuset.Set{}, false
	}
	set, err := cpuset.Parse(string(text))
	return set, err == nil
}

// set reads a CPU set that the kernel gives as a mask, and, since 2.6.26, as a
// list too; hwloc goes by the mask, so it is first here as well.
func (d *dir) set(at, mask, list string) (cpuset.Set, bool) {
	const word = 8 // digits; of several words the last ones have as many (%*pb of vsprintf.c)
	if text, ok := d.read(at, mask); ok && (len(text) <= word || bytes.IndexByte(text, ',') > 0) {
		if set, err := cpuset.ParseMask(string(text)); err == nil {
			return set, true
		}
	}
	return d.list(at, list)
}

// numbered lists the N of the entries of a directory that are called prefixN.
func numbered(path, prefix string) cpuset.Set {
	names, err := tree.Names(path)
	if err != nil {
		return cpuset.Set{}
	}
	var b cpuset.Builder
	for _, name := range names {
		digits, ok := strings.CutPrefix(name, prefix)
		if !ok {
			continue
		}
		if n, err := strconv.Atoi(digits); err == nil {
			b.Add(cpuset.CPU(n))
		}
	}
	return b.Set()
}
