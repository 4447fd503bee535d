package simulate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/change/journal"
)

// changed is something that is other than before the actor wrote it, by its doing. What somebody
// else has set since it began may have been another value than it found.
func (a *actor) changed() *cell {
	var found *cell
	a.cells(func(c *cell) {
		last, ok := c.lastBy(a)
		if !ok || c.foreign > 0 && c.foreign >= a.carried || a.tries && c.task != nil && c.task.born >= a.planned { // it was born with what was being tried
			return
		}
		first := slices.IndexFunc(c.writes, func(w write) bool { return w.by == a })
		if same(c.writes[first].old, c.writes[first].new) && a.overtaken(c) {
			return // set by another between its look and its write to what it wrote: nothing tells
		}
		if !same(c.writes[first].old, last.new) {
			found = c
		}
	})
	return found
}

// judge checks what piton says of a plan that it has carried out.
func (a *actor) judge(o change.Outcome, err error) {
	verdict := o.Verdict()
	a.log("says %v: %v, %d changes, entry %d, undone %v", verdict, err, len(o.Changes), o.Entry, o.Undone)
	for _, c := range o.Changes {
		a.log("  %s %s %s -> %s: %s %s", c.Object.Object(), c.Attribute, attr.Text(c.Before), attr.Text(c.After), c.Status, c.Why())
	}
	if errors.Is(err, context.Canceled) {
		return // its exit code says no more than that
	}
	if err != nil && !o.Changed() || err == nil && (verdict == change.Failed || verdict == change.NotPermitted) {
		c := a.changed()
		restored := c != nil && errors.Is(err, change.ErrUndone) && same(c.value, c.base) // with an older entry, which had found it
		if c != nil && !restored && !a.disk.lostEntryOf(a) {                              // else another entry may have its number, and be undone
			a.violate("%s says that nothing was changed (verdict %d, %v), and %s was", a.name, verdict, err, c)
		}
	}
	if a.undoes && journal.Unwritable(err) && !errors.Is(err, syscall.EIO) { // it may be that it cannot be read
		a.violate("a full disk keeps piton from undoing: %v", err)
	}
}

// fulfilled checks that all that was asked for is so, if piton says so.
func (a *actor) fulfilled(o change.Outcome) {
	if o.Verdict() != change.AllDone {
		return
	}
	a.cells(func(c *cell) {
		if (c.attribute == attr.Policy || c.attribute == attr.Nice) && c.task.born > a.carried && (slices.ContainsFunc(a.wishes, wish.resets) ||
			c.creator() != nil && attr.PolicyOf(c.task.creator.cell(attr.Policy).value).ResetOnFork) {
			return // it was born ordinary, as was asked for, by piton or by somebody else
		}
		if from := c.creator(); from != nil && a.wants(from, c.value) {
			return // it was born when all was done, of a task for which something else was asked
		}
		for _, w := range a.wishes {
			if w.meant == nil && w.file == nil {
				continue // whoever had the number at the time
			}
			if !w.covers(a.piton, c) || a.wants(c, c.value) || a.overtaken(c) || c.task != nil && !c.task.below(w.meant) || c.group != nil && !a.stayed(w, c.group) {
				continue
			}
			a.violate("%s says that all was done, and %s is %s", a.name, c, c.value)
		}
	})
}

// stayed reports whether a process that the wish means was in the group when that was planned, and still is.
func (a *actor) stayed(w wish, g *group) bool {
	return w.file != nil && g.born <= a.carried || slices.ContainsFunc(a.all, func(t *task) bool {
		return t == t.leader && t.living() && t.born <= a.began && len(t.groups) == 1 && t.groups[0] == g && w.coversTask(a.piton, t) && t.below(w.meant)
	})
}

// overtaken reports whether somebody else has set the value, or that of a thread from
// which it may have been inherited, since the actor began to set it.
func (a *actor) overtaken(c *cell) bool {
	for ; c != nil; c = c.creator() {
		for _, w := range c.writes {
			if w.by != a && w.step >= a.carried {
				return true
			}
		}
	}
	return false
}

// origin is what entries of the actor are to say of it.
func (a *actor) origin() journal.Origin {
	switch {
	case a.guard != nil:
		return journal.Origin{Kind: journal.ByGuard}
	case a.undoes:
		return journal.Origin{Kind: journal.ByUndo}
	case a.tries:
		return journal.Origin{Kind: journal.ByTrial}
	case !a.isolates.Empty():
		return journal.Origin{Kind: journal.ByIsolate, CPUs: a.isolates}
	case a.fate.standing:
		return journal.Origin{Kind: journal.ByRule}
	}
	return journal.Origin{Kind: journal.ByUser}
}

// told checks that what an entry says was done was.
func (d *disk) told(e journal.Entry) {
	if e.PastBoot || d.hurt[e.ID] || len(d.author[e.ID]) == 0 {
		return
	}
	by := d.author[e.ID][len(d.author[e.ID])-1]
	if is := by.origin(); e.Origin.Kind != is.Kind || !e.Origin.CPUs.Equal(is.CPUs) {
		d.w.violate("entry %d of journal %s says that it is by %+v, and it is by %+v", e.ID, d.name, e.Origin, is)
	}
	for _, c := range e.Changes {
		if c.Status != attr.Done {
			continue
		}
		found := false
		meant := d.w.some(func(t *task) bool { return t.start+by.shift == c.StartTicks && view{by}.number(t) == c.TID })
		d.w.each(func(x *cell) {
			// A later thread of the process with the number is as good as the one that was meant.
			if x.attribute != c.Attribute || x.path != c.Path || x.group != nil && c.Comm != fmt.Sprint("cgroup ", x.group.inode) || x.task != nil && (meant == nil || x.task.tid != meant.tid || x.task.leader != meant.leader) {
				return
			}
			// What it reads back may be from somebody else, and newborns have what they inherited.
			wrote := slices.ContainsFunc(x.writes, func(w write) bool { return w.by == by })
			others := x.group != nil && x.foreign > by.began // a group that has the value already is not written to
			found = found || (wrote || others || x.creator() != nil) && x.hadValue(c.After)
		})
		if !found {
			d.w.violate("entry %d of journal %s says %s of %s was set to %s, and it was not", e.ID, d.name, c.Attribute, c.Object.Object(), c.After)
		}
	}
}
