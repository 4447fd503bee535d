package widget_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/assert"

	"piton/internal/cpuset"
	"piton/internal/sample"
	"piton/internal/topology"
	"piton/internal/topology/topologytest"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
	"piton/internal/tuitest/golden"
)

// path makes the steps of a task that visits CPUs, ms milliseconds apart.
func path(ms uint64, cpus ...cpuset.CPU) []sample.Step {
	var out []sample.Step
	for i := 1; i < len(cpus); i++ {
		out = append(out, sample.Step{AtNs: uint64(i) * ms * 1e6, From: cpus[i-1], To: cpus[i]})
	}
	return out
}

// walk visits n CPUs of a machine of that many.
func walk(n, cpus int) []cpuset.CPU {
	out := make([]cpuset.CPU, n)
	x := uint32(7)
	for i := range out {
		x = x*1664525 + 1013904223
		if i%4 == 3 {
			out[i] = out[i-2]
			continue
		}
		out[i] = cpuset.CPU(int(x>>16) % cpus)
		if i > 0 && out[i] == out[i-1] {
			out[i] = (out[i] + 1) % cpuset.CPU(cpus)
		}
	}
	return out
}

func TestBounceChartGolden(t *testing.T) {
	th := theme.New(theme.Options{})
	for _, cpus := range []int{2, 8, 64, 512} {
		for _, size := range [][2]int{{60, 8}, {76, 16}, {90, 40}} {
			b := widget.Bounce{Steps: path(13, walk(200, cpus)...), Topology: topologytest.Sized(cpus)}
			lines := widget.BounceChart(b, size[0], size[1], th)
			golden.Check(t, fmt.Sprintf("bounce-%dx%d-%dcpus", size[0], size[1], cpus), strings.Join(lines, "\n"), size[0], size[1])
		}
	}
}

func TestBounceChartFollowsTheSequence(t *testing.T) {
	th := theme.New(theme.Options{ASCII: true})
	b := widget.Bounce{Steps: path(150, 0, 4, 1, 0, 4), Topology: topologytest.Sized(8), Lost: 3}
	b.Steps = append(b.Steps, sample.Step{AtNs: 1e9, From: 2, To: 1}, sample.Step{AtNs: 1.05e9, From: 1, To: 2})
	lines := widget.BounceChart(b, 70, 12, th)
	for i := range lines {
		lines[i] = strings.TrimRight(ansi.Strip(lines[i]), " ")
	}
	assert.Equal(t, []string{
		"each move: 6 in 900 ms, 3 lost, 1 ping-pong",
		" cpu 0 #..#...",
		" cpu 4 .#..#..",
		" cpu 1 ..#..#.",
		" cpu 5 .......",
		" cpu 2 ......#",
		" cpu 6 .......",
		" cpu 3 .......",
		" cpu 7 .......",
		"   far  slls?l",
		"   ago  900 ms",
	}, lines)
}

func TestBounceChartOfLittle(t *testing.T) {
	th := theme.New(theme.Options{})
	topo := topologytest.Sized(64)
	assert.Equal(t, []string{"no moves yet        "}, plainLines(widget.BounceChart(widget.Bounce{Topology: topo}, 20, 5, th)))
	assert.Nil(t, widget.BounceChart(widget.Bounce{Topology: topo}, 19, 5, th))
	assert.Nil(t, widget.BounceChart(widget.Bounce{}, 80, 5, th))
	one := widget.Bounce{Topology: topo, Steps: path(1, 0, 63)}
	assert.Contains(t, plainLines(widget.BounceChart(one, 80, 20, th))[0], "each move: one, 1 across LLCs")
	for height := 2; height < 12; height++ {
		far := widget.Bounce{Topology: topo, Steps: path(1, walk(100, 64)...)}
		assert.LessOrEqual(t, len(widget.BounceChart(far, 80, height, th)), height)
	}
	gone := widget.Bounce{Topology: topologytest.Sized(2), Steps: path(1, 0, 77, 1, 78, 79, 80, 81, 0)}
	assert.Contains(t, strings.Join(plainLines(widget.BounceChart(gone, 80, 20, th)), "\n"), "cpu 77")
	assert.Contains(t, strings.Join(plainLines(widget.BounceChart(gone, 80, 5, th)), "\n"), "others")
}

func plainLines(lines []string) []string {
	for i := range lines {
		lines[i] = ansi.Strip(lines[i])
	}
	return lines
}

func TestDistancesDifferInMoreThanColour(t *testing.T) {
	letters := map[string]bool{}
	for d := topology.SMTSibling; d <= topology.OtherNode; d++ {
		assert.Equal(t, 1, ansi.StringWidth(widget.DistanceLetter(d)))
		letters[widget.DistanceLetter(d)] = true
	}
	assert.Len(t, letters, 4)
	mono := theme.New(theme.Options{})
	assert.Equal(t, mono.Strong, widget.DistanceStyle(mono, topology.OtherNode), "the dearest is bold without colour too")
	assert.Equal(t, mono.Dim, widget.DistanceStyle(mono, topology.SMTSibling))
}

func TestTickChart(t *testing.T) {
	th := theme.New(theme.Options{ASCII: true})
	lines := plainLines(widget.TickChart([]cpuset.CPU{0, 0, 1, 0}, topologytest.Sized(2), 40, 6, th))
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	assert.Equal(t, []string{"each tick: 2 moves seen in 4 ticks", " cpu 0 ##.#", " cpu 1 ..#."}, lines)
	far := widget.TickChart([]cpuset.CPU{0, 63}, topologytest.Sized(64), 60, 6, th)
	assert.Contains(t, plainLines(far)[0], "1 move seen in 2 ticks, 1 across LLCs")
	still := widget.TickChart(make([]cpuset.CPU, 300), topologytest.Sized(2), 40, 6, th)
	assert.Contains(t, plainLines(still)[0], "on one CPU for 33 ticks", "as many as fit")
	assert.Nil(t, widget.TickChart(nil, topologytest.Sized(2), 19, 6, th))
}
