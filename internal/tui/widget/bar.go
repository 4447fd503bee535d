package widget

import "piton/internal/tui/theme"

// BarEighths is the filled part of a bar of width cells in eighths of a cell.
// Below half an eighth it is 0, so that the noise of an idle CPU draws nothing;
// an unknown share (NaN) is 0 too.
func BarEighths(share float32, width int) int {
	if !(share > 0) {
		return 0
	}
	return min(int(share*float32(width*8)+0.5), width*8)
}

// AppendBar adds a bar of width cells that is filled to share, 0..1. The filled
// part has the style of its load, the rest is dim.
func AppendBar(dst []byte, th *theme.Theme, share float32, width int) []byte {
	if width <= 0 {
		return dst
	}
	n := BarEighths(share, width)
	full, part := n/8, n%8
	if n > 0 {
		style := th.Load(share)
		dst = style.Open(dst)
		for range full {
			dst = append(dst, th.Bar[7]...)
		}
		if part > 0 {
			dst = append(dst, th.Bar[part-1]...)
			full++
		}
		dst = style.Close(dst)
	}
	if full < width {
		dst = th.Dim.Open(dst)
		for range width - full {
			dst = append(dst, th.Blank...)
		}
		dst = th.Dim.Close(dst)
	}
	return dst
}
