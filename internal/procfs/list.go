package procfs

import (
	"encoding/binary"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// Hides says in words that processes of others are not in this /proc for the caller
// (hidepid of proc(5)); "" where PID 1 can be looked at.
func (f FS) Hides() string {
	b, err := f.File("self", "mountinfo")
	if err != nil {
		return ""
	}
	hidden := ""
	for line := range strings.Lines(string(b)) {
		where, what, _ := strings.Cut(line, " - proc ")
		if words := strings.Fields(where); what == "" || len(words) < 5 || words[4] != f.Path() {
			continue
		}
		hidden = "" // the last one lies on top
		for option := range strings.SplitSeq(strings.TrimSpace(what), ",") {
			if value, ok := strings.CutPrefix(option, "hidepid="); ok && value != "0" && value != "off" {
				hidden = option
			}
		}
	}
	if hidden == "" {
		return ""
	}
	if _, err := f.Stat(1); err == nil {
		return ""
	}
	return "/proc hides the processes of other users (" + hidden + "); root sees all"
}

// CPUList reads a list of /sys/devices/system/cpu, such as "online".
func (f FS) CPUList(name string) (cpuset.Set, error) {
	b, err := readFile(filepath.Join(f.root, "sys/devices/system/cpu", name))
	if err != nil {
		return cpuset.Set{}, err
	}
	return cpuset.Parse(string(b))
}

// Processes lists the numbers of /proc in rising order.
func (f FS) Processes() ([]kernel.TID, error) {
	tids, err := list(f.Path())
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", f.Path(), err)
	}
	return tids, nil
}

// Threads lists /proc/PID/task, the threads of a process, in rising order.
func (f FS) Threads(pid kernel.TID) ([]kernel.TID, error) {
	dir := f.taskDir(pid, 0)
	tids, err := list(dir + "/task")
	if err != nil {
		return nil, taskError(dir, "task", err)
	}
	return tids, nil
}

func list(path string) ([]kernel.TID, error) {
	fd, err := kernel.OpenDir(kernel.NoDir, append([]byte(path), 0))
	if err != nil {
		return nil, err
	}
	defer kernel.CloseFile(fd)
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	var tids []kernel.TID
	for {
		n, err := kernel.ReadDir(fd, *buf)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			break
		}
		if tids, err = ParseDir((*buf)[:n], tids, nil); err != nil {
			return nil, err
		}
	}
	slices.Sort(tids)
	return tids, nil
}

// direntName is where d_name begins in struct linux_dirent64 (getdents64(2)):
// after d_ino 8, d_off 8, d_reclen 2, d_type 1.
const direntName = 19

// ParseDir appends the entries whose name is a task number to tids. offsets, if
// not nil, receives for each of them the d_off of the entry before it, the
// directory position at which it is found again; -1 for the first of the buffer.
func ParseDir(b []byte, tids []kernel.TID, offsets *[]int64) ([]kernel.TID, error) {
	before := int64(-1)
	for len(b) > 0 {
		if len(b) < direntName {
			return tids, malformed("directory entry", b)
		}
		size := int(binary.NativeEndian.Uint16(b[16:]))
		if size <= direntName || size > len(b) {
			return tids, malformed("directory entry", b)
		}
		if tid, ok := taskNumber(b[direntName:size]); ok {
			tids = append(tids, tid)
			if offsets != nil {
				*offsets = append(*offsets, before)
			}
		}
		before = int64(binary.NativeEndian.Uint64(b[8:]))
		b = b[size:]
	}
	return tids, nil
}

// taskNumber reads a NUL-terminated name that is a positive number.
func taskNumber(name []byte) (kernel.TID, bool) {
	n := int64(0)
	for i, c := range name {
		if c == 0 {
			return kernel.TID(n), i > 0 && name[0] != '0'
		}
		if c < '0' || c > '9' {
			return 0, false
		}
		if n = n*10 + int64(c-'0'); n > math.MaxInt32 {
			return 0, false
		}
	}
	return 0, false
}
