package taskfile

import (
	"piton/internal/change/attr"
	"piton/internal/sample"
)

// Text is a value in the notation of its attribute; a file may have a number without
// quotes.
type Text string

// UnmarshalText takes what the file has.
func (t *Text) UnmarshalText(b []byte) error { *t = Text(b); return nil }

// Setting is where a table keeps the value of an attribute, whose name is the key.
type Setting struct {
	attr.Attribute
	Text *Text
}

// Given reports whether the table has a value.
func (s Setting) Given() bool { return *s.Text != "" }

// Parse reads the settings that are given, in their order. Those that a Checker has
// checked have no error.
func Parse(set []Setting) ([]attr.Setting, error) {
	var out []attr.Setting
	for _, s := range set {
		if !s.Given() {
			continue
		}
		v, err := s.Parse(string(*s.Text))
		if err != nil {
			return nil, err
		}
		out = append(out, attr.Setting{Attribute: s.Attribute, Value: v})
	}
	return out, nil
}

// Command is a task's command line as ps prints it: a kernel thread, which has
// none, is its name in brackets.
func Command(t *sample.Task) string {
	if t.ID.Cmdline == "" {
		return "[" + t.ID.Comm + "]"
	}
	return t.ID.Cmdline
}
