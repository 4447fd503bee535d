package stream

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"piton/internal/chart"
	"piton/workloads/machine"
)

// Picture draws the bandwidths: bars of the four loops, or a grid beside the
// distances.
func (r Result) Picture(width int) []string {
	if len(r.Cells) > 0 {
		return chart.CutAll(r.grid(), width)
	}
	return chart.CutAll(r.bars(width), width)
}

func (r Result) bars(width int) []string {
	var most float64
	for _, op := range r.Ops {
		most = max(most, op.BestMBs)
	}
	const labels = len("triad  12,300 MB/s  ") + len("  best 12,300 MB/s")
	room := max(width-labels, 8)
	var out []string
	for _, op := range r.Ops {
		cells := func(v float64) int { return int(v / max(most, 1) * float64(room)) }
		solid := cells(op.MedianMBs)
		bar := strings.Repeat("█", solid) + strings.Repeat("░", cells(op.BestMBs)-solid)
		out = append(out, fmt.Sprintf("%-5s %11s  %s%s  best %s", op.Name, chart.Quantity(op.MedianMBs, "MB/s"), bar,
			strings.Repeat(" ", max(room-utf8.RuneCountInString(bar), 0)), chart.Quantity(op.BestMBs, "MB/s")))
	}
	return append(out, r.note())
}

func (r Result) note() string {
	note := fmt.Sprintf("three arrays of %d MiB", r.MiB)
	if r.CacheTimes > 0 {
		note += fmt.Sprintf(", each %.1f× the last-level cache", r.CacheTimes)
		if r.CacheTimes < machine.CacheTimes {
			note += fmt.Sprintf(" (less than %d×: caches help)", machine.CacheTimes)
		}
	}
	return note + ", " + string(r.Used) + " loops"
}

// shades are the heat of a cell, cold to hot.
var shades = []string{"·", "░", "▒", "▓", "█"}

// grid draws triad's bandwidth from each CPU or node, which is a row, to the memory of
// each node, with the distance after it.
func (r Result) grid() []string {
	var columns []int
	low, high := r.Cells[0].Triad(), r.Cells[0].Triad()
	for _, c := range r.Cells {
		if c.FromNode == r.Cells[0].FromNode && c.FromCPU == r.Cells[0].FromCPU {
			columns = append(columns, c.MemoryNode)
		}
		low, high = min(low, c.Triad()), max(high, c.Triad())
	}
	head := "triad MB/s (distance) to "
	for _, n := range columns {
		head += fmt.Sprintf("%18s", fmt.Sprintf("memory %d", n))
	}
	out := []string{head}
	for i := 0; i < len(r.Cells); i += len(columns) {
		line := fmt.Sprintf("%-25s", r.Cells[i].from())
		for _, c := range r.Cells[i:min(i+len(columns), len(r.Cells))] {
			heat := 1.0
			if high > low {
				heat = (c.Triad() - low) / (high - low)
			}
			shade := shades[min(int(heat*float64(len(shades))), len(shades)-1)]
			line += fmt.Sprintf("  %s %8.0f (%3d)", shade+shade, c.Triad(), c.Distance)
		}
		out = append(out, line)
	}
	out = append(out, fmt.Sprintf("%s %s … %s %s; %s", shades[0], chart.Quantity(low, "MB/s"), shades[len(shades)-1], chart.Quantity(high, "MB/s"), r.note()))
	if r.Fit != nil {
		out = append(out, r.Fit.Verdict)
	}
	return out
}

func (c Cell) from() string {
	if c.FromCPU < 0 {
		return fmt.Sprintf("from node %d", c.FromNode)
	}
	return fmt.Sprintf("from CPU %d of node %d", c.FromCPU, c.FromNode)
}
