// Package picture turns a frame of the screen into an SVG, for the README and
// for looking at golden frames. Start at SVG.
package picture

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"image/color"
	"strings"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
)

const (
	cellWidth  = 8.4 // pixels, of a 14-pixel monospace face
	cellHeight = 17.0
	margin     = 10.0
	foreground = "#d8dee4"
	background = "#12161c"
)

// palette is the 16 terminal colours, muted enough for a dark page.
var palette = [16]string{
	"#3b4252", "#e06c75", "#8fbf7f", "#d8b566", "#6fa8dc", "#b48ead", "#62b6b7", "#d8dee4",
	"#6b7585", "#ff7b85", "#a8d898", "#f0cf80", "#8fc1f0", "#cfa8d0", "#80d0d0", "#ffffff",
}

// SVG draws a frame, lines of text with ANSI styles joined by \n, as a
// picture of a terminal of width × height cells. Eighth blocks are drawn as
// rectangles, so that bars join whatever the reader's font does.
func SVG(frame string, width, height int) []byte {
	var out bytes.Buffer
	w, h := 2*margin+float64(width)*cellWidth, 2*margin+float64(height)*cellHeight
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="14">`+"\n", w, h, w, h)
	fmt.Fprintf(&out, `<rect width="100%%" height="100%%" rx="6" fill="%s"/>`+"\n", background)
	screen := uv.NewScreenBuffer(width, height)
	uv.NewStyledString(frame).Draw(screen, screen.Bounds())
	for y, line := range screen.Lines {
		drawLine(&out, line, y)
	}
	out.WriteString("</svg>\n")
	return out.Bytes()
}

// drawLine draws one row, cells of equal style together.
func drawLine(out *bytes.Buffer, cells uv.Line, y int) {
	for x := 0; x < len(cells); {
		style := cells[x].Style
		start, text := x, strings.Builder{}
		for x < len(cells) && cells[x].Style.Equal(&style) {
			text.WriteString(cells[x].Content)
			x += max(cells[x].Width, 1)
		}
		drawRun(out, strings.TrimRight(text.String(), " "), style, start, x-start, y)
	}
}

// drawRun draws cells of one style.
func drawRun(out *bytes.Buffer, text string, style uv.Style, x, cells, y int) {
	fg, bg := hex(style.Fg, foreground), hex(style.Bg, "")
	if style.Attrs&uv.AttrReverse != 0 {
		fg, bg = orElse(bg, background), fg
	}
	left, top := margin+float64(x)*cellWidth, margin+float64(y)*cellHeight
	if bg != "" {
		fmt.Fprintf(out, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`+"\n", left, top, float64(cells)*cellWidth, cellHeight, bg)
	}
	opacity := ""
	if style.Attrs&uv.AttrFaint != 0 {
		opacity = ` opacity="0.6"`
	}
	plain := []rune(text)
	for i, r := range plain {
		bw, bh, ok := block(r)
		if !ok {
			continue
		}
		fmt.Fprintf(out, `<rect x="%.1f" y="%.1f" width="%.2f" height="%.2f" fill="%s"%s/>`+"\n",
			left+float64(i)*cellWidth, top+cellHeight*(1-bh), cellWidth*bw, cellHeight*bh, fg, opacity)
		plain[i] = ' '
	}
	if strings.TrimSpace(string(plain)) == "" {
		return
	}
	weight := ""
	if style.Attrs&uv.AttrBold != 0 {
		weight = ` font-weight="bold"`
	}
	fmt.Fprintf(out, `<text x="%.1f" y="%.1f" fill="%s"%s%s textLength="%.1f" xml:space="preserve">`,
		left, top+cellHeight*0.76, fg, weight, opacity, float64(ansi.StringWidth(text))*cellWidth)
	_ = xml.EscapeText(out, []byte(string(plain))) // a bytes.Buffer takes everything
	out.WriteString("</text>\n")
}

// block gives the part of a cell that an eighth block fills, from its bottom
// left corner.
func block(r rune) (width, height float64, ok bool) {
	switch {
	case r >= '▁' && r <= '█':
		return 1, float64(r-'▁'+1) / 8, true
	case r > '█' && r <= '▏':
		return float64('▏'-r+1) / 8, 1, true
	}
	return 0, 0, false
}

// hex gives a colour as #rrggbb, and none as fallback.
func hex(c color.Color, fallback string) string {
	switch c := c.(type) {
	case nil:
		return fallback
	case ansi.BasicColor:
		return palette[c%16]
	case ansi.IndexedColor:
		if c < 16 {
			return palette[c]
		}
	}
	r, g, b, _ := c.RGBA()
	return fmt.Sprintf("#%02x%02x%02x", r>>8, g>>8, b>>8)
}

func orElse(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}
