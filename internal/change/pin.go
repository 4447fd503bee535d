package change

import (
	"fmt"

	"piton/internal/change/attr"
	"piton/internal/change/history"
)

// Setters are those of the journal; none without one, or if it cannot be read.
func (t *Tuner) Setters() map[attr.Key]history.Setter {
	if t.o.Journal == nil {
		return nil
	}
	entries, _, _ := t.o.Journal.Entries() // piton journal says what is wrong
	return history.Setters(entries)
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
			words = fmt.Sprintf("to %s %s (entry %d): %s", attr.CPUs(last.Value).InWords(), history.NoLongerInForce, last.Entry, attr.LapsedWhy(gone))
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
