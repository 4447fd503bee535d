package output

import (
	"fmt"
	"io"
	"strings"
)

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
