package simulate

import (
	"slices"
	"time"
)

// event is something that the world does between two steps.
type event struct {
	name   string
	weight int
	do     func(*world)
}

// events are all that can come; a history has some of them.
var events = []event{
	{"a thread is born", 6, func(w *world) {
		if t := w.parent(); t != nil {
			w.log("task %s makes thread %s", t, w.thread(t, 0))
		}
	}},
	{"a process is born", 4, func(w *world) {
		if t := w.parent(); t != nil {
			w.log("task %s makes process %s", t, w.process(t, 0))
		}
	}},
	{"a thread ends", 3, func(w *world) {
		if t := w.some((*task).living); t != nil {
			w.endThread(t)
		}
	}},
	{"a process ends", 2, func(w *world) {
		if t := w.some((*task).living); t != nil {
			w.endProcess(t, w.rng.IntN(2) == 0)
		}
	}},
	{"a zombie is collected", 2, func(w *world) {
		if t := w.some(func(t *task) bool { return t.zombie && len(t.threads) == 1 }); t != nil {
			w.release(t)
		}
	}},
	{"a number is reused", 4, func(w *world) {
		t := w.some((*task).living)
		if t == nil {
			return
		}
		if t == t.leader {
			w.endProcess(t, true)
		} else {
			w.endThread(t)
		}
		n := w.reuse(t.tid, t.start)
		w.log("number %d now means %s of process %s, made by %v", t.tid, n, n.leader, n.creator)
	}},
	{"somebody else sets a value", 3, func(w *world) {
		if w.rng.IntN(4) == 0 {
			i := w.rng.IntN(len(fileKinds))
			w.set(w.files[i], fileKinds[i].values[w.rng.IntN(len(fileKinds[i].values))], nil)
			return
		}
		if t := w.some((*task).living); t != nil {
			i := w.rng.IntN(len(attributes))
			v := taskValues[i][w.rng.IntN(len(taskValues[i]))]
			if t.allows(attributes[i], v) {
				w.set(&t.cells[i], v, nil)
			}
		}
	}},
	{"a piton is killed", 3, func(w *world) { w.kill(func(a *actor) bool { return a.guard == nil }) }},
	{"a guard is killed", 2, func(w *world) { w.kill(func(a *actor) bool { return a.guard != nil }) }},
	{"an actor is stopped", 2, func(w *world) {
		if a := w.somebody(func(a *actor) bool { return !a.stopped }); a != nil {
			w.log("%s is stopped", a.name)
			a.stopped, a.disturbed = true, "it was stopped"
		}
	}},
	{"an actor is continued", 3, func(w *world) {
		if a := w.somebody(func(a *actor) bool { return a.stopped }); a != nil {
			w.log("%s is continued", a.name)
			a.stopped = false
		}
	}},
	{"an actor gets no CPU", 2, func(w *world) {
		if a := w.somebody(func(*actor) bool { return true }); a != nil {
			a.starved, a.disturbed = w.now+time.Duration(w.rng.IntN(8_000))*time.Millisecond, "it got no CPU"
			w.log("%s gets no CPU until %v", a.name, a.starved)
		}
	}},
	{"a guard is told to end", 1, func(w *world) {
		if a := w.somebody(func(a *actor) bool { return a.guard != nil && a.guard.Sentry != nil }); a != nil {
			w.log("%s gets SIGTERM", a.name)
			a.guard.Terminate()
		}
	}},
	{"a piton is interrupted", 1, func(w *world) {
		if a := w.somebody(func(a *actor) bool { return a.guard == nil }); a != nil {
			w.log("%s gets SIGINT", a.name)
			a.interrupt = true
		}
	}},
	{"a disk fills, or has room again", 3, func(w *world) {
		d := w.disks[w.rng.IntN(len(w.disks))]
		d.full = !d.full
		w.log("disk %s is full: %t", d.name, d.full)
	}},
	{"a byte of a journal is changed", 2, func(w *world) { w.disks[w.rng.IntN(len(w.disks))].flip() }},
	{"the clock is set", 1, func(w *world) {
		w.wall += time.Duration(w.rng.IntN(7_200)-3_600) * time.Second
		w.log("the clock is set: %v ahead", w.wall)
	}},
	{"the machine sleeps", 1, func(w *world) {
		w.now += time.Duration(w.rng.IntN(600)) * time.Second
		w.log("the machine has slept")
		for _, a := range w.actors {
			a.disturbed = "the machine slept"
		}
	}},
	{"the machine crashes", 1, func(w *world) {
		if w.boot < maxBoots {
			w.crash()
		}
	}},
}

// maxBoots bounds how often the machine is started: where nothing else happens, it would
// crash again before anybody has ended.
const maxBoots = 100

// happen lets an event come, or not.
func (w *world) happen() {
	if w.healed || w.fate.calm == 0 || w.rng.IntN(w.fate.calm) != 0 {
		return
	}
	sum := 0
	for _, e := range w.fate.events {
		sum += e.weight
	}
	n := w.rng.IntN(sum)
	for _, e := range w.fate.events {
		if n -= e.weight; n < 0 {
			was := w.actor
			w.actor = nil // in the history
			e.do(w)
			w.actor = was
			return
		}
	}
}

// parent chooses a task to make another, unless there are many.
func (w *world) parent() *task {
	const most = 16
	if len(w.tasks) >= most {
		return nil
	}
	return w.some((*task).living)
}

// somebody chooses an actor that lives.
func (w *world) somebody(is func(*actor) bool) *actor {
	var found []*actor
	for _, a := range w.actors {
		if !a.dead && is(a) {
			found = append(found, a)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return found[w.rng.IntN(len(found))]
}

func (w *world) kill(is func(*actor) bool) {
	if a := w.somebody(is); a != nil {
		a.disturbed = "it was killed"
		a.die("is killed")
	}
}

// flip changes a byte of the journal's file.
func (d *disk) flip() {
	if len(d.data) == 0 {
		return
	}
	i := d.w.rng.IntN(len(d.data))
	if d.data[i] == '\n' {
		return
	}
	start := i
	for start > 0 && d.data[start-1] != '\n' {
		start--
	}
	id := idOf(string(d.data[start:min(len(d.data), start+80)]))
	d.hurt[id] = true
	old := d.data[i]
	if old >= '0' && old <= '9' {
		d.data[i] = '0' + (old-'0'+1+byte(d.w.rng.IntN(9)))%10
	} else {
		d.data[i] ^= 1 << d.w.rng.IntN(3)
	}
	d.w.log("journal %s, entry %d: a byte %q becomes %q", d.name, id, old, d.data[i])
}

// crash starts the machine anew. What was written last is lost, or zeros are in its place.
func (w *world) crash() {
	w.log("the machine crashes")
	for _, a := range slices.Clone(w.actors) {
		a.disturbed = "the machine crashed"
		a.die("is gone")
	}
	for _, d := range w.disks {
		kept := w.rng.IntN(len(d.data) + 1)
		if kept%2 == 0 {
			clear(d.data[kept:])
		} else {
			d.data = d.data[:kept]
		}
		d.inode++
	}
	w.sentry = newSentry(w)
	w.guards, w.pitons = nil, nil
	w.startMachine()
	w.launch()
}
