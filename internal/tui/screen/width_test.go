package screen

import (
	"testing"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/assert"
)

func TestDrawnCharactersHaveOneWidth(t *testing.T) {
	for _, of := range drawn.R16 {
		for r := rune(of.Lo); r <= rune(of.Hi); r++ {
			assert.Equal(t, 1, ansi.WcWidth.StringWidth(string(r)), "U+%04X", r)
			assert.Equal(t, 1, ansi.GraphemeWidth.StringWidth(string(r)), "U+%04X", r)
		}
	}
}

// TestOtherCharactersAreAddedUp is that lines with names of others are measured as before: by
// their characters, and so for good.
func TestOtherCharactersAreAddedUp(t *testing.T) {
	for line, want := range map[string]ansi.Method{
		"\x1b[1m… ▁▂ é\x1b[m": ansi.GraphemeWidth, "日本": ansi.WcWidth, "e\u0301": ansi.WcWidth, "👨‍👩‍👧": ansi.WcWidth, "a\u00adb": ansi.WcWidth,
	} {
		term := &terminal{method: ansi.GraphemeWidth, cells: uv.NewTerminalRenderer(nil, nil)}
		term.buffer, term.next = uv.NewScreenBuffer(9, 1), uv.NewScreenBuffer(9, 1)
		term.setMethod()
		term.measure(line)
		term.measure("plain")
		assert.Equal(t, want, term.next.Method, line)
		assert.Equal(t, want, term.buffer.Method, line)
	}
}
