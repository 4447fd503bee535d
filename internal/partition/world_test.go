package partition

import (
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/change/journal"
	"piton/internal/cpuset"
	"piton/internal/irq"
	"piton/internal/kernel"
)

func set(t testing.TB, list string) cpuset.Set {
	t.Helper()
	s, err := cpuset.Parse(list)
	require.NoError(t, err)
	return s
}

// taskKey names the mask of a task that was there before.
func taskKey(tid kernel.TID) attr.Key {
	return attr.Key{ID: attr.ID{TID: tid, StartTicks: uint64(tid)}, Attribute: attr.Affinity}
}

// fileKey names the mask in a file.
func fileKey(path string) attr.Key {
	for end, a := range map[string]attr.Attribute{
		"smp_affinity_list": attr.IRQAffinity, "default_smp_affinity": attr.DefaultIRQAffinity, "rps_cpus": attr.RPSCPUs,
	} {
		if strings.HasSuffix(path, end) {
			return attr.Key{Attribute: a, Path: path}
		}
	}
	return attr.Key{Attribute: attr.WorkqueueMask, Path: path}
}

// world is a machine and its journal, on which plans are carried out as by
// internal/change.
type world struct {
	testing.TB
	f       Facts
	entries []change.Entry
	whole   map[kernel.TID]cpuset.Set // what each task would have but for piton
}

func newWorld(t testing.TB, online string) *world {
	w := &world{TB: t, whole: map[kernel.TID]cpuset.Set{}}
	w.f.Online, w.f.Ticks = set(t, online), 1000
	return w
}

// task adds a process that was there before.
func (w *world) task(tid, parent kernel.TID, mask string) *Task {
	w.f.Tasks = append(w.f.Tasks, Task{PPID: parent, Mask: set(w, mask),
		Task: attr.Task{PID: tid, TID: tid, StartTicks: uint64(tid), Comm: "task"}})
	w.whole[tid] = set(w, mask)
	return &w.f.Tasks[len(w.f.Tasks)-1]
}

// fork adds a child of a process, which has its mask.
func (w *world) fork(tid kernel.TID, parent int) {
	w.f.Ticks++
	elder := w.f.Tasks[parent]
	w.f.Tasks = append(w.f.Tasks, Task{PPID: elder.TID, Mask: elder.Mask,
		Task: attr.Task{PID: tid, TID: tid, StartTicks: w.f.Ticks, Comm: "child"}})
	w.whole[tid] = w.whole[elder.TID]
	w.f.Ticks++
}

func (w *world) line(number int, control irq.Control, mask string) *irq.IRQ {
	w.f.IRQs = append(w.f.IRQs, irq.IRQ{Number: number, Requested: irq.Mask{Set: set(w, mask), OK: true},
		Facts: irq.Facts{Control: control, Actions: []string{"dev"}}})
	return &w.f.IRQs[len(w.f.IRQs)-1]
}

func (w *world) mask(a attr.Attribute, path, mask string) {
	w.f.Masks = append(w.f.Masks, Mask{Attribute: a, Path: path, Name: path, CPUs: set(w, mask)})
}

// at finds the mask of a task or file.
func (w *world) at(k attr.Key) *cpuset.Set {
	for i := range w.f.Tasks {
		if w.f.Tasks[i].key() == k {
			return &w.f.Tasks[i].Mask
		}
	}
	for i := range w.f.IRQs {
		if lineKey(&w.f.IRQs[i]) == k {
			return &w.f.IRQs[i].Requested.Set
		}
	}
	for i := range w.f.Masks {
		if w.f.Masks[i].Path == k.Path {
			return &w.f.Masks[i].CPUs
		}
	}
	w.Fatalf("there is no %v", k)
	return nil
}

func (w *world) set(e *change.Entry, k attr.Key, mask cpuset.Set) {
	now := w.at(k)
	e.Changes = append(e.Changes, change.Change{Object: attr.Object{PID: k.TID, TID: k.TID, StartTicks: k.StartTicks, Path: k.Path},
		Attribute: k.Attribute, Before: *now, After: mask, Status: attr.Done})
	*now = mask
}

