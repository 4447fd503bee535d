package proctable

import (
	"piton/internal/field"
	"piton/internal/kernel"
)

// ToggleTag tags the row under the cursor or takes its tag away, and moves on.
func (t *Table) ToggleTag() {
	if len(t.rows) == 0 {
		return
	}
	if t.tags[t.key] {
		delete(t.tags, t.key)
	} else {
		t.tags[t.key] = true
	}
	if t.cursor < len(t.rows)-1 {
		t.moveTo(t.cursor + 1)
	}
	t.touched()
}

// TagTree tags the task under the cursor with all its descendants, and returns
// how many rows that are.
func (t *Table) TagTree() int {
	if len(t.rows) == 0 {
		return 0
	}
	t.touched()
	family := map[kernel.TID]bool{t.key.TID: true}
	tasks := t.m.Sample.Tasks
	// Children can have lower numbers than their parents once numbers wrapped.
	for grown := true; grown; {
		grown = false
		for i := range tasks {
			if !family[tasks[i].TID] && (family[tasks[i].PPID] || family[tasks[i].TGID]) {
				family[tasks[i].TID] = true
				grown = true
			}
		}
	}
	n := 0
	for _, r := range t.rows {
		if family[tasks[r].TID] {
			t.tags[KeyOf(tasks[r])] = true
			n++
		}
	}
	return n
}

// TagAll tags all rows, and returns how many tags there are then.
func (t *Table) TagAll() int {
	for _, r := range t.rows {
		t.tags[KeyOf(t.m.Sample.Tasks[r])] = true
	}
	return len(t.tags)
}

// Untag takes all tags away.
func (t *Table) Untag() { clear(t.tags) }

// Tagged reports whether a task is tagged.
func (t *Table) Tagged(k Key) bool { return t.tags[k] }

// Tags is the number of tagged tasks.
func (t *Table) Tags() int { return len(t.tags) }

// Targets are the tagged rows on the list, or the one under the cursor when none of
// them is: tagged tasks that a filter hides are not acted on, as in htop.
func (t *Table) Targets() []field.Row {
	var out []field.Row
	if len(t.tags) > 0 {
		for i := range t.rows {
			if r := t.Row(i); t.tags[KeyOf(r.Task())] {
				out = append(out, r)
			}
		}
	}
	if r, ok := t.Selected(); ok && len(out) == 0 {
		out = append(out, r)
	}
	return out
}

// dropGone forgets the tags of tasks that ended.
func (t *Table) dropGone() {
	if len(t.tags) == 0 {
		return
	}
	alive := make(map[Key]bool, len(t.tags))
	for i := range t.m.Sample.Tasks {
		if k := KeyOf(t.m.Sample.Tasks[i]); t.tags[k] {
			alive[k] = true
		}
	}
	t.tags = alive
}

// Watched lists the tasks whose costly figures are needed: those on the screen
// and the tagged ones.
func (t *Table) Watched() []kernel.TID {
	var out []kernel.TID
	for i := t.top; i < min(t.top+t.height, len(t.rows)); i++ {
		out = append(out, t.m.Sample.Tasks[t.rows[i]].TID)
	}
	for k := range t.tags {
		out = append(out, k.TID)
	}
	if len(t.rows) > 0 {
		out = append(out, t.key.TID)
	}
	return out
}
