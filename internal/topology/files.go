package topology

import (
	"bytes"
	"strconv"
	"strings"

	"piton/internal/cpuset"
	"piton/internal/kernel/tree"
	"piton/internal/procfs"
)

// dir is a directory that files are read below; it need not be there.
type dir string

// read returns the content of a file without blanks around it, and whether it could be read.
func (d dir) read(name ...string) ([]byte, bool) {
	text, err := procfs.ReadFile(string(d) + "/" + strings.Join(name, ""))
	return bytes.Trim(text, cpuset.Blank), err == nil
}

func (d dir) number(name ...string) (int, bool) {
	text, ok := d.read(name...)
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(string(text))
	return n, err == nil
}

func (d dir) list(name ...string) (cpuset.Set, bool) {
	text, ok := d.read(name...)
	if !ok {
		return cpuset.Set{}, false
	}
	set, err := cpuset.Parse(string(text))
	return set, err == nil
}

// set reads a CPU set that the kernel gives as a mask, and, since 2.6.26, as a
// list too; hwloc goes by the mask, so it is first here as well.
func (d dir) set(at, mask, list string) (cpuset.Set, bool) {
	const word = 8 // digits; of several words the last ones have as many (%*pb of vsprintf.c)
	if text, ok := d.read(at, mask); ok && (len(text) <= word || bytes.IndexByte(text, ',') > 0) {
		if set, err := cpuset.ParseMask(string(text)); err == nil {
			return set, true
		}
	}
	return d.list(at, list)
}

// numbered lists the N of the entries that are called prefixN.
func (d dir) numbered(prefix string) cpuset.Set {
	names, _ := tree.Names(string(d)) // none of a directory that is not there
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
