package picture

import (
	"encoding/xml"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSVG(t *testing.T) {
	svg := SVG("\x1b[1;31mred & <bold>\x1b[m ▄█▌\nplain\nbelow the screen", 20, 2)
	dec := xml.NewDecoder(strings.NewReader(string(svg)))
	texts, rects := []string{}, 0
	for {
		tok, err := dec.Token()
		if err == io.EOF {
			break
		}
		require.NoError(t, err, "the picture is well-formed XML")
		switch tok := tok.(type) {
		case xml.StartElement:
			if tok.Name.Local == "rect" {
				rects++
			}
		case xml.CharData:
			if s := strings.TrimSpace(string(tok)); s != "" {
				texts = append(texts, s)
			}
		}
	}
	assert.Equal(t, []string{"red & <bold>", "plain"}, texts)
	assert.Equal(t, 1+3, rects, "the page and three blocks")
	assert.Contains(t, string(svg), palette[1])
	assert.Contains(t, string(svg), "bold")
}

func TestBlock(t *testing.T) {
	for r, want := range map[rune][2]float64{'▁': {1, 0.125}, '▄': {1, 0.5}, '█': {1, 1}, '▌': {0.5, 1}, '▏': {0.125, 1}} {
		w, h, ok := block(r)
		assert.True(t, ok)
		assert.Equal(t, want, [2]float64{w, h}, string(r))
	}
	_, _, ok := block('x')
	assert.False(t, ok)
}
