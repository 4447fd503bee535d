package corepanel

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"piton/internal/topology"
	"piton/internal/topology/topologytest"
	"piton/internal/tui/golden"
	"piton/internal/tui/theme"
	"piton/internal/tui/tuitest"
	"piton/internal/tui/widget"
)

var th = theme.New(theme.Options{Depth: theme.Colors256})

func input(t *topology.Topology, w, h int, mode Mode) Input {
	return Input{Model: tuitest.New(t).Model(5), Topology: t, Theme: th, Width: w, Height: h, Mode: mode}
}

func TestGolden(t *testing.T) {
	for _, cpus := range []int{1, 2, 8, 64, 512} {
		for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 50}} {
			for _, mode := range []Mode{Full, Folded} {
				name := fmt.Sprintf("%dcpus-%dx%d-%s", cpus, size[0], size[1], mode)
				t.Run(name, func(t *testing.T) {
					var p Panel
					lines := p.Render(input(topologytest.Sized(cpus), size[0], size[1], mode))
					golden.Check(t, name, strings.Join(lines, "\n"), size[0], size[1]/2)
				})
			}
		}
	}
}

func TestOddMachines(t *testing.T) {
	for name, spec := range map[string]topologytest.Spec{
		"hybrid":   {CoresPerLLC: 6, Threads: 2, ECores: 3},
		"offline":  {Nodes: 2, CoresPerLLC: 4, Offline: "3,7", Isolated: "2"},
		"gappy":    {Nodes: 2, CoresPerLLC: 3, NodeIDs: []topology.NodeID{0, 4}},
		"all LLCs": {LLCsPerNode: 4},
	} {
		t.Run(name, func(t *testing.T) {
			var p Panel
			lines := p.Render(input(topologytest.Synthetic(spec), 120, 40, Full))
			golden.Check(t, "odd-"+strings.ReplaceAll(name, " ", "-"), strings.Join(lines, "\n"), 120, 20)
		})
	}
}

func TestNeverWiderOrHigherThanAllowed(t *testing.T) {
	for _, cpus := range []int{1, 2, 8, 64, 512} {
		topo := topologytest.Sized(cpus)
		in := input(topo, 0, 0, Full)
		for w := 1; w < 210; w += 7 {
			for _, h := range []int{1, 5, 10, 12, 24, 40, 70} {
				for _, mode := range []Mode{Full, Folded, Hidden} {
					var p Panel
					in.Width, in.Height, in.Mode = w, h, mode
					lines := p.Render(in)
					assert.LessOrEqual(t, len(lines), max(h/2, 0), "%d cpus %dx%d %s", cpus, w, h, mode)
					for _, l := range lines {
						assert.LessOrEqual(t, widget.Width(l), w, "%d cpus %dx%d %s: %q", cpus, w, h, mode, l)
					}
					if mode == Hidden {
						assert.Empty(t, lines)
					}
				}
			}
		}
	}
}

func TestFirstSampleHasNoRates(t *testing.T) {
	topo := topologytest.Sized(8)
	in := input(topo, 120, 40, Full)
	in.Model = tuitest.New(topo).Model(1)
	var p Panel
	text := strings.Join(p.Render(in), "\n")
	assert.Contains(t, text, th.None)
	assert.NotContains(t, text, "NaN")
	assert.NotContains(t, text, " 0%")
}

func TestRenderIsKept(t *testing.T) {
	var p Panel
	in := input(topologytest.Sized(8), 120, 40, Full)
	first := p.Render(in)
	assert.Same(t, &first[0], &p.Render(in)[0])
	in.Mode = Folded
	assert.NotEqual(t, first, p.Render(in))
}

func TestASCII(t *testing.T) {
	for _, cpus := range []int{2, 64, 512} {
		in := input(topologytest.Sized(cpus), 120, 40, Full)
		in.Theme = theme.New(theme.Options{ASCII: true})
		var p Panel
		for _, l := range p.Render(in) {
			for _, r := range l {
				assert.Less(t, r, rune(128), "%q", l)
			}
		}
	}
}

func BenchmarkRender512(b *testing.B) {
	topo := topologytest.Sized(512)
	machine := tuitest.New(topo)
	models := []Input{}
	for range 2 {
		models = append(models, Input{Model: machine.Model(3), Topology: topo, Theme: th, Width: 200, Height: 50})
	}
	var p Panel
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		p.Render(models[i%2])
	}
}
