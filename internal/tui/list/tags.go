package list

func (l *List[K, R]) tagOf(r R) (K, bool) {
	if l.TagOf != nil {
		return l.TagOf(r)
	}
	return l.key(r), true
}

// ToggleTag tags the row under the cursor or takes its tag away, and goes on to the
// next row with a tag of its own.
func (l *List[K, R]) ToggleTag() {
	r, ok := l.Selected()
	if !ok {
		return
	}
	k, can := l.tagOf(r)
	switch {
	case can && l.tags[k]:
		delete(l.tags, k)
	case can:
		l.tags[k] = true
	}
	i := l.cursor
	for n := i + 1; n < len(l.rows) && i == l.cursor; n++ {
		if next, can := l.tagOf(l.rows[n]); can && next != k {
			i = n
		}
	}
	l.goTo(i)
}

// Tag tags the rows that are wanted, and returns how many those are.
func (l *List[K, R]) Tag(wanted func(R) bool) (n int) {
	for _, r := range l.rows {
		if k, can := l.tagOf(r); can && wanted(r) {
			l.tags[k] = true
			n++
		}
	}
	return n
}

// TagAll tags all rows, and returns how many tags there are then.
func (l *List[K, R]) TagAll() int {
	l.Tag(func(R) bool { return true })
	return len(l.tags)
}

// Untag takes all tags away.
func (l *List[K, R]) Untag() { clear(l.tags) }

// Tagged reports whether an object is tagged.
func (l *List[K, R]) Tagged(k K) bool { return l.tags[k] }

// Tags is the number of tagged objects, also of those that a filter hides.
func (l *List[K, R]) Tags() int { return len(l.tags) }

// TagsShown are the tagged rows that are on the list.
func (l *List[K, R]) TagsShown() (out []R) {
	if len(l.tags) == 0 {
		return nil
	}
	for _, r := range l.rows {
		if l.tags[l.key(r)] {
			out = append(out, r)
		}
	}
	return out
}

// Targets are the tagged rows on the list, or the one under the cursor when none of
// them is: tagged objects that a filter hides are not acted on, as in htop.
func (l *List[K, R]) Targets() []R {
	out := l.TagsShown()
	if r, ok := l.Selected(); ok && len(out) == 0 {
		out = append(out, r)
	}
	return out
}

// Count is how many rows an action would act on.
func (l *List[K, R]) Count() int {
	if len(l.tags) > 0 {
		return len(l.Targets())
	}
	return min(1, len(l.rows))
}

// KeepTags forgets the tags of objects that are not there any more; key names those n that are.
func (l *List[K, R]) KeepTags(n int, key func(i int) K) {
	if len(l.tags) == 0 {
		return
	}
	kept := map[K]bool{}
	for i := range n {
		if k := key(i); l.tags[k] {
			kept[k] = true
		}
	}
	l.tags = kept
}
