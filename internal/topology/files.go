package topology

import (
	"strconv"
	"strings"

	"piton/internal/cpuset"
	"piton/internal/kernel/tree"
	"piton/internal/procfs"
)

// dir is a directory that files are read below; it need not be there.
type dir string

func (d dir) at(name []string) string { return string(d) + "/" + strings.Join(name, "") }

func (d dir) read(name ...string) (string, bool) { return procfs.Text(d.at(name)) }

func (d dir) number(name ...string) (int, bool) { return procfs.Number(d.at(name)) }

func (d dir) list(name ...string) (cpuset.Set, bool) { return procfs.CPUs(d.at(name)) }

// set reads a CPU set that the kernel gives as a mask, and, since 2.6.26, as a
// list too; hwloc goes by the mask, so it is first here as well.
func (d dir) set(at, mask, list string) (cpuset.Set, bool) {
	const word = 8 // digits; of several words the last ones have as many (%*pb of vsprintf.c)
	if text, ok := d.read(at, mask); ok && (len(text) <= word || strings.IndexByte(text, ',') > 0) {
		if set, err := cpuset.ParseMask(text); err == nil {
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
