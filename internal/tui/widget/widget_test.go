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

func TestRateSpark(t *testing.T) {
	counts := []uint16{0, 0, 1, 5, 50, 5000}
	text := func(ticks, width int, seconds float32) string {
		return ansi.Strip(string(AppendRateSpark(nil, th, counts, ticks, seconds, width)))
	}
	assert.Equal(t, "▁▁▂▂▄█", text(6, 6, 1))
	assert.Equal(t, "    ▄█", text(2, 6, 1), "cells before the first tick are blank")
	assert.Equal(t, "▄█", text(6, 2, 1))
	assert.Equal(t, "  ▁▁▂▂▄█", text(6, 8, 1))
	assert.Equal(t, "▁▁▃▄▆█", text(6, 6, 0.1), "heights are rates, not counts")
	assert.Equal(t, text(6, 6, 1), text(6, 6, 0))
	assert.Empty(t, text(6, 0, 1))
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
