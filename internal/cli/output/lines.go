package output

import (
	"fmt"
	"io"
	"strings"
	"time"

	"piton/internal/field"
)

// Version of the JSON lines: it changes when a name or a meaning does, not when
// a name is added.
const Version = 1

// Line builds one JSON object on a line of its own, names in the order in which
// they were added. Its memory is used again for the next one.
type Line struct{ b []byte }

// Start begins an object of the type.
func (l *Line) Start(kind string) *Line {
	l.b = append(l.b[:0], `{"type":`...)
	l.b = field.AppendJSON(l.b, kind)
	return l.Add("v", Version)
}

// Add adds a value: string, bool, int, int64, uint64 or float64, a list of them, or
// nil for null.
func (l *Line) Add(name string, value any) *Line {
	l.b = append(field.AppendJSON(append(l.b, ','), name), ':')
	l.b = field.AppendJSON(l.b, value)
	return l
}

// Known adds a value, or null where it is not known or does not apply.
func (l *Line) Known(name string, value any, known bool) *Line {
	if !known {
		value = nil
	}
	return l.Add(name, value)
}

// Text adds a text, null for "".
func (l *Line) Text(name, text string) *Line { return l.Known(name, text, text != "") }

// Number adds a number, null for a negative one, which stands for none.
func (l *Line) Number(name string, n int) *Line { return l.Known(name, n, n >= 0) }

// AddObject adds an object of n members, in their order.
func (l *Line) AddObject(name string, n int, member func(i int) (name string, value any)) *Line {
	l.b = append(field.AppendJSON(append(l.b, ','), name), ':', '{')
	for i := range n {
		if i > 0 {
			l.b = append(l.b, ',')
		}
		name, value := member(i)
		l.b = append(field.AppendJSON(l.b, name), ':')
		l.b = field.AppendJSON(l.b, value)
	}
	l.b = append(l.b, '}')
	return l
}

// End ends the object with its line.
func (l *Line) End() []byte {
	l.b = append(l.b, '}', '\n')
	return l.b
}

// Write ends the object and writes the line. The writer keeps its error, as app.App and
// bufio.Writer do.
func (l *Line) Write(w io.Writer) { _, _ = w.Write(l.End()) }

// List is a list as add takes it.
func List[T any](values []T) []any {
	out := make([]any, len(values))
	for i, v := range values {
		out[i] = v
	}
	return out
}

// Stamp is a time as JSON lines have it (RFC 3339, UTC).
func Stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// WriteJSON prints what json.Marshal returned as one line.
func WriteJSON(w io.Writer, b []byte, err error) error {
	if err != nil {
		return fmt.Errorf("print a line of JSON: %w", err)
	}
	_, err = w.Write(append(escapeControls(b), '\n'))
	return err
}

// escapeControls escapes DEL and the C1 control characters in JSON text, which
// encoding/json leaves as they are and some terminals obey.
func escapeControls(b []byte) []byte {
	if !strings.ContainsFunc(string(b), isHidden) {
		return b
	}
	var out []byte
	for _, r := range string(b) {
		if isHidden(r) {
			out = fmt.Appendf(out, `\u%04x`, r)
			continue
		}
		out = append(out, string(r)...)
	}
	return out
}

func isHidden(r rune) bool { return r >= 0x7f && r < 0xa0 }
