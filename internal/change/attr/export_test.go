package attr

import "slices"

// What the tests of another package need of this one.
const (
	HowToGetRights = howToGetRights
	HowAsRoot      = howAsRoot + "SYS_NICE"
)

// Register adds an attribute of tasks to the table until undo is called.
func Register(a Attribute, parse func(string) (Value, error), read func(Object) (Value, error), write func(Write) error) (undo func()) {
	was := order
	table[a] = &spec{
		parse: parse, write: write,
		read: func(_ *Machine, o Object) (Value, error) { return read(o) },
	}
	order = append(slices.Clip(order), a)
	return func() {
		order = was
		delete(table, a)
	}
}
