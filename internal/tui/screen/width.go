package screen

import (
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"
)

// drawn are the characters that piton's own texts have: one cell each, however a terminal measures.
var drawn = &unicode.RangeTable{R16: []unicode.Range16{
	{Lo: 0x20, Hi: 0x7e, Stride: 1}, {Lo: 0xa0, Hi: 0xac, Stride: 1}, {Lo: 0xae, Hi: 0x2ff, Stride: 1},
	{Lo: 0x2010, Hi: 0x2027, Stride: 1}, {Lo: 0x2190, Hi: 0x22ff, Stride: 1}, {Lo: 0x2500, Hi: 0x25fc, Stride: 1},
	{Lo: 0x25ff, Hi: 0x25ff, Stride: 1}, {Lo: 0x2713, Hi: 0x2713, Stride: 1}, {Lo: 0x2800, Hi: 0x28ff, Stride: 1},
}}

// measure makes the cells be measured as a terminal does that adds up characters, once a line has
// some of others, such as names of processes in another script. go-runewidth then builds a table of
// 2.2 MB, which stays; before, both ways agree and the one without it is used.
func (t *terminal) measure(line string) {
	if t.method == ansi.GraphemeWidth && strings.ContainsFunc(line, func(r rune) bool { return r > unicode.MaxASCII && !unicode.Is(drawn, r) }) {
		t.method = ansi.WcWidth
		t.setMethod()
	}
}

func (t *terminal) setMethod() {
	t.buffer.Method, t.next.Method = t.method, t.method
	t.cells.SetWidthMethod(t.method)
}
