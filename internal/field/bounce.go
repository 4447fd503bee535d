package field

import (
	"slices"

	"piton/internal/model"
)

var (
	blocks      = [8]string{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}
	blocksASCII = [8]string{"_", ".", ":", "-", "=", "+", "*", "#"}
)

// bounceColumn draws the CPU a task was on over the last ticks as height: a
// pinned task is flat, a bouncing one looks like noise. The height is the CPU's
// rank in the machine where eight heights can tell its CPUs apart, else its
// rank among the CPUs that the task was on: one that stays where it is is a low
// line, whichever CPU that is.
func bounceColumn() Column {
	c := real(Column{ID: "bounce", Title: "BOUNCE", Width: model.BounceLen, Desc: true,
		Help:    "CPU it was on over the last ticks, as height; sorts by how many different ones",
		Missing: func(Row) string { return "the task was not seen on a CPU yet" },
		Append:  appendBounce},
		func(r Row) float64 {
			if n := r.Rates().CPUsSeen; n > 0 {
				return float64(n)
			}
			return nan
		})
	c.Right, c.span = false, true
	return c
}

func appendBounce(dst []byte, r Row) []byte {
	glyphs := &blocks
	if r.ASCII {
		glyphs = &blocksASCII
	}
	var ranks [model.BounceLen]int16
	order := bounceOrder(r, &ranks)
	for _, cpu := range r.Rates().Bounce {
		i, ok := slices.BinarySearch(order, cpu)
		if cpu < 0 || !ok {
			dst = append(dst, ' ')
			continue
		}
		level := 0
		if len(order) > 1 {
			level = i * 7 / (len(order) - 1)
		}
		dst = append(dst, glyphs[level]...)
	}
	return dst
}

// bounceOrder returns the CPUs that heights are given to, in rising order, in
// the memory of buf.
func bounceOrder(r Row, buf *[model.BounceLen]int16) []int16 {
	order := buf[:0]
	if n := len(r.M.Sample.CPUs); n <= len(blocks) && r.Rates().CPUsSeen > 1 {
		for _, c := range r.M.Sample.CPUs {
			order = append(order, int16(c.ID))
		}
		return order
	}
	for _, cpu := range r.Rates().Bounce {
		if i, found := slices.BinarySearch(order, cpu); cpu >= 0 && !found {
			order = slices.Insert(order, i, cpu)
		}
	}
	return order
}
