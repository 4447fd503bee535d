package dialog

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"piton/internal/tui/rows"
)

// Kind is how a Field is answered.
type Kind uint8

// The kinds.
const (
	Word   Kind = iota // one of some words; left and right go through them
	Text               // typed
	Number             // typed; left and right count
	Tick               // a box
	One                // one of several rows, which the cursor chooses
)

// Field is one row of a Form.
type Field struct {
	Kind  Kind
	Group string // of boxes: drawn before the first one
	Label string // before the value, behind a box
	Value string
	Empty string // drawn where nothing was typed
	Help  string
	Key   string   // goes to it, ticks or chooses it, while no text is typed
	Keys  []string // names and meanings of keys that Form.Other handles here
	Words []string // of a Word
	Room  int      // cells for the value; 0: as many as the other fields have
	On    bool     // ticked or chosen

	Least, Most int // of a Number

	// Off is why the field has no value, while Has returns false; nil: it always has.
	Off string
	Has func() bool
	// Set takes the value, of a box only while it is on. Its error is shown below the field.
	Set func(value string) error

	before, room int // cells before the value, and of it
}

func (fd *Field) boxed() bool { return fd.Kind == Tick || fd.Kind == One }
func (fd *Field) off() bool   { return fd.Has != nil && !fd.Has() }
func (fd *Field) typed() bool { return (fd.Kind == Text || fd.Kind == Number) && !fd.off() }

func (fd *Field) take() error {
	value := strings.TrimSpace(fd.Value)
	if n, err := strconv.Atoi(value); fd.Kind == Number && (err != nil || n < fd.Least || n > fd.Most) {
		return fmt.Errorf("%s must be a number from %d to %d, not %q", fd.Label, fd.Least, fd.Most, value)
	}
	if fd.Set == nil || fd.boxed() && !fd.On {
		return nil
	}
	return fd.Set(value)
}

// Step goes to the next word or number, or the one before.
func (fd *Field) Step(by int) {
	if n := len(fd.Words); n > 0 {
		fd.Value = fd.Words[(slices.Index(fd.Words, fd.Value)+by+n)%n]
	} else if n, err := strconv.Atoi(fd.Value); fd.Kind == Number && !fd.off() && err == nil {
		fd.Value = strconv.Itoa(max(fd.Least, min(n+by, fd.Most)))
	}
}

// Form asks for several values at once. Its own value is the one that Answer returns.
type Form struct {
	Titled
	Fields []Field
	Enter  string // what that key does, in a word
	Opener string // the key that opened the form, which closes it, too; may be empty
	// Answer makes the value from those of the fields, or says what is wrong with them.
	Answer func() (any, error)
	// About is what comes of the answer, once that is right; may be nil.
	About func() []Line
	// Other handles a key where no text is typed, and reports whether it did; may be nil.
	Other func(key string) bool

	list          rows.Scroll // of fields
	lines         rows.Scroll // of what is drawn
	input         Input       // of the field of
	of            *Field
	refused       bool // Enter was pressed on what is wrong
	cursor        *tea.Cursor
	width, height int // that the form has taken
}

// At is the field under the cursor.
func (f *Form) At() *Field { return &f.Fields[f.list.Cursor] }

// Chosen is the field of kind One that is chosen.
func (f *Form) Chosen() int {
	return slices.IndexFunc(f.Fields, func(fd Field) bool { return fd.Kind == One && fd.On })
}

// GoTo puts the cursor on a field, and chooses it if it is of kind One.
func (f *Form) GoTo(i int) {
	if f.Fields[i].Kind == One {
		if was := f.Chosen(); was >= 0 {
			f.Fields[was].On = false
		}
		f.Fields[i].On = true
	}
	f.list.Cursor = i
}

func (f *Form) text() *Input {
	if at := f.At(); f.of != at || f.input.Value() != at.Value {
		f.of, f.input = at, NewInput(at.Value)
	}
	return &f.input
}

// Read sets the values, and returns the answer. If a field refuses its value, that is field
// bad, else bad is -1.
func (f *Form) Read() (answer any, bad int, err error) {
	for i := range f.Fields {
		if fd := &f.Fields[i]; !fd.off() {
			if err := fd.take(); err != nil {
				return nil, i, err
			}
		}
	}
	answer, err = f.Answer()
	return answer, -1, err
}

// Update moves, types, ticks; Enter answers.
func (f *Form) Update(msg tea.Msg) Outcome {
	k, ok := msg.(tea.KeyPressMsg)
	f.refused = f.refused && !ok
	switch key := k.String(); {
	case f.At().typed() && (!ok || f.types(k)):
		text := f.text()
		text.Update(msg)
		f.At().Value = text.Value()
	case !ok, key == "": // a key without a name
	case key == "esc" || key == "ctrl+c" || key == "ctrl+g" || key == f.Opener:
		return canceled
	case key == "enter":
		answer, bad, err := f.Read()
		if err == nil {
			return answered(answer)
		}
		if f.refused = true; bad >= 0 {
			f.GoTo(bad)
		}
	case !f.change(key):
		f.move(k)
	}
	return Outcome{}
}

func (f *Form) types(k tea.KeyPressMsg) bool {
	switch key := k.String(); key {
	case "up", "down", "pgup", "pgdown", "tab", "shift+tab", "enter", "esc", "ctrl+c", "ctrl+g":
		return false
	case "left", "right":
		return f.At().Kind == Text
	default:
		return f.At().Kind == Text || k.Text == "" || strings.Contains("0123456789", key)
	}
}

// change handles the keys that change a value or go to their field.
func (f *Form) change(key string) bool {
	at, its := f.At(), slices.IndexFunc(f.Fields, func(fd Field) bool { return fd.Key == key })
	switch {
	case f.Other != nil && f.Other(key):
	case its >= 0 && f.Fields[its].Kind == Tick:
		f.Fields[its].On = !f.Fields[its].On
	case its >= 0:
		f.GoTo(its)
	case at.Kind == Tick && (key == "space" || key == "x"):
		at.On = !at.On
	case key == "right" || key == "+" || key == "space" && at.Kind == Word:
		at.Step(1)
	case key == "left" || key == "-":
		at.Step(-1)
	default:
		return false
	}
	return true
}

// Swap exchanges the field under the cursor with one beside it of the same group.
func (f *Form) Swap(by int) {
	i := f.list.Cursor
	if j := i + by; j >= 0 && j < len(f.Fields) && f.Fields[j].Group == f.Fields[i].Group {
		f.Fields[i], f.Fields[j] = f.Fields[j], f.Fields[i]
		f.list.Cursor = j
	}
}

// move puts the cursor on another field. Tab passes over the rows of a choice, and from
// elsewhere the cursor comes to the one that is chosen.
func (f *Form) move(k tea.KeyPressMsg) {
	from, n := f.At().Kind, len(f.Fields)
	if by := map[string]int{"tab": 1, "shift+tab": n - 1}[k.String()]; by == 0 {
		f.list.Key(k, n, true)
	} else {
		for f.list.Cursor = (f.list.Cursor + by) % n; from == One && f.At().Kind == One; {
			f.list.Cursor = (f.list.Cursor + by) % n
		}
	}
	if from != One && f.At().Kind == One {
		f.list.Cursor = f.Chosen()
	}
	f.GoTo(f.list.Cursor)
}

// Cursor is in the text under the cursor.
func (f *Form) Cursor() *tea.Cursor { return f.cursor }
