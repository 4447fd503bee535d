package field

import (
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// AppendClean adds text from outside (a comm, a command line, a file name) in a
// form that is harmless on a terminal: valid UTF-8 whose characters each take
// one or two cells of their own, a letter with up to three combining marks those of
// the letter. Control bytes, invalid UTF-8 and everything
// else that joins, turns around or hides its neighbours becomes "?"; with ascii so
// does everything that is not ASCII.
func AppendClean(dst []byte, s string, ascii bool) []byte {
	start := 0 // of the run of plain bytes not yet copied
	var base rune
	marks := 0 // on it
	for i := 0; i < len(s); {
		if c := s[i]; c >= ' ' && c < 0x7f {
			i++
			continue
		}
		if dst = append(dst, s[start:i]...); start < i {
			base, marks = rune(s[i-1]), 0
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case !ascii && marks < mostMarks && combines(base, r):
			marks++
			dst = append(dst, s[i:i+size]...)
			i += size
			start = i
			continue
		case r == '\t' || r == '\n':
			dst = append(dst, ' ')
		case ascii || !standsAlone(r, size):
			dst = append(dst, '?')
		default:
			dst = append(dst, s[i:i+size]...)
		}
		base, marks = r, 0
		i += size
		start = i
	}
	return append(dst, s[start:]...)
}

// Clean is AppendClean for a string.
func Clean(s string) string { return string(AppendClean(nil, s, false)) }

// mostMarks is how many combining marks a letter keeps; more are drawn over other lines.
const mostMarks = 3

// combines reports whether a mark is drawn within the cells of the letter before it and
// leaves the letter after it alone, as the mark that joins two consonants of Devanagari does not.
func combines(base, mark rune) bool {
	if !unicode.Is(unicode.Mn, mark) || unicode.Is(unicode.Variation_Selector, mark) || mark == 0x34f || !unicode.In(base, unicode.L, unicode.N) {
		return false
	}
	w := displaywidth.Rune(base)
	return w > 0 && standsAlone(base, utf8.RuneLen(base)) && displaywidth.Rune(mark) == 0 &&
		displaywidth.String(string([]rune{base, mark})) == w && displaywidth.String(string([]rune{base, mark, base})) == 2*w
}

// standsAlone reports whether the character is drawn in cells of its own,
// whatever stands beside it.
func standsAlone(r rune, size int) bool {
	switch {
	case r == utf8.RuneError && size <= 1:
		return false
	case r >= 0x1f1e6 && r <= 0x1f1ff, r >= 0x1f3fb && r <= 0x1f3ff:
		return false // flags pair up, skin tones join what precedes
	case r >= 0x1100 && r <= 0x11ff, r >= 0xa960 && r <= 0xa97f, r >= 0xd7b0 && r <= 0xd7ff:
		return false // Hangul parts join into one syllable
	case !unicode.In(r, unicode.L, unicode.N, unicode.P, unicode.S, unicode.Zs):
		return false
	}
	w := displaywidth.Rune(r)
	return w == 1 || w == 2
}

// Width is the number of cells that clean text takes: its characters stand
// alone, so it is the sum of theirs.
func Width(clean []byte) int {
	w := 0
	for i := 0; i < len(clean); {
		if clean[i] < utf8.RuneSelf {
			w, i = w+1, i+1
			continue
		}
		r, size := utf8.DecodeRune(clean[i:])
		w, i = w+runeWidth(r), i+size
	}
	return w
}

func runeWidth(r rune) int {
	if r >= 0x2580 && r <= 0x259f { // block elements, of which MIGRATIONS is made
		return 1
	}
	return displaywidth.Rune(r)
}

// AppendCell adds the column's cell for the row in exactly width cells, cut
// with "…" when it is longer.
func AppendCell(dst []byte, c *TaskColumn, r Row, width int) []byte {
	start := len(dst)
	dst = c.Append(dst, r)
	return Pad(dst, start, width, c.Right, r.ASCII)
}

// Pad makes the clean text dst[start:] take exactly width cells: filled with
// blanks on the left (right-aligned) or on the right, or cut with an ellipsis.
func Pad(dst []byte, start, width int, right, ascii bool) []byte {
	w := Width(dst[start:])
	if w > width {
		return truncate(dst, start, width, ascii)
	}
	fill := width - w
	dst = appendBlanks(dst, fill)
	if right && fill > 0 {
		copy(dst[start+fill:], dst[start:len(dst)-fill])
		appendBlanks(dst[:start], fill)
	}
	return dst
}

func appendBlanks(dst []byte, n int) []byte {
	const blanks = "                                                                "
	for ; n > len(blanks); n -= len(blanks) {
		dst = append(dst, blanks...)
	}
	return append(dst, blanks[:n]...)
}

// truncate cuts dst[start:] to exactly width cells, the last an ellipsis.
func truncate(dst []byte, start, width int, ascii bool) []byte {
	if width <= 0 {
		return dst[:start]
	}
	end, used := start, 0
	for end < len(dst) {
		r, size := utf8.DecodeRune(dst[end:])
		w := runeWidth(r)
		if used+w > width-1 {
			break
		}
		end, used = end+size, used+w
	}
	dst = dst[:end]
	if ascii {
		dst = append(dst, '~')
	} else {
		dst = append(dst, "…"...)
	}
	for used++; used < width; used++ {
		dst = append(dst, ' ')
	}
	return dst
}
