package output

import (
	"bytes"
	"fmt"
	"io"
	"unicode"
	"unicode/utf8"

	"piton/internal/field"
)

// WriteJSON prints what json.Marshal returned as one line.
func WriteJSON(w io.Writer, b []byte, err error) error {
	if err != nil {
		return fmt.Errorf("print a line of JSON: %w", err)
	}
	_, err = w.Write(append(escapeHidden(b), '\n'))
	return err
}

// escapeHidden escapes the characters in JSON text that encoding/json leaves as they are and a
// terminal does not show, or obeys.
func escapeHidden(b []byte) []byte {
	if !bytes.ContainsFunc(b, isHidden) {
		return b
	}
	var out []byte
	for _, r := range string(b) {
		if isHidden(r) {
			out = field.AppendEscape(out, r)
			continue
		}
		out = utf8.AppendRune(out, r)
	}
	return out
}

func isHidden(r rune) bool { return !unicode.IsPrint(r) }
