package sample

import (
	"strings"

	"piton/internal/procfs"
)

// Extra are figures that only columns that are seldom shown need. It is immutable
// and may be shared between samples.
type Extra struct {
	Have                  Have // HaveMemory, HaveIO, HaveOOM, HaveWait
	VirtPages, SharePages uint64
	ReadBytes, WriteBytes uint64 // from and to storage
	OOMScore              int
	WaitChannel           string // kernel function that it sleeps in
}

// extra reads what the shown columns need of a watched task. Of a task at rest it
// still holds.
func (d *details) extra(w *walk, t, old *Task) {
	want := w.needs.extraFacts()
	if want == 0 {
		return
	}
	if old != nil && old.Extra != nil && old.Extra.Have == want && d.still(w, t, old) {
		t.Extra = old.Extra
		return
	}
	e := &Extra{Have: want}
	read := func(bit Have, file string, parse func([]byte) bool) {
		if want&bit == 0 {
			return
		}
		if b, err := d.r.Task(t.TGID, t.thread(), file); err != nil || !parse(b) {
			e.Have &^= bit
		}
	}
	read(HaveMemory, "statm", func(b []byte) (ok bool) {
		e.VirtPages, e.SharePages, ok = procfs.ParseStatm(b)
		return ok
	})
	read(HaveIO, "io", func(b []byte) (ok bool) {
		e.ReadBytes, e.WriteBytes, ok = procfs.ParseIO(b, procfs.DiskBytes)
		return ok
	})
	read(HaveOOM, "oom_score", func(b []byte) (ok bool) {
		e.OOMScore, ok = procfs.ParseOOMScore(b)
		return ok
	})
	read(HaveWait, "wchan", func(b []byte) bool {
		e.WaitChannel = strings.TrimSpace(string(b))
		return e.WaitChannel != "0" // it runs, or this user may not look into it
	})
	t.Extra = e
}

// extraFacts is what is wanted of a watched task, as bits of Have.
func (n *wanted) extraFacts() (want Have) {
	for _, f := range []struct {
		on  bool
		bit Have
	}{{n.Memory, HaveMemory}, {n.IO, HaveIO}, {n.OOM, HaveOOM}, {n.Wait, HaveWait}} {
		if f.on {
			want |= f.bit
		}
	}
	return want
}
