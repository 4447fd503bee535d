package partition

import (
	"strings"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/tune"
)

// History is what piton's isolates of this boot did that is still in force. The
// zero value is that there were none.
type History struct {
	events []event // isolates and includes that were not undone, oldest first
	items  map[key]*item
}

// event is one journal entry.
type event struct {
	id      uint64
	atTicks uint64     // when the tasks were looked at, USER_HZ since boot
	apart   cpuset.Set // isolated once it was in force
	mixed   bool       // the entry did more than that, as profiles do
}

// key names a task or a file for good.
type key struct {
	tid        kernel.TID
	startTicks uint64
	path       string
}

func (t *Task) key() key { return key{tid: t.TID, startTicks: t.StartTicks} }

// item is what became of one mask.
type item struct {
	before cpuset.Set // as the first step found it
	steps  []step     // at least one
}

// step is what one event made of a mask.
type step struct {
	event int
	mask  cpuset.Set
	sure  bool // it came into force: piton lived to say so
}

// now is the mask that piton left.
func (i *item) now() step { return i.steps[len(i.steps)-1] }

// asOf is the mask once the event was in force.
func (i *item) asOf(event int) cpuset.Set {
	mask := i.before
	for _, s := range i.steps {
		if s.event <= event {
			mask = s.mask
		}
	}
	return mask
}

// Past reads the journal's entries, oldest first.
func Past(entries []tune.Entry) History { return past(entries, false) }

// pastFor is the past as Include needs it: what an undo has left alone counts as
// well where CPUs that were taken in already are included by force.
func pastFor(entries []tune.Entry, cpus cpuset.Set, force bool) History {
	h := past(entries, false)
	if force && cpus.And(h.Apart()).Empty() {
		return past(entries, true)
	}
	return h
}

func past(entries []tune.Entry, leftAlone bool) History {
	h := History{items: map[key]*item{}}
	undos := undosOf(entries)
	for i := range entries {
		e := &entries[i]
		isolated, included, ok := parseReason(e.Reason)
		if !ok || e.Undone || e.PastBoot || e.ChangedNothing() || len(e.Undoes) > 0 || !leftAlone && undos.over(e, entries) {
			continue
		}
		mixed, done := strings.Contains(e.Reason, reasonsEnd), undos.done(e)
		h.events = append(h.events, event{e.ID, e.Sweep, h.Apart().Or(isolated).AndNot(included), mixed})
		for _, c := range e.Changes {
			if k, ok := keyOf(c); ok && made(c) && !done[k] {
				h.take(k, c, isolated, mixed)
			}
		}
	}
	return h
}

// take adds a change of an entry; of a mixed one, only if by it something gave way.
func (h *History) take(k key, c tune.Change, isolated cpuset.Set, mixed bool) {
	before, errBefore := cpuset.Parse(c.Before)
	after, errAfter := cpuset.Parse(c.After)
	if errBefore != nil || errAfter != nil || mixed && !gaveWay(before, after, isolated) {
		return
	}
	if h.items[k] == nil {
		h.items[k] = &item{before: before}
	}
	i := h.items[k]
	i.steps = append(i.steps, step{len(h.events) - 1, after, c.Status == tune.Done})
}

// gaveWay reports whether a mask became what Isolate makes of it: without the CPUs,
// or all others if it had none but those.
func gaveWay(before, after, isolated cpuset.Set) bool {
	left := before.AndNot(isolated)
	return !left.Equal(before) && after.And(isolated).Empty() && (left.Empty() || left.Equal(after))
}

// Apart returns the CPUs that piton has isolated and not included since.
func (h *History) Apart() cpuset.Set {
	if len(h.events) == 0 {
		return cpuset.Set{}
	}
	return h.events[len(h.events)-1].apart
}

// since returns the newest entries whose undoing leaves exactly the given CPUs
// apart, newest first, and the last event before them, -1 for none; no entries if
// no number of them does.
func (h *History) since(remaining cpuset.Set) (ids []uint64, until int) {
	for i := len(h.events) - 1; i >= 0 && !h.events[i].mixed; i-- {
		ids = append(ids, h.events[i].id)
		var earlier cpuset.Set
		if i > 0 {
			earlier = h.events[i-1].apart
		}
		if earlier.Equal(remaining) {
			return ids, i - 1
		}
	}
	return nil, -1
}

// before returns the newest event that was before a task was born, -1 for none.
func (h *History) before(startTicks uint64) int {
	last := -1
	for i, e := range h.events {
		if e.atTicks < startTicks {
			last = i
		}
	}
	return last
}

// The words that begin the reason of journal entries; the CPUs follow.
const (
	isolateWord = "isolate "
	includeWord = "include "
	reasonsEnd  = "; " // before one of several reasons
)

// WithIsolation is the reason of a change that sets CPUs apart among other things,
// so that Include knows of it.
func WithIsolation(reason string, cpus cpuset.Set) string {
	return reason + reasonsEnd + isolateWord + cpus.String()
}

// parseReason reads the reason of an entry: what it set apart, or took in.
func parseReason(text string) (isolated, included cpuset.Set, ok bool) {
	if i := strings.LastIndex(text, reasonsEnd); i >= 0 {
		text = text[i+len(reasonsEnd):]
	}
	into, rest := &isolated, ""
	if rest, ok = strings.CutPrefix(text, isolateWord); !ok {
		into = &included
		if rest, ok = strings.CutPrefix(text, includeWord); !ok {
			return isolated, included, false
		}
	}
	set, err := cpuset.Parse(rest)
	*into = set
	return isolated, included, err == nil && !set.Empty()
}
