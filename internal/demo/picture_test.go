package demo

import (
	"encoding/xml"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// elements reads a picture: its texts, and how often each element is there.
func elements(t *testing.T, svg []byte) (texts []string, count map[string]int) {
	t.Helper()
	dec := xml.NewDecoder(strings.NewReader(string(svg)))
	count = map[string]int{}
	inText := false
	for {
		tok, err := dec.Token()
		if err == io.EOF {
			return texts, count
		}
		require.NoError(t, err, "the picture is well-formed XML")
		switch tok := tok.(type) {
		case xml.StartElement:
			count[tok.Name.Local]++
			inText = tok.Name.Local == "text"
		case xml.CharData:
			if s := strings.TrimSpace(string(tok)); inText && s != "" {
				texts = append(texts, s)
			}
		}
	}
}

func TestStill(t *testing.T) {
	svg := Still("\x1b[1;31mred & <bold>\x1b[m ▄█▌  next\nplain 数据 text\nbelow the screen", 24, 2)
	texts, count := elements(t, svg)
	assert.Equal(t, []string{"red & <bold>", "next", "plain 数据 text"}, texts, "words apart are drawn apart")
	assert.Equal(t, 1, count["rect"], "the page")
	assert.Equal(t, 1, count["path"], "blocks are one path")
	assert.Contains(t, string(svg), palette[1])
	assert.Contains(t, string(svg), "bold")
	assert.NotContains(t, string(svg), "animation")
}

func TestMovingDrawsOnceWhatStays(t *testing.T) {
	frames := []Frame{{"name  1", time.Second}, {"name  2", time.Second}, {"name  1", 2 * time.Second}}
	svg := Moving(frames, 1, 10, 1)
	texts, count := elements(t, svg)
	assert.ElementsMatch(t, []string{"name", "1", "2"}, texts)
	assert.Equal(t, 3, count["g"])
	assert.Contains(t, string(svg), "{0%{visibility:visible}25%{visibility:hidden}50%{visibility:visible}}")
	assert.Contains(t, string(svg), "4.0s step-end infinite")
	assert.Equal(t, 1, strings.Count(string(svg), "\n.k1{visibility:hidden}\n"), "what the still has not is hidden: %s", svg)
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
