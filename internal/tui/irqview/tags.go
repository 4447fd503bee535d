package irqview

import "piton/internal/irq"

// tag tags the line under the cursor or takes its tag away, and moves on. Lines
// without a number cannot be sent anywhere, and have no tag.
func (v *View) tag() {
	e := v.selected()
	if e == nil {
		return
	}
	if e.row != nil {
		if n := e.row.Number; v.tags[n] {
			delete(v.tags, n)
		} else {
			v.tags[n] = true
		}
	}
	v.list.Cursor++
	v.list.Clamp(len(v.entries))
	v.note()
}

// tagAll tags all lines that are shown and have a number.
func (v *View) tagAll() {
	for i := range v.entries {
		if r := v.entries[i].row; r != nil {
			v.tags[r.Number] = true
		}
	}
}

// Tags is how many lines are tagged.
func (v *View) Tags() int { return len(v.tags) }

// Untag takes all tags away.
func (v *View) Untag() { clear(v.tags) }

// Tagged reports whether the line under the cursor is tagged.
func (v *View) Tagged() bool {
	e := v.selected()
	return e != nil && e.row != nil && v.tags[e.row.Number]
}

// Selected is the line under the cursor; nil where that has no number.
func (v *View) Selected() *irq.Row {
	e := v.selected()
	if e == nil || e.row == nil {
		return nil
	}
	row := *e.row
	return &row
}

// Targets are the tagged lines that are shown, or the one under the cursor when
// none of them is. They are copies: what is read later does not change them.
func (v *View) Targets() []*irq.Row {
	out := v.TagsShown()
	if row := v.Selected(); len(out) == 0 && row != nil {
		out = append(out, row)
	}
	return out
}

// TagsShown are the tagged lines that are on the list.
func (v *View) TagsShown() []*irq.Row {
	return v.lines(func(r *irq.Row) bool { return v.tags[r.Number] })
}

// Shown are all lines that have a number and are on the list.
func (v *View) Shown() []*irq.Row { return v.lines(func(*irq.Row) bool { return true }) }

func (v *View) lines(wanted func(*irq.Row) bool) []*irq.Row {
	var out []*irq.Row
	for i := range v.entries {
		if r := v.entries[i].row; r != nil && wanted(r) {
			row := *r
			out = append(out, &row)
		}
	}
	return out
}

// Default is where lines go that are set up from now on.
func (v *View) Default() irq.Mask { return v.table.Default }

// dropGone forgets the tags of lines that are no longer there.
func (v *View) dropGone() {
	if len(v.tags) == 0 {
		return
	}
	there := map[int]bool{}
	for i := range v.table.Rows {
		if n := v.table.Rows[i].Number; v.tags[n] {
			there[n] = true
		}
	}
	v.tags = there
}
