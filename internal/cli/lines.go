package cli

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

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

// add adds a value: string, bool, int, int64, uint64 or float64, a list of them, or
// nil for null.
func (l *line) add(name string, value any) *line {
	l.b = append(field.AppendJSON(append(l.b, ','), name), ':')
	l.b = field.AppendJSON(l.b, value)
	return l
}

// addObject adds an object of n members, in their order.
func (l *line) addObject(name string, n int, member func(i int) (name string, value any)) *line {
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

// end ends the object with its line.
func (l *line) end() []byte {
	l.b = append(l.b, '}', '\n')
	return l.b
}

// write ends the object and writes the line. The writer keeps its error, as app and
// bufio.Writer do.
func (l *line) write(w io.Writer) { _, _ = w.Write(l.end()) }

// list is a list as add takes it.
func list[T any](values []T) []any {
	out := make([]any, len(values))
	for i, v := range values {
		out[i] = v
	}
	return out
}

// orNull is a value, or null where it is not known or does not apply.
func orNull(value any, known bool) any {
	if !known {
		return nil
	}
	return value
}

func numberOrNull(n int) any  { return orNull(n, n >= 0) }
func textOrNull(s string) any { return orNull(s, s != "") }

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

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

// dash stands for a value that is not there.
func dash(s string) string { return cmp.Or(s, "-") }

// orDash is a number, or a dash for one that is not known.
func orDash(n int) string {
	if n < 0 {
		return "-"
	}
	return strconv.Itoa(n)
}
