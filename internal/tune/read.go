package tune

import "piton/internal/kernel"

// Value reads one attribute of a thread, in the notation of plans and the journal.
func (t *Tuner) Value(a Attribute, tid kernel.TID) (string, error) {
	return t.read(Change{Attribute: a, PID: tid, TID: tid})
}
