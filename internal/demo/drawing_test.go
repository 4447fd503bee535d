package demo

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"image/color"
	"maps"
	"slices"
	"strings"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
)

// palette is the 16 terminal colours, muted enough for a dark page.
var palette = [16]string{
	"#3b4252", "#e06c75", "#8fbf7f", "#d8b566", "#6fa8dc", "#b48ead", "#62b6b7", "#d8dee4",
	"#6b7585", "#ff7b85", "#a8d898", "#f0cf80", "#8fc1f0", "#cfa8d0", "#80d0d0", "#ffffff",
}

// drawing is what frames are made of: pieces, each with the frames that have it.
type drawing struct {
	pieces  map[string]*piece
	order   []*piece
	classes map[string]int // of colours, by their number
	groups  []*group
}

// piece is a run of text or of blocks at one place.
type piece struct {
	svg string
	in  []bool // by frame
}

// group is the pieces that the same frames have.
type group struct {
	number int
	in     []bool
	pieces []string
}

func newDrawing() *drawing { return &drawing{pieces: map[string]*piece{}, classes: map[string]int{}} }

// always reports whether all frames have the group.
func (g *group) always(frames int) bool {
	for i := range frames {
		if !g.in[i] {
			return false
		}
	}
	return true
}

func (g *group) write(out *bytes.Buffer) {
	for _, p := range g.pieces {
		out.WriteString(p)
	}
}

// frame adds a frame, and puts the pieces that the same frames have together.
func (d *drawing) frame(number int, content string, width, height int) {
	screen := uv.NewScreenBuffer(width, height)
	uv.NewStyledString(content).Draw(screen, screen.Bounds())
	for y, line := range screen.Lines {
		d.line(number, line, y)
	}
	d.groups = nil
	byFrames := map[string]*group{}
	for _, p := range d.order {
		for len(p.in) <= number {
			p.in = append(p.in, false)
		}
		key := fmt.Sprint(p.in)
		g := byFrames[key]
		if g == nil {
			g = &group{number: len(d.groups), in: p.in}
			byFrames[key] = g
			d.groups = append(d.groups, g)
		}
		g.pieces = append(g.pieces, p.svg)
	}
}

// add notes that a frame has a piece.
func (d *drawing) add(frame int, svg string) {
	p := d.pieces[svg]
	if p == nil {
		p = &piece{svg: svg}
		d.pieces[svg] = p
		d.order = append(d.order, p)
	}
	for len(p.in) <= frame {
		p.in = append(p.in, false)
	}
	p.in[frame] = true
}

// class is the class of a colour.
func (d *drawing) class(colour string) string {
	n, ok := d.classes[colour]
	if !ok {
		n = len(d.classes)
		d.classes[colour] = n
	}
	return fmt.Sprintf("c%d", n)
}

// colours writes what the classes mean.
func (d *drawing) colours(out *bytes.Buffer) {
	byNumber := slices.SortedFunc(maps.Keys(d.classes), func(a, b string) int { return d.classes[a] - d.classes[b] })
	for n, colour := range byNumber {
		fmt.Fprintf(out, ".c%d{fill:%s}\n", n, colour)
	}
	out.WriteString(".b{font-weight:bold}\n.f{opacity:.6}\n")
}

// line draws one row, cells of equal style together.
func (d *drawing) line(frame int, cells uv.Line, y int) {
	for x := 0; x < len(cells); {
		style := cells[x].Style
		start := x
		var run []string // by cell; the second cell of a wide rune has none
		for x < len(cells) && cells[x].Style.Equal(&style) {
			run = append(run, cells[x].Content)
			for range max(cells[x].Width, 1) - 1 {
				run = append(run, "")
			}
			x += max(cells[x].Width, 1)
		}
		d.run(frame, run, style, start, y)
	}
}

