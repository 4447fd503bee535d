package widget

import (
	"math"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/assert"

	"piton/internal/field"
	"piton/internal/tui/theme"
)

var th = theme.New(theme.Options{Depth: theme.Colors256})

func TestFit(t *testing.T) {
	for _, tt := range []struct {
		text        string
		width       int
		left, right string
	}{
		{"abc", 5, "abc  ", "  abc"},
		{"abc", 3, "abc", "abc"},
		{"abcd", 3, "ab…", "ab…"},
		{"abc", 1, "…", "…"},
		{"", 2, "  ", "  "},
		{"abc", 0, "", ""},
		{"日本", 5, "日本 ", " 日本"},
		{"日本", 3, "日…", "日…"},
		{"日本", 2, "… ", " …"},
	} {
		assert.Equal(t, tt.left, string(AppendFit(nil, []byte(tt.text), tt.width, false, "…")), "%q %d", tt.text, tt.width)
		assert.Equal(t, tt.right, string(AppendFit(nil, []byte(tt.text), tt.width, true, "…")), "%q %d", tt.text, tt.width)
		assert.Equal(t, tt.left, Fit(tt.text, tt.width, "…"), "%q %d", tt.text, tt.width)
	}
}

func TestFitKeepsStyles(t *testing.T) {
	s := Fit(th.Bad.Render("danger"), 4, "…")
	assert.Equal(t, 4, ansi.StringWidth(s))
	assert.Contains(t, s, th.Bad.Render("dan…"))
}

func TestSpread(t *testing.T) {
	assert.Equal(t, "a   b", Spread("a", "b", 5, "…"))
	assert.Equal(t, "aaa  ", Spread("aaa", "bb", 5, "…"))
	assert.Equal(t, "aaaa…", Spread("aaaaaa", "", 5, "…"))
}

func TestSkipCells(t *testing.T) {
	assert.Equal(t, "cd", SkipCells("abcd", 2))
	assert.Equal(t, "▃▄", SkipCells("▁▂▃▄", 2))
	assert.Equal(t, "", SkipCells("ab", 2))
	assert.Equal(t, "ab", SkipCells("ab", 0))
}

func TestAppendSpaces(t *testing.T) {
	assert.Equal(t, strings.Repeat(" ", 300), string(AppendSpaces(nil, 300)))
	assert.Empty(t, AppendSpaces(nil, -1))
}

func TestBar(t *testing.T) {
	for _, tt := range []struct {
		share float32
		want  string
	}{
		{0, "····"}, {1, "████"}, {2, "████"}, {0.5, "██··"}, {0.53, "██▏·"}, {0.01, "····"}, {-1, "····"},
		{float32(math.NaN()), "····"},
	} {
		assert.Equal(t, tt.want, ansi.Strip(string(AppendBar(nil, th, tt.share, 4))), tt.share)
	}
	assert.Empty(t, AppendBar(nil, th, 1, 0))
}

func TestSplitBar(t *testing.T) {
	nan := float32(math.NaN())
	mono, ascii := theme.New(theme.Options{}), theme.New(theme.Options{ASCII: true})
	for _, tt := range []struct {
		parts       Parts
		want, ascii string
	}{
		{Parts{}, "··········", ".........."},
		{Parts{1}, "██████████", "||||||||||"},
		{Parts{0.3, 0.2, 0.2, 0.1, 0.1}, "███▄▄▓▓▒░·", "|||--##+%."},
		{Parts{0.9, 0.9, 0, 0, 0.9}, "█████████▄", "|||||||||-"}, // no more than 100 %
		{Parts{nan, nan, nan, nan, nan}, "··········", ".........."},
		{Parts{0, 0, 1, 0, 0}, "▓▓▓▓▓▓▓▓▓▓", "##########"},
		{Parts{0.04, 0.04, 0.04, 0.04, 0.04}, "▄▒········", "-+........"}, // as long as the sum
	} {
		assert.Equal(t, "▕"+tt.want+"▏", ansi.Strip(string(AppendFramed(nil, th, &tt.parts, 12))), "%v", tt.parts)
		assert.Equal(t, "["+tt.ascii+"]", ansi.Strip(string(AppendFramed(nil, ascii, &tt.parts, 12))), "%v", tt.parts)
		assert.Equal(t, "▕"+tt.want+"▏", ansi.Strip(string(AppendFramed(nil, mono, &tt.parts, 12))), "%v", tt.parts)
	}
	for width := range 60 {
		legend := PartsLegend(th, width)
		assert.LessOrEqual(t, ansi.StringWidth(legend), width)
		assert.Equal(t, width >= 19, legend != "", width)
	}
	colours := map[theme.Style]bool{}
	for i := range partNames {
		style, _ := part(th, i)
		colours[style] = true
	}
	assert.Len(t, colours, len(partNames), "each part has a colour of its own")
}

// FuzzSplitBar holds a bar to its width and to the length of its share.
func FuzzSplitBar(f *testing.F) {
	f.Add(float32(0.1), float32(0.9), float32(2), float32(-1), float32(0), 7)
	f.Fuzz(func(t *testing.T, a, b, c, d, e float32, width int) {
		width = max(0, width%200)
		parts, sum := Parts{a, b, c, d, e}, float32(0)
		for _, share := range parts {
			if share > 0 {
				sum += share
			}
		}
		text := ansi.Strip(string(AppendFramed(nil, th, &parts, width)))
		assert.Equal(t, width, ansi.StringWidth(text))
		if width >= leastFramed {
			width -= 2
		}
		assert.Equal(t, splitCells(sum, width), width-strings.Count(text, th.Blank))
	})
}

func TestSpark(t *testing.T) {
	counts := []uint16{0, 1, 10, 50, 100, 400}
	text := func(ticks, top, width int) string {
		return ansi.Strip(string(AppendSpark(nil, th, counts, ticks, top, width)))
	}
	assert.Equal(t, "▁▁▂▅██", text(6, 100, 6), "linear up to the top")
	assert.Equal(t, "▁▁▁▂▃█", text(6, 400, 6))
	assert.Equal(t, "    ▃█", text(2, 400, 6), "cells before the first tick are blank")
	assert.Equal(t, "▃█", text(6, 400, 2))
	assert.Equal(t, "  ▁▁▁▂▃█", text(9, 400, 8))
	assert.Empty(t, text(6, 400, 0))
}

func TestSparkCell(t *testing.T) {
	assert.Equal(t, "▁", SparkCell(th, 0))
	assert.Equal(t, "█", SparkCell(th, 1))
	assert.Equal(t, "█", SparkCell(th, 9))
	assert.Equal(t, "▁", SparkCell(th, -1))
	assert.Equal(t, " ", SparkCell(th, float32(math.NaN())))
}

func FuzzFit(f *testing.F) {
	f.Add("日本語 text é", 7)
	f.Fuzz(func(t *testing.T, s string, width int) {
		width = width % 200
		s = field.Clean(s) // what texts from outside are made before they are drawn
		got := Fit(s, width, "…")
		if width > 0 {
			assert.Equal(t, width, ansi.StringWidth(got), "%q", s)
		} else {
			assert.Empty(t, got)
		}
	})
}
