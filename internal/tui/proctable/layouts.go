package proctable

import (
	"fmt"
	"slices"
)

// Layouts are the layouts of a session, and those of them that settings keep. What a
// session changes of the order, the arrangement and the filter stays until its end; only
// columns and what is saved by name outlive it.
type Layouts struct {
	all []Layout // main, the other built-in ones, the user's own
	own []Layout // as settings have them; without main
	at  int      // in all, of the present one
}

// NewLayouts joins main with the layouts of the settings; those replace built-in ones of
// their names.
func NewLayouts(main Layout, own []Layout) *Layouts {
	l := &Layouts{all: BuiltIn(), own: slices.Clone(own)}
	main.Name = Main
	l.all[0] = main
	for _, o := range own {
		l.all = put(l.all, o)
	}
	return l
}

func put(list []Layout, l Layout) []Layout {
	if i := index(list, l.Name); i >= 0 {
		list[i] = l
		return list
	}
	return append(list, l)
}

func index(list []Layout, name string) int {
	return slices.IndexFunc(list, func(l Layout) bool { return l.Name == name })
}

// All are the layouts in their order; at is the index of the present one.
func (l *Layouts) All() (all []Layout, at int) { return l.all, l.at }

// Own are the layouts that settings keep beside main.
func (l *Layouts) Own() []Layout { return slices.Clone(l.own) }

// Fixed says why the present layout cannot be renamed or deleted; "" when it can.
func (l *Layouts) Fixed() (rename, remove string) {
	name := l.Present().Name
	if index(BuiltIn(), name) >= 0 {
		rename = name + " is built in: save it under another name"
	}
	if index(l.own, name) < 0 {
		remove = name + " is built in"
	}
	return rename, remove
}

// Present is the layout that is shown, with the columns it has now.
func (l *Layouts) Present() *Layout { return &l.all[l.at] }

// Main is the layout of the start, where v is what the present one shows.
func (l *Layouts) Main(v View) Layout {
	if l.at == 0 {
		return l.all[0].Note(v)
	}
	return l.all[0]
}

// Choose goes to another layout; was is the view that is left, which coming back to the
// present one shows again. It is nil when there is none of that name.
func (l *Layouts) Choose(name string, was View) *Layout {
	i := index(l.all, name)
	if i < 0 {
		return nil
	}
	l.all[l.at] = l.Present().Note(was)
	l.at = i
	return l.Present()
}

// Next is the name of the layout after the present one.
func (l *Layouts) Next() string { return l.all[(l.at+1)%len(l.all)].Name }

// SetColumns changes the columns of the present layout for good.
func (l *Layouts) SetColumns(columns []string) {
	l.Present().Columns = columns
	if l.at == 0 {
		return
	}
	saved := BuiltIn()
	for _, o := range l.own {
		saved = put(saved, o)
	}
	changed := saved[index(saved, l.Present().Name)]
	changed.Columns = columns
	l.own = put(l.own, changed)
}

// Save keeps what a view shows under a name, and goes to that layout.
func (l *Layouts) Save(name string, v View) error {
	if err := CheckName(name); err != nil {
		return err
	}
	now := l.Present().Note(v)
	now.Name, now.Columns = name, slices.Clone(now.Columns)
	l.own, l.all = put(l.own, now), put(l.all, now)
	l.at = index(l.all, name)
	return nil
}

// Rename gives the present layout, which is the user's own, another name.
func (l *Layouts) Rename(name string) error {
	now := l.Present()
	switch err := CheckName(name); {
	case err != nil:
		return err
	case index(l.all, name) >= 0 && name != now.Name:
		return fmt.Errorf("there is a layout %s already", name)
	}
	l.own[index(l.own, now.Name)].Name = name
	now.Name = name
	return nil
}

// Delete removes the present layout, which is the user's own, and goes to main; a
// built-in one of its name is there again as it was.
func (l *Layouts) Delete() *Layout {
	name := l.Present().Name
	l.own = slices.Delete(l.own, index(l.own, name), index(l.own, name)+1)
	if built := index(BuiltIn(), name); built >= 0 {
		l.all[l.at] = BuiltIn()[built]
	} else {
		l.all = slices.Delete(l.all, l.at, l.at+1)
	}
	l.at = 0
	return l.Present()
}
