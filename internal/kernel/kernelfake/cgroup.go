package kernelfake

import (
	"path"
	"strconv"
	"strings"
	"syscall"
)

// NewGroup are the files with which a control group begins.
func NewGroup(dir string, unified bool) map[string]string {
	files := map[string]string{"cpu.shares": "1024", "cpu.idle": "0", "cpu.cfs_quota_us": "-1", "cpu.cfs_period_us": "100000", "cpu.cfs_burst_us": "0"}
	if unified {
		files = map[string]string{"cpu.weight": "100", "cpu.idle": "0", "cpu.max": "max 100000", "cpu.max.burst": "0"}
	}
	out := map[string]string{}
	for name, text := range files {
		out[path.Join(dir, name)] = text + "\n"
	}
	return out
}

// StoreGroup is what becomes of the files of a control group when a text is written to one of them,
// as the kernel has it (kernel/sched/fair.c and core.c); ok is false for other files.
func StoreGroup(files map[string]string, file, text string) (ok bool, err error) {
	dir, name := path.Split(file)
	if _, known := files[file]; !known || !strings.HasPrefix(name, "cpu.") {
		return false, nil
	}
	usual, idle := "100\n", "1\n"
	weight, quota, burst := dir+"cpu.weight", dir+"cpu.max", dir+"cpu.max.burst"
	if _, first := files[dir+"cpu.shares"]; first {
		usual, idle = "1024\n", "3\n"
		weight, quota, burst = dir+"cpu.shares", dir+"cpu.cfs_quota_us", dir+"cpu.cfs_burst_us"
	}
	us := func(text string) int { // the first number; 0 of "max"
		n, _ := strconv.Atoi(strings.Fields(text)[0])
		return n
	}
	limited := func(text string) bool { return us(text) > 0 }
	bad := false
	switch file {
	case weight:
		bad = files[dir+"cpu.idle"] == "1\n" || us(text) < 1
	case dir + "cpu.idle":
		switch {
		case text == files[file]:
		case text == "1\n":
			files[weight] = idle
		default:
			files[weight] = usual // the kernel forgets what it had
		}
	case quota:
		bad = limited(text) && (us(text) < 1000 || us(text) < us(files[burst]))
	case burst:
		bad = limited(files[quota]) && us(text) > us(files[quota])
	default:
		return false, nil
	}
	if bad {
		return true, syscall.EINVAL
	}
	files[file] = text
	return true, nil
}
