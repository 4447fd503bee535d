package change

import (
	"fmt"

	"piton/internal/change/attr"
)

// Setter is the entry of the journal that gave something its value last.
type Setter struct {
	Entry  uint64
	User   string
	Reason string
	Value  attr.Value
	Undone bool // the entry was, since
}

// Setters are who set what last, as far as entries that were made here say; undos count, too.
func Setters(entries []Entry) map[attr.Key]Setter {
	out := map[attr.Key]Setter{}
	for _, e := range entries {
		if e.PastBoot || e.Foreign != "" {
			continue
		}
		for _, c := range e.Changes {
			if c.Took() {
				out[c.Key()] = Setter{e.ID, e.User, e.Reason, c.After, e.Undone}
			}
		}
	}
	return out
}

// Setters are those of the journal; none without one, or if it cannot be read.
func (t *Tuner) Setters() map[attr.Key]Setter {
	if t.o.Journal == nil {
		return nil
	}
	entries, _, _ := t.o.Journal.Entries() // piton journal says what is wrong
	return Setters(entries)
}

// LapsedPin says that pins by the journal are no longer in force, because a CPU went offline, of
// threads of one process, each with the affinity that it has now as its After; "" if none is.
func (t *Tuner) LapsedPin(threads []Change) string {
	setters, view, words, n := t.Setters(), t.NewView(), "", 0
	for _, c := range threads {
		last := setters[c.Key()]
		gone, lapsed := view.Lapsed(c, last.Value, c.After)
		if !lapsed || last.Undone {
			continue
		}
		if n++; n == 1 {
			words = fmt.Sprintf("to %s %s (entry %d): %s", attr.CPUs(last.Value).InWords(), noLongerInForce, last.Entry, attr.LapsedWhy(gone))
		}
	}
	switch n {
	case 0:
		return ""
	case 1:
		return "pin " + words
	}
	return fmt.Sprintf("pin of %d threads %s", n, words)
}
