// A picture is frames of the screen as an SVG, for the README: a still, or a moving
// picture that the browser plays without a script. Start at Still and Moving.

package demo

import (
	"bytes"
	"fmt"
	"strings"
	"time"
)

const (
	cellWidth  = 8.4 // pixels, of a 14-pixel monospace face
	cellHeight = 17.0
	margin     = 10.0
	foreground = "#d8dee4"
	background = "#12161c"
	fonts      = "DejaVu Sans Mono, Menlo, Consolas, monospace"
)

// Frame is one frame of a moving picture: lines of text with ANSI styles joined by \n.
type Frame struct {
	Content string
	For     time.Duration // how long it is seen
}

// Still draws a frame as a picture of a terminal of width × height cells.
func Still(frame string, width, height int) []byte {
	return Moving([]Frame{{Content: frame, For: time.Second}}, 0, width, height)
}

// Moving draws frames one after the other, again and again. What several frames have in
// common is drawn once. Where nothing moves, because the reader prefers that or the
// program cannot, the frame of that index is seen.
func Moving(frames []Frame, still, width, height int) []byte {
	d := newDrawing()
	for i, f := range frames {
		d.frame(i, f.Content, width, height)
	}
	var out bytes.Buffer
	w, h := 2*margin+float64(width)*cellWidth, 2*margin+float64(height)*cellHeight
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" font-family="%s" font-size="14">`+"\n",
		w, h, w, h, fonts)
	out.WriteString("<style>\ntext{white-space:pre}\n")
	d.colours(&out)
	d.times(&out, frames, still)
	fmt.Fprintf(&out, "</style>\n"+`<rect width="100%%" height="100%%" rx="6" fill="%s"/>`+"\n", background)
	for _, g := range d.groups {
		if g.always(len(frames)) {
			out.WriteString("<g>\n")
		} else {
			fmt.Fprintf(&out, `<g class="k k%d">`+"\n", g.number)
		}
		g.write(&out)
		out.WriteString("</g>\n")
	}
	out.WriteString("</svg>\n")
	return out.Bytes()
}

// times writes when each group is seen.
func (d *drawing) times(out *bytes.Buffer, frames []Frame, still int) {
	total := time.Duration(0)
	starts := make([]time.Duration, len(frames)+1)
	for i, f := range frames {
		total += f.For
		starts[i+1] = total
	}
	if len(frames) < 2 {
		return
	}
	var keyframes, names bytes.Buffer
	var hidden []string
	for _, g := range d.groups {
		if g.always(len(frames)) {
			continue
		}
		fmt.Fprintf(&keyframes, "@keyframes k%d{", g.number)
		for i := range frames {
			if i > 0 && g.in[i] == g.in[i-1] {
				continue
			}
			word := "hidden"
			if g.in[i] {
				word = "visible"
			}
			fmt.Fprintf(&keyframes, "%.3g%%{visibility:%s}", 100*float64(starts[i])/float64(total), word)
		}
		keyframes.WriteString("}\n")
		fmt.Fprintf(&names, ".k%d{animation-name:k%d}\n", g.number, g.number)
		if !g.in[still] {
			hidden = append(hidden, fmt.Sprintf(".k%d", g.number))
		}
	}
	if len(hidden) > 0 {
		fmt.Fprintf(out, "%s{visibility:hidden}\n", strings.Join(hidden, ","))
	}
	fmt.Fprintf(out, "%s@media (prefers-reduced-motion:no-preference){\n.k{animation:%.1fs step-end infinite}\n%s}\n",
		keyframes.String(), total.Seconds(), names.String())
}