// run draws cells of one style: the background, the blocks as one path, so that bars
// join whatever the reader's font does, and the words, each by itself, so that those
// which stay the same are shared by many frames.
func (d *drawing) run(frame int, cells []string, style uv.Style, x, y int) {
	fg, bg := hex(style.Fg, foreground), hex(style.Bg, "")
	if style.Attrs&uv.AttrReverse != 0 {
		if bg == "" {
			bg = background
		}
		fg, bg = bg, fg
	}
	if bg != "" {
		d.add(frame, fmt.Sprintf(`<rect x="%s" y="%s" width="%s" height="17" class="%s"/>`+"\n",
			px(margin+float64(x)*cellWidth), px(margin+float64(y)*cellHeight), px(float64(len(cells))*cellWidth), d.class(bg)))
	}
	class := d.class(fg)
	if style.Attrs&uv.AttrBold != 0 {
		class += " b"
	}
	if style.Attrs&uv.AttrFaint != 0 {
		class += " f"
	}
	d.blocks(frame, cells, class, x, y)
	for from := 0; from < len(cells); {
		if blank(cells[from]) {
			from++
			continue
		}
		to := from
		for to < len(cells) && !(blank(cells[to]) && (to+1 == len(cells) || blank(cells[to+1]))) {
			to++
		}
		d.word(frame, strings.Join(cells[from:to], ""), class, x+from, y)
		from = to
	}
}

// blank reports whether nothing is written in a cell. The second cell of a wide rune is
// no blank.
func blank(cell string) bool {
	if cell == " " {
		return true
	}
	_, _, ok := blockOf(cell)
	return ok
}

func (d *drawing) word(frame int, text, class string, x, y int) {
	text = strings.TrimRight(text, " ")
	var escaped bytes.Buffer
	_ = xml.EscapeText(&escaped, []byte(text)) // a bytes.Buffer takes everything
	length := ""
	if w := ansi.StringWidth(text); w > 3 { // in a shorter one the reader's font makes no difference
		length = fmt.Sprintf(` textLength="%s"`, px(float64(w)*cellWidth))
	}
	d.add(frame, fmt.Sprintf(`<text x="%s" y="%s" class="%s"%s>%s</text>`+"\n",
		px(margin+float64(x)*cellWidth), px(margin+(float64(y)+0.76)*cellHeight), class, length, escaped.String()))
}

// blocks draws the blocks among the cells: neighbours are the outline of one path, which
// is filled down to the bottom of the row.
func (d *drawing) blocks(frame int, cells []string, class string, x, y int) {
	var path strings.Builder
	bottom, top := px(margin+float64(y+1)*cellHeight), ""
	down := func() { // to the bottom again
		if top != bottom {
			path.WriteString("V" + bottom)
			top = bottom
		}
	}
	for i := 0; i <= len(cells); i++ {
		w, h, ok := 0.0, 0.0, false
		if i < len(cells) {
			w, h, ok = blockOf(cells[i])
		}
		if !ok {
			if path.Len() > 0 {
				down()
				d.add(frame, fmt.Sprintf(`<path class="%s" d="%s"/>`+"\n", class, path.String()))
				path.Reset()
			}
			continue
		}
		left := margin + float64(x+i)*cellWidth
		if path.Len() == 0 {
			path.WriteString("M" + px(left) + " " + bottom)
			top = bottom
		}
		if to := px(margin + (float64(y+1)-h)*cellHeight); to != top {
			path.WriteString("V" + to)
			top = to
		}
		if nw, nh, next := 0.0, 0.0, false; i+1 < len(cells) {
			if nw, nh, next = blockOf(cells[i+1]); next && nw == 1 && nh == h && w == 1 {
				continue // the edge goes on
			}
		}
		path.WriteString("H" + px(left+w*cellWidth))
		if w < 1 {
			down()
		}
	}
}

// blockOf is block of a cell's content.
func blockOf(cell string) (width, height float64, ok bool) {
	for _, r := range cell {
		return block(r)
	}
	return 0, 0, false
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

// px writes pixels to a tenth, without what is not needed.
func px(v float64) string { return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0") }

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
