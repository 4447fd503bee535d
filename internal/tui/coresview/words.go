package coresview

import (
	"fmt"
	"strconv"
	"time"

	"piton/internal/model"
	"piton/internal/topology"
	"piton/internal/tui/theme"
)

// heatStep is the shade of a rate: steps begin above 0, at 1, 10 and 100 a second.
// The scale never changes, so that maps can be compared.
func heatStep(perS float64) int {
	switch {
	case perS <= 0:
		return 0
	case perS < 1:
		return 1
	case perS < 10:
		return 2
	case perS < 100:
		return 3
	}
	return 4
}

// heatLegend names the steps.
var heatLegend = [...]string{"0", "<1", "1", "10", "100"}

// heat is a step's look. Where the theme has no shades, weight helps the glyph.
func heat(th *theme.Theme, step int) (theme.Style, string) {
	style, glyph := th.Heat(step)
	if step == 0 {
		return th.Dim, glyph
	}
	if style.Plain() {
		style = [...]theme.Style{th.Dim, th.Dim, th.Text, th.Warn, th.Bad}[step]
	}
	return style, glyph
}

// rate writes a rate in at most four cells.
func rate(perS float64) string {
	switch {
	case perS <= 0:
		return "0"
	case perS < 0.005:
		return "~0"
	case perS < 0.095:
		return strconv.FormatFloat(perS, 'f', 2, 64)[1:] // .02
	case perS < 9.95:
		return strconv.FormatFloat(perS, 'f', 1, 64)
	case perS < 999.5:
		return strconv.FormatFloat(perS, 'f', 0, 64)
	case perS < 9950:
		return strconv.FormatFloat(perS/1e3, 'f', 1, 64) + "k"
	case perS < 999500:
		return strconv.FormatFloat(perS/1e3, 'f', 0, 64) + "k"
	}
	return strconv.FormatFloat(perS/1e6, 'f', 1, 64) + "M"
}

// percent writes a share in at most four cells: "41%".
func percent(share float64) string {
	switch {
	case share <= 0:
		return "0%"
	case share < 0.01:
		return "<1%"
	}
	return strconv.FormatFloat(share*100, 'f', 0, 64) + "%"
}

// duration writes a time in at most six cells: "1.2 ms".
func duration(d time.Duration) string {
	ns := float64(d)
	switch {
	case d <= 0:
		return "0"
	case ns < 1e3:
		return strconv.Itoa(int(d)) + " ns"
	case ns < 999.5e3:
		return three(ns/1e3) + " µs"
	case ns < 999.5e6:
		return three(ns/1e6) + " ms"
	}
	return three(ns/1e9) + " s"
}

// three writes a number below 1000 in at most three cells.
func three(v float64) string {
	if v < 9.95 {
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}

// lastSpan names a window by what it really covers: "last 10 s".
func lastSpan(d time.Duration) string {
	if d < 950*time.Millisecond {
		return "last " + duration(d)
	}
	return fmt.Sprintf("last %.0f s", d.Seconds())
}

// name is a group in words: "cpu 3", "LLC 12", "node 1".
func name(g *model.MoveGroups, i int) string {
	switch at := &g.Groups[i]; {
	case g.Level == model.ByCPU:
		return fmt.Sprintf("cpu %d", at.CPU)
	case g.Level == model.ByLLC && at.LLC >= 0:
		return fmt.Sprintf("LLC %d", at.LLC)
	case at.Node >= 0:
		return fmt.Sprintf("node %d", at.Node)
	}
	return "no node"
}

// number is a group's own number.
func number(g *model.MoveGroups, i int) string {
	switch at := &g.Groups[i]; {
	case g.Level == model.ByCPU:
		return strconv.Itoa(int(at.CPU))
	case g.Level == model.ByLLC && at.LLC >= 0:
		return strconv.Itoa(at.LLC)
	case at.Node >= 0:
		return strconv.Itoa(int(at.Node))
	}
	return "-"
}

// parent is what groups share beyond their own number: "node 0 LLC 1", or
// "n0 L1" where room is short. Only levels that divide the machine are named.
func parent(g *model.MoveGroups, i int, short bool) string {
	at, t := &g.Groups[i], g.Topology
	node, llc := "node %d", "LLC %d"
	if short {
		node, llc = "n%d", "L%d"
	}
	out := ""
	if g.Level != model.ByNode && len(t.Nodes) > 1 && at.Node >= 0 {
		out = fmt.Sprintf(node, at.Node)
	}
	if g.Level == model.ByCPU && len(t.LLCs()) > 1 && at.LLC >= 0 && !scattered(t) {
		if out != "" {
			out += " "
		}
		out += fmt.Sprintf(llc, at.LLC)
	}
	return out
}

// scattered reports whether last-level caches say nothing about which CPUs
// belong together, as on virtual machines that claim one for every CPU.
func scattered(t *topology.Topology) bool { return len(t.LLCs()) > t.Online.Len()/2 }

// border is what divides a group from the one before it.
type border uint8

const (
	noBorder border = iota
	llcBorder
	nodeBorder
)

func borderBefore(g *model.MoveGroups, i int) border {
	if i == 0 {
		return noBorder
	}
	a, b := &g.Groups[i-1], &g.Groups[i]
	switch {
	case g.Level == model.ByNode:
		return noBorder
	case a.Node != b.Node:
		return nodeBorder
	case g.Level == model.ByCPU && a.LLC != b.LLC && !scattered(g.Topology):
		return llcBorder
	}
	return noBorder
}
