package cli

import (
	"io"

	"piton/internal/field"
)

// Version of the JSON lines: it changes when a name or a meaning does, not when
// a name is added.
const Version = 1

// line builds one JSON object on a line of its own, names in the order in which
// they were added. Its memory is used again for the next one.
type line struct{ b []byte }

// start begins an object of the type.
func (l *line) start(kind string) *line {
	l.b = append(l.b[:0], `{"type":`...)
	l.b = field.AppendJSON(l.b, kind)
	return l
}

// add adds a value: string, bool, int, int64, uint64 or float64, or nil for null.
func (l *line) add(name string, value any) *line {
	l.b = append(l.b, ',')
	l.b = field.AppendJSON(l.b, name)
	l.b = append(l.b, ':')
	l.b = field.AppendJSON(l.b, value)
	return l
}

// addList adds a list of texts.
func (l *line) addList(name string, values []string) *line {
	return l.addEach(name, "[]", len(values), func(i int) { l.b = field.AppendJSON(l.b, values[i]) })
}

// addInts adds a list of numbers.
func (l *line) addInts(name string, values []int) *line {
	return l.addEach(name, "[]", len(values), func(i int) { l.b = field.AppendJSON(l.b, values[i]) })
}

// addCounts adds an object of numbers, names in the order given.
func (l *line) addCounts(name string, names []string, values []uint64) *line {
	return l.addEach(name, "{}", len(names), func(i int) {
		l.b = append(field.AppendJSON(l.b, names[i]), ':')
		l.b = field.AppendJSON(l.b, values[i])
	})
}

// addEach adds n things between brackets.
func (l *line) addEach(name, brackets string, n int, thing func(i int)) *line {
	l.b = append(l.b, ',')
	l.b = field.AppendJSON(l.b, name)
	l.b = append(l.b, ':', brackets[0])
	for i := range n {
		if i > 0 {
			l.b = append(l.b, ',')
		}
		thing(i)
	}
	l.b = append(l.b, brackets[1])
	return l
}

// write ends the object and writes the line.
func (l *line) write(w io.Writer) error {
	l.b = append(l.b, '}', '\n')
	_, err := w.Write(l.b)
	return err
}
