package widget

import (
	"fmt"

	"piton/internal/chart"
	"piton/internal/cpuset"
	"piton/internal/topology"
	"piton/internal/tui/theme"
)

// TickChart draws the CPU that a task was on at each look, one column a look,
// like BounceChart draws its moves. Moves between two looks are not in it. No
// line is wider than width; nil where nothing fits.
func TickChart(looks []cpuset.CPU, topo *topology.Topology, width, height int, th *theme.Theme) []string {
	if width < 20 || height < 2 || topo == nil {
		return nil
	}
	c := laneChart{path: looks, topo: topo, th: th, label: min(labelWidth(topo), width/2)}
	if over := len(looks) - (width - c.label - 1); over > 0 {
		c.path = looks[over:]
	}
	return append([]string{th.Dim.Render(Fit(c.ticksTitle(), width, th.Ellipsis))}, c.draw(height-1)...)
}

func (c *laneChart) ticksTitle() string {
	moves := 0
	for i := 1; i < len(c.path); i++ {
		if c.path[i] != c.path[i-1] {
			moves++
		}
	}
	if moves == 0 {
		return fmt.Sprintf("each tick: on one CPU for %d ticks", len(c.path))
	}
	return fmt.Sprintf("each tick: %s seen in %d ticks", chart.Plural(moves, "move"), len(c.path)) + c.across()
}
