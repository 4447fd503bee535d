package journalview

import (
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/chart"
	"piton/internal/field"
	"piton/internal/kernel"
	"piton/internal/procfs"
	"piton/internal/watch"
)

// Watcher tells who sets what; watch.Changes is the real one.
type Watcher interface {
	Read() (watch.Settings, error)
	Close()
}

// lookEvery is how often it is asked.
const lookEvery = 500 * time.Millisecond

// mostForeign is how many lines an entry gets about changes by others.
const mostForeign = 4

// itsHabit is how often a process has to set its own affinity before it is said to do that.
const itsHabit = 3

// foreign is what others set of what entries set. It is watched while the view is shown.
type foreign struct {
	watcher Watcher
	round   int // of watching; what an earlier one finds means nothing
	on      bool
	why     string // it cannot be watched
	by      map[uint64][]overwrite
}

// overwrite is what one program set of an entry.
type overwrite struct {
	watch.Setting // the last one
	at            time.Time
	times         int
	back          bool // to what it was before the entry
}

// words are its line: "21:04:11 systemd 1 (init.scope) set the affinity of nginx 812: 1 → 0-7, as before".
func (o *overwrite) words() string {
	by := fmt.Sprintf("%s %d", o.By.Comm, o.By.PID)
	if o.By.Unit != "" {
		by += " (" + o.By.Unit + ")"
	}
	what := o.Attribute.Title() + " of " + o.Target()
	if o.Itself() {
		what = "its own " + o.Attribute.Title()
	}
	text := fmt.Sprintf("%s %s set %s: %s", o.at.Local().Format(time.TimeOnly), by, what, o.Words())
	if o.back {
		text += ", as before"
	}
	if o.times > 1 {
		text += fmt.Sprintf(", %s times", chart.Digits(float64(o.times)))
	}
	if o.Itself() && o.Attribute == attr.Affinity && o.times >= itsHabit {
		text += ": a pin will not hold"
	}
	return field.Clean(text)
}

// watchOthers begins to watch, unless it is watched already.
func (v *View) watchOthers() tea.Cmd {
	if v.o.Watch == nil || v.foreign.on {
		return nil
	}
	v.foreign.on = true
	round, open := v.foreign.round, v.o.Watch
	return func() tea.Msg {
		w, err := open()
		return func() tea.Cmd { return v.watching(round, w, err) }
	}
}

func (v *View) watching(round int, w Watcher, err error) tea.Cmd {
	switch {
	case err != nil:
		v.foreign.why = err.Error()
		return nil
	case round != v.foreign.round: // the view was left meanwhile
		return closing(w)
	}
	v.foreign.watcher, v.foreign.why = w, ""
	return v.look(round)
}

func closing(w Watcher) tea.Cmd {
	return func() tea.Msg {
		w.Close()
		return func() tea.Cmd { return nil }
	}
}

// Leave ends watching: the view is shown no longer.
func (v *View) Leave() tea.Cmd {
	w := v.foreign.watcher
	v.foreign.round++
	v.foreign.on, v.foreign.watcher = false, nil
	if w == nil {
		return nil
	}
	return closing(w)
}

// look finds out, after some time, what others have set meanwhile.
func (v *View) look(round int) tea.Cmd {
	w, operations := v.foreign.watcher, v.operations
	return tea.Tick(lookEvery, func(time.Time) tea.Msg {
		settings, err := w.Read()
		found := map[uint64][]overwrite{}
		for i := range settings.List {
			for o := range operations {
				if o := &operations[o]; o.Undoable() {
					overwrites(&settings.List[i], o.Changes, func(one overwrite) { found[o.ID] = append(found[o.ID], one) })
				}
			}
		}
		return func() tea.Cmd { return v.looked(round, found, err) }
	})
}

// overwrites calls each if a setting by others is of what changes set, and of another value. Those of
// piton are in the journal themselves.
func overwrites(s *watch.Setting, changes []change.Change, each func(overwrite)) {
	if s.Errno != 0 || s.By.Own {
		return
	}
	for i := range changes {
		c := &changes[i]
		if c.Took() && s.Concerns(procfs.New("/"), c) && (s.Attribute != c.Attribute || s.To != attr.Text(c.After)) {
			each(overwrite{*s, time.Now().Add(s.At - kernel.Monotonic()), 1, s.Attribute == c.Attribute && s.To == attr.Text(c.Before)})
			return
		}
	}
}

func (v *View) looked(round int, found map[uint64][]overwrite, err error) tea.Cmd {
	if round != v.foreign.round {
		return nil
	}
	if err != nil {
		v.foreign.why = err.Error()
		return nil
	}
	for id, list := range found {
		for _, one := range list {
			v.foreign.add(id, one)
		}
	}
	if len(found) == 0 {
		return v.look(round)
	}
	v.relist()
	return tea.Batch(v.Open(), v.look(round)) // what has become of the entries
}

// add puts it first, with those of the same program.
func (f *foreign) add(id uint64, one overwrite) {
	if f.by == nil {
		f.by = map[uint64][]overwrite{}
	}
	list := []overwrite{one}
	for _, o := range f.by[id] {
		if o.Setter() == one.Setter() && o.Target() == one.Target() {
			list[0].times += o.times
		} else if len(list) < mostForeign {
			list = append(list, o)
		}
	}
	f.by[id] = list
}
