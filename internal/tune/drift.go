package tune

import (
	"fmt"
	"slices"

	"piton/internal/cpuset"
	"piton/internal/irq"
)

// drifted says why an entry cannot be taken back for this task without force:
// a later entry, which stays, builds upon it, or somebody else has set the value since.
func (u *undoer) drifted(g goal, now string) string {
	asLeft := g.Attribute.alike(now, g.Change.After)
	for _, e := range slices.Backward(u.entries) {
		if e.ID <= g.oldest || e.Undone || len(e.Undoes) > 0 || slices.Contains(u.plan.Undoes, e.ID) {
			continue
		}
		for _, c := range e.Changes {
			if c.key() == g.key() && c.took() && !(asLeft && u.tried(e.ID)) {
				return fmt.Sprintf("entry %d has changed it from %s to %s since; undo that one first, or force this", e.ID, c.Before, c.After)
			}
		}
	}
	if !asLeft && !followsIRQ(g.Comm, g.Attribute, g.Change.After, now) && !u.cutTo(g.Change, g.Change.After, now) {
		return fmt.Sprintf("somebody else has changed it since: piton left %s and it is %s now; left alone unless forced",
			g.Change.After, now)
	}
	return ""
}

// tried reports whether there was an undo of an entry. Where it left something
// alone, the entry does not count as undone, but the rest of it is not in force.
func (u *undoer) tried(id uint64) bool {
	return slices.ContainsFunc(u.entries, func(e Entry) bool { return slices.Contains(e.Undoes, id) })
}

// veiled reports whether the value cannot be compared now, because it reads
// otherwise under a policy that the undo takes back before it: real-time tasks have
// no slice, and other clamps by default.
func (u *undoer) veiled(c Change) bool {
	if c.Attribute != Clamp && (c.Attribute != Slice || c.Before != sliceNone) {
		return false
	}
	return slices.ContainsFunc(u.plan.Changes, func(p Change) bool {
		return p.Attribute == Policy && p.Status == Planned && p.TID == c.TID && p.StartTicks == c.StartTicks
	})
}

// alive says, with an error that Is ErrGone, that what the change is about is not
// there any more.
func (t *Tuner) alive(c Change) error {
	if c.file() {
		return t.same(c)
	}
	k, err := t.look(c.PID, c.TID)
	if err == nil && (k.startTicks != c.StartTicks || ended(k.state)) {
		err = fmt.Errorf("%d: %w", c.TID, ErrGone)
	}
	return err
}

// followsIRQ recognises a handler's thread that the kernel has put on the CPU to
// which its line really goes, one of those that the thread had (kernel/irq/manage.c,
// irq_thread_check_affinity): that is nobody's change. The kernel does it with the
// next interrupt, so it may come at any time.
func followsIRQ(comm string, a Attribute, had, now string) bool {
	if _, handler := irq.ThreadLine(comm); !handler || a != Affinity {
		return false
	}
	mask, _ := cpuset.Parse(had)
	got, err := cpuset.Parse(now)
	return err == nil && !got.Empty() && got.SubsetOf(mask)
}
