package partition

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/irq"
	"piton/internal/kernel"
	"piton/internal/tune"
)

func set(t testing.TB, list string) cpuset.Set {
	t.Helper()
	s, err := cpuset.Parse(list)
	require.NoError(t, err)
	return s
}

// world is a machine and its journal, on which plans are carried out as tune
// does.
type world struct {
	testing.TB
	f       Facts
	entries []tune.Entry
	whole   map[kernel.TID]cpuset.Set // what each task would have but for piton
}

func newWorld(t testing.TB, online string) *world {
	w := &world{TB: t, whole: map[kernel.TID]cpuset.Set{}}
	w.f.Online, w.f.Ticks = set(t, online), 1000
	return w
}

// task adds a process that was there before.
func (w *world) task(tid, parent kernel.TID, mask string) *Task {
	w.f.Tasks = append(w.f.Tasks, Task{PID: tid, TID: tid, PPID: parent, StartTicks: uint64(tid), Comm: "task", Mask: set(w, mask)})
	w.whole[tid] = set(w, mask)
	return &w.f.Tasks[len(w.f.Tasks)-1]
}

// fork adds a child of a process, which has its mask.
func (w *world) fork(tid kernel.TID, parent int) {
	w.f.Ticks++
	elder := w.f.Tasks[parent]
	w.f.Tasks = append(w.f.Tasks, Task{PID: tid, TID: tid, PPID: elder.TID, StartTicks: w.f.Ticks, Comm: "child", Mask: elder.Mask})
	w.whole[tid] = w.whole[elder.TID]
	w.f.Ticks++
}

func (w *world) line(number int, control irq.Control, mask string) *irq.IRQ {
	w.f.IRQs = append(w.f.IRQs, irq.IRQ{Number: number, Requested: irq.Mask{Set: set(w, mask), OK: true},
		Facts: irq.Facts{Control: control, Actions: []string{"dev"}}})
	return &w.f.IRQs[len(w.f.IRQs)-1]
}

func (w *world) mask(a tune.Attribute, path, mask string) {
	w.f.Masks = append(w.f.Masks, Mask{Attribute: a, Path: path, Name: path, CPUs: set(w, mask)})
}

// at finds the mask of a task or file.
func (w *world) at(k key) *cpuset.Set {
	for i := range w.f.Tasks {
		if w.f.Tasks[i].key() == k {
			return &w.f.Tasks[i].Mask
		}
	}
	for i := range w.f.IRQs {
		if (key{path: linePath(&w.f.IRQs[i])}) == k {
			return &w.f.IRQs[i].Requested.Set
		}
	}
	for i := range w.f.Masks {
		if (key{path: w.f.Masks[i].Path}) == k {
			return &w.f.Masks[i].CPUs
		}
	}
	w.Fatalf("there is no %v", k)
	return nil
}

func (w *world) set(e *tune.Entry, k key, a tune.Attribute, mask cpuset.Set) {
	now := w.at(k)
	e.Changes = append(e.Changes, tune.Change{PID: k.tid, TID: k.tid, StartTicks: k.startTicks, Path: k.path, Attribute: a,
		Before: now.String(), After: mask.String(), Status: tune.Done})
	*now = mask
}

// carryOut applies requests and journals them.
func (w *world) carryOut(requests []tune.Request) {
	if len(requests) == 0 {
		return
	}
	e := tune.Entry{ID: uint64(len(w.entries) + 1), Reason: requests[0].Reason, Sweep: w.f.Ticks, Finished: true}
	for _, r := range requests {
		assert.Equal(w, len(r.Targets) > 0 && strings.HasPrefix(r.Reason, includeWord), r.Restore)
		for _, target := range r.Targets {
			w.set(&e, key{tid: target.TID, startTicks: target.StartTicks}, tune.Affinity, *r.Settings.Affinity)
		}
		for _, file := range r.Files {
			w.set(&e, key{path: file.Path}, file.Attribute, set(w, file.Value))
		}
	}
	w.entries = append(w.entries, e)
	w.f.Ticks++
}

func (w *world) isolate(cpus string) Isolation {
	w.Helper()
	past := Past(w.entries)
	w.f.Reserved = past.Apart()
	out, err := Isolate(w.f, set(w, cpus))
	require.NoError(w, err)
	w.carryOut(out.Requests)
	return out
}

func (w *world) include(cpus string) Inclusion {
	w.Helper()
	out, err := Include(w.f, set(w, cpus), Past(w.entries), false)
	require.NoError(w, err)
	if len(out.Undo) == 0 {
		w.carryOut(out.Requests)
		return out
	}
	w.undo(out.Undo...)
	for _, r := range out.Requests { // they are journalled with the undo
		for _, target := range r.Targets {
			*w.at(key{tid: target.TID, startTicks: target.StartTicks}) = *r.Settings.Affinity
		}
		for _, file := range r.Files {
			*w.at(key{path: file.Path}) = set(w, file.Value)
		}
	}
	w.f.Ticks++
	return out
}

// undo takes entries back, newest first, and journals it. What somebody else has
// changed, or a later entry, is left alone, and the entry does not count as undone.
func (w *world) undo(ids ...uint64) *tune.Entry {
	type goal struct{ left, before string }
	goals, refused := map[key]*goal{}, map[key]bool{}
	for _, id := range ids {
		for _, c := range w.entries[id-1].Changes {
			if k, _ := keyOf(c); goals[k] == nil {
				goals[k] = &goal{c.After, c.Before}
			} else {
				goals[k].before = c.Before
			}
		}
	}
	for _, e := range w.entries[ids[0]:] {
		tried := len(undosOf(w.entries)[e.ID]) > 0
		for _, c := range e.Changes {
			k, _ := keyOf(c)
			if g := goals[k]; g != nil && !e.Undone && len(e.Undoes) == 0 {
				refused[k] = refused[k] || !tried || w.at(k).String() != g.left
			}
		}
	}
	undo := tune.Entry{ID: uint64(len(w.entries) + 1), Undoes: ids, Finished: true}
	for k, g := range goals {
		switch now := w.at(k).String(); {
		case now == g.before:
			refused[k] = false
		case refused[k] || now != g.left:
			refused[k] = true
		default:
			w.set(&undo, k, tune.Affinity, set(w, g.before))
		}
	}
	for _, id := range ids {
		e := &w.entries[id-1]
		e.Undone = !slices.ContainsFunc(e.Changes, func(c tune.Change) bool { k, _ := keyOf(c); return refused[k] })
	}
	w.entries = append(w.entries, undo)
	return &w.entries[len(w.entries)-1]
}

// masks are all masks there are, as text.
func (w *world) masks() map[key]string {
	out := map[key]string{}
	for i := range w.f.Tasks {
		out[w.f.Tasks[i].key()] = w.f.Tasks[i].Mask.String()
	}
	for i := range w.f.IRQs {
		out[key{path: linePath(&w.f.IRQs[i])}] = w.f.IRQs[i].Requested.String()
	}
	for i := range w.f.Masks {
		out[key{path: w.f.Masks[i].Path}] = w.f.Masks[i].CPUs.String()
	}
	return out
}
