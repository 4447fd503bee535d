package theme

// Style is a look that text is given. The zero Style leaves text as it is.
type Style struct{ on string }

// reset ends every style; a short sequence, and safe after any of them.
const reset = "\x1b[m"

// sgr makes a style of ECMA-48 SGR parameters, "1;31".
func sgr(params string) Style { return Style{on: "\x1b[" + params + "m"} }

// Plain reports whether the style changes nothing.
func (s Style) Plain() bool { return s.on == "" }

// Render returns the text in this style. The text must not contain styles of
// its own: they would end this one.
func (s Style) Render(text string) string {
	if s.on == "" || text == "" {
		return text
	}
	return s.on + text + reset
}

// Append adds the text in this style to dst; see Render.
func (s Style) Append(dst []byte, text string) []byte {
	if s.on == "" || text == "" {
		return append(dst, text...)
	}
	dst = append(dst, s.on...)
	dst = append(dst, text...)
	return append(dst, reset...)
}

// Open adds the sequence that starts the style; Close ends it. They serve text
// that is appended piece by piece.
func (s Style) Open(dst []byte) []byte { return append(dst, s.on...) }

// Close adds the sequence that ends the style.
func (s Style) Close(dst []byte) []byte {
	if s.on == "" {
		return dst
	}
	return append(dst, reset...)
}
