package irq

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"piton/internal/procfs"
)

// threads finds the tasks of threaded handlers, by line.
func (f FS) threads() (map[int][]Thread, error) {
	pids, err := f.proc.Processes()
	if err != nil {
		return nil, err
	}
	found := map[int][]Thread{}
	for _, pid := range pids {
		st, err := f.proc.Stat(pid)
		if err != nil || st.Flags&procfs.FlagKernelThread == 0 { // most errors: it has ended
			continue
		}
		if n, ok := ThreadLine(string(st.Comm)); ok {
			found[n] = append(found[n], Thread{pid, string(st.Comm), st.Flags&procfs.FlagNoSetAffinity != 0})
		}
	}
	return found, nil
}

// Tasks names the tasks of handlers: "irq/24-eth0 (81)".
func Tasks(threads []Thread) string {
	var words []string
	for _, t := range threads {
		words = append(words, fmt.Sprintf("%s (%d)", t.Comm, t.TID))
	}
	return strings.Join(words, ", ")
}

// ThreadLine is the interrupt line that a kernel thread of this name handles:
// 24 for "irq/24-eth0", and for "irq/24-s-eth0", its secondary handler.
func ThreadLine(comm string) (irq int, ok bool) {
	rest, ok := strings.CutPrefix(comm, "irq/")
	if !ok {
		return 0, false
	}
	digits, _, ok := strings.Cut(rest, "-")
	if !ok || digits == "" || strings.Trim(digits, "0123456789") != "" {
		return 0, false
	}
	irq, err := strconv.Atoi(digits)
	return irq, err == nil
}

// alive reports whether the tasks still are what they were.
func (f FS) alive(threads []Thread) bool {
	return !slices.ContainsFunc(threads, func(t Thread) bool {
		comm, ok := procfs.Text(f.proc.Path(strconv.Itoa(int(t.TID)), "comm"))
		return !ok || comm != t.Comm
	})
}
