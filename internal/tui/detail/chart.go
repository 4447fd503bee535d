package detail

import (
	"cmp"
	"fmt"
	"slices"

	"piton/internal/cpuset"
	"piton/internal/topology"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

// chartLane is one line of the bounce chart: a CPU, or all CPUs of a cache.
type chartLane struct {
	label string
	has   func(cpu int16) bool
}

// chart draws which CPU the task was on at each tick: one line a CPU, time to
// the right, CPUs of one cache together.
func (h *History) chart(t *topology.Topology, width, height int, th *theme.Theme) []string {
	if height < 2 || width < 20 {
		return nil
	}
	lanes := h.lanes(t, height-1)
	label := 0
	for _, l := range lanes {
		label = max(label, widget.Width(l.label))
	}
	ticks := h.cpus[max(0, len(h.cpus)-(width-label-2)):]
	title := fmt.Sprintf("each tick: on one CPU for %d ticks", len(ticks))
	if moves, far := h.moves(t, ticks); moves > 0 {
		title = fmt.Sprintf("each tick: %d moves seen in %d ticks, %d across LLCs", moves, len(ticks), far)
	}
	lines := []string{th.Dim.Render(widget.Fit(title, width, th.Ellipsis))}
	for _, l := range lanes {
		lines = append(lines, drawLane(l, ticks, label, th))
	}
	return lines
}

func drawLane(l chartLane, ticks []int16, label int, th *theme.Theme) string {
	dst := widget.AppendFit(nil, []byte(l.label), label, true, th.Ellipsis)
	dst = append(dst, ' ')
	for i := 0; i < len(ticks); {
		on, j := l.has(ticks[i]), i
		for j < len(ticks) && l.has(ticks[j]) == on {
			j++
		}
		style, glyph := th.Dim, th.Blank
		if on {
			style, glyph = th.Accent, th.Spark[len(th.Spark)-1]
		}
		dst = style.Open(dst)
		for range j - i {
			dst = append(dst, glyph...)
		}
		dst = style.Close(dst)
		i = j
	}
	return string(dst)
}

// lanes picks what has a line: every CPU of the machine where they fit, else
// the CPUs the task was on, else their caches.
func (h *History) lanes(t *topology.Topology, height int) []chartLane {
	all := onlineCPUs(t)
	if len(all) <= height {
		return cpuLanes(all)
	}
	seen := map[int16]bool{}
	for _, cpu := range h.cpus {
		seen[cpu] = true
	}
	used := slices.DeleteFunc(all, func(c topology.CPU) bool { return !seen[int16(c.ID)] })
	if len(used) <= height {
		return cpuLanes(used)
	}
	if caches := cacheLanes(used); len(caches) > 1 {
		return caches[:min(height, len(caches))]
	}
	return h.busiest(used, height)
}

// busiest has a lane for each of the CPUs that the task was on most, and one
// for all others.
func (h *History) busiest(used []topology.CPU, height int) []chartLane {
	count := map[int16]int{}
	for _, cpu := range h.cpus {
		count[cpu]++
	}
	order := slices.Clone(used)
	slices.SortStableFunc(order, func(a, b topology.CPU) int { return count[int16(b.ID)] - count[int16(a.ID)] })
	top := map[int16]bool{}
	for _, c := range order[:max(0, height-1)] {
		top[int16(c.ID)] = true
	}
	lanes := cpuLanes(slices.DeleteFunc(used, func(c topology.CPU) bool { return !top[int16(c.ID)] }))
	return append(lanes, chartLane{label: "others", has: func(cpu int16) bool { return !top[cpu] }})
}

// onlineCPUs are ordered so that CPUs of a node, a cache and a core are together.
func onlineCPUs(t *topology.Topology) []topology.CPU {
	var cpus []topology.CPU
	for _, c := range t.CPUs {
		if c.Online {
			cpus = append(cpus, c)
		}
	}
	slices.SortStableFunc(cpus, func(a, b topology.CPU) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.LLCIndex, b.LLCIndex), cmp.Compare(a.Core.First(), b.Core.First()))
	})
	return cpus
}

func cpuLanes(cpus []topology.CPU) []chartLane {
	lanes := make([]chartLane, len(cpus))
	for i, c := range cpus {
		label := fmt.Sprintf("cpu %d", c.ID)
		if i == 0 || cpus[i-1].LLCIndex != c.LLCIndex {
			label = place(c) + label
		}
		lanes[i] = chartLane{label: label, has: func(cpu int16) bool { return cpu == int16(c.ID) }}
	}
	return lanes
}

// place names the cache that the lanes from here on share.
func place(c topology.CPU) string {
	if c.LLCIndex < 0 {
		return ""
	}
	return fmt.Sprintf("LLC #%d ", c.LLCIndex)
}

func cacheLanes(cpus []topology.CPU) []chartLane {
	var lanes []chartLane
	index := map[int]bool{}
	for _, c := range cpus {
		if index[c.LLCIndex] {
			continue
		}
		index[c.LLCIndex] = true
		set := c.LLC
		lanes = append(lanes, chartLane{label: place(c) + set.String(), has: func(cpu int16) bool { return set.Has(cpuset.CPU(cpu)) }})
	}
	return lanes
}

// moves counts the changes of CPU between ticks and those across caches.
func (h *History) moves(t *topology.Topology, ticks []int16) (moves, far int) {
	for i := 1; i < len(ticks); i++ {
		if ticks[i] == ticks[i-1] {
			continue
		}
		moves++
		if t.Distance(cpuset.CPU(ticks[i-1]), cpuset.CPU(ticks[i])) > topology.SameLLC {
			far++
		}
	}
	return moves, far
}