// carryOut carries requests out and journals them.
func (w *world) carryOut(requests []change.Request, origin journal.Origin) {
	if len(requests) == 0 {
		return
	}
	e := change.Entry{ID: uint64(len(w.entries) + 1), Origin: origin, Sweep: w.f.Ticks, Finished: true}
	for _, r := range requests {
		for k, mask := range asked(r) {
			w.set(&e, k, mask)
		}
	}
	w.entries = append(w.entries, e)
	w.f.Ticks++
	past := Past(w.entries)
	for _, r := range requests {
		restores := len(r.Targets) > 0 && origin.Kind == journal.ByInclude && past.Apart().SubsetOf(w.f.Online)
		assert.Equal(w, restores, r.Restore)
	}
}

// asked are the masks that a request is for.
func asked(r change.Request) iter.Seq2[attr.Key, cpuset.Set] {
	return func(yield func(attr.Key, cpuset.Set) bool) {
		cpus, _ := r.Affinity()
		for _, t := range r.Targets {
			yield(attr.Key{ID: attr.ID{TID: t.TID, StartTicks: t.StartTicks}, Attribute: attr.Affinity}, attr.CPUs(cpus))
		}
		for _, f := range r.Files {
			yield(attr.Key{Attribute: f.Attribute, Path: f.Path}, attr.CPUs(f.Value))
		}
	}
}

func (w *world) isolate(cpus string) Isolation {
	w.Helper()
	past := Past(w.entries)
	w.f.Reserved = past.Apart()
	out, err := Isolate(w.f, set(w, cpus))
	require.NoError(w, err)
	w.carryOut(out.Requests, isolated(w, cpus))
	return out
}

// isolated is the origin of an isolate.
func isolated(t testing.TB, cpus string) journal.Origin {
	return journal.Origin{Kind: journal.ByIsolate, CPUs: set(t, cpus)}
}

func (w *world) include(cpus string) Inclusion {
	w.Helper()
	out, err := Include(w.f, set(w, cpus), Past(w.entries), false)
	require.NoError(w, err)
	if len(out.Undo) == 0 {
		w.carryOut(out.Requests, journal.Origin{Kind: journal.ByInclude, CPUs: set(w, cpus)})
		return out
	}
	w.undo(out.Undo...)
	for _, r := range out.Requests { // they are journalled with the undo
		for k, mask := range asked(r) {
			*w.at(k) = mask
		}
	}
	w.f.Ticks++
	return out
}

// undo undoes entries, newest first, and journals it. What somebody else has
// changed, or a later entry, is left alone, and the entry does not count as undone.
func (w *world) undo(ids ...uint64) *change.Entry {
	type goal struct{ left, before cpuset.Set }
	goals, refused := map[attr.Key]*goal{}, map[attr.Key]bool{}
	for _, id := range ids {
		for _, c := range w.entries[id-1].Changes {
			if k := c.Key(); goals[k] == nil {
				goals[k] = &goal{attr.CPUs(c.After), attr.CPUs(c.Before)}
			} else {
				goals[k].before = attr.CPUs(c.Before)
			}
		}
	}
	for _, e := range w.entries[ids[0]:] {
		tried := slices.ContainsFunc(w.entries, func(o change.Entry) bool { return slices.Contains(o.Undoes, e.ID) })
		for _, c := range e.Changes {
			k := c.Key()
			if g := goals[k]; g != nil && !e.Undone && len(e.Undoes) == 0 {
				refused[k] = refused[k] || !tried || !w.at(k).Equal(g.left)
			}
		}
	}
	undo := change.Entry{ID: uint64(len(w.entries) + 1), Undoes: ids, Finished: true}
	for k, g := range goals {
		switch now := w.at(k); {
		case now.Equal(g.before):
			refused[k] = false
		case refused[k] || !now.Equal(g.left):
			refused[k] = true
		default:
			w.set(&undo, k, g.before)
		}
	}
	for _, id := range ids {
		e := &w.entries[id-1]
		e.Undone = !slices.ContainsFunc(e.Changes, func(c change.Change) bool { return refused[c.Key()] })
	}
	w.entries = append(w.entries, undo)
	return &w.entries[len(w.entries)-1]
}

// masks are all masks there are, as text.
func (w *world) masks() map[attr.Key]string {
	out := map[attr.Key]string{}
	for i := range w.f.Tasks {
		out[w.f.Tasks[i].key()] = w.f.Tasks[i].Mask.String()
	}
	for i := range w.f.IRQs {
		out[lineKey(&w.f.IRQs[i])] = w.f.IRQs[i].Requested.String()
	}
	for i := range w.f.Masks {
		out[attr.Key{Attribute: w.f.Masks[i].Attribute, Path: w.f.Masks[i].Path}] = w.f.Masks[i].CPUs.String()
	}
	return out
}
