package corepanel

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/assert"

	"piton/internal/cpuset"
	"piton/internal/model"
	"piton/internal/topology"
	"piton/internal/topology/topologytest"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
	"piton/internal/tuitest"
	"piton/internal/tuitest/golden"
)

var th = theme.New(theme.Options{Depth: theme.Colors256})

// sizes are the numbers of CPUs and the windows that frames are kept of.
var (
	machines = []int{1, 2, 8, 16, 64, 256, 512}
	windows  = [][2]int{{80, 24}, {120, 40}, {200, 50}, {300, 80}}
)

func machine(cpus int) *topology.Topology {
	switch cpus {
	case 16:
		return topologytest.Synthetic(topologytest.Spec{Nodes: 2, CoresPerLLC: 4, Threads: 2})
	case 256:
		return topologytest.Synthetic(topologytest.Spec{Nodes: 4, LLCsPerNode: 4, CoresPerLLC: 8, Threads: 2})
	}
	return topologytest.Sized(cpus)
}

func input(t *topology.Topology, w, h int, mode Mode) Input {
	return Input{Model: busy(tuitest.New(t).Model(5)), Topology: t, Theme: th, Width: w, Height: h, Mode: mode}
}

// busy gives the CPUs of a model time of every kind, and migrations for 40 ticks.
func busy(m *model.Model) *model.Model {
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range m.CPUs {
		c := &m.CPUs[i]
		rest := float32(1)
		for _, part := range []*float32{&c.User, &c.Nice, &c.System, &c.IRQ, &c.SoftIRQ, &c.Steal} {
			*part = 0
			if i%5 != 0 && rnd.IntN(3) > 0 {
				*part = rest * rnd.Float32() * 0.8
			}
			rest -= *part
		}
		c.Busy = 1 - rest
		c.Ticks = 40
		for j := model.HistoryLen - c.Ticks; j < model.HistoryLen; j++ {
			c.In[j] = uint16(max(0, rnd.IntN(20*(i%7+1))-20))
		}
		c.InPerS = float32(c.In[model.HistoryLen-1])
		if i == 1 {
			c.Busy, c.User, c.Nice, c.System, c.IRQ, c.SoftIRQ, c.Steal = 1, 1, 0, 0, 0, 0, 0
		}
	}
	m.LeastLoaded = m.CPUs[0].ID
	return m
}

func TestGolden(t *testing.T) {
	for _, cpus := range machines {
		for _, size := range windows {
			for _, mode := range []Mode{Full, Folded} {
				name := fmt.Sprintf("%dcpus-%dx%d-%s", cpus, size[0], size[1], mode)
				t.Run(name, func(t *testing.T) {
					var p Panel
					lines := p.Render(input(machine(cpus), size[0], size[1], mode))
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
	for _, cpus := range machines {
		topo := machine(cpus)
		in := input(topo, 0, 0, Full)
		for w := 1; w < 310; w += 11 {
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
	in.Model.LeastLoaded = -1
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

// TestIdlestIsIdle holds the mark to the core that it stands beside: a busy one never has
// it, though no core may be better.
func TestIdlestIsIdle(t *testing.T) {
	for _, cpus := range machines {
		for _, size := range windows {
			in := input(machine(cpus), size[0], size[1], Full)
			for i := range in.Model.CPUs {
				in.Model.CPUs[i].Busy = 0.97
			}
			var p Panel
			text := strings.Join(p.Render(in), "\n")
			assert.NotContains(t, text, "idlest", "%d cpus", cpus)
			assert.NotContains(t, text, th.Mark, "%d cpus", cpus)
			assert.NotContains(t, text, "least loaded")
		}
	}
}

// TestNoBarAbove100 draws shares that cannot be.
func TestNoBarAbove100(t *testing.T) {
	for _, cpus := range machines {
		for _, mode := range []Mode{Full, Folded} {
			in := input(machine(cpus), 200, 50, mode)
			for i := range in.Model.CPUs {
				c := &in.Model.CPUs[i]
				c.Busy, c.User, c.Steal = 1.7, 1.2, 0.5
			}
			var p Panel
			for _, l := range p.Render(in) {
				assert.LessOrEqual(t, widget.Width(l), 200)
				for _, figure := range regexp.MustCompile(`\d+%`).FindAllString(ansi.Strip(l), -1) {
					assert.LessOrEqual(t, len(figure), 4)
					assert.Contains(t, []string{"100%", "0%"}, figure)
				}
			}
		}
	}
}

// TestOneScale compares the same migrations on two cores.
func TestOneScale(t *testing.T) {
	in := input(machine(2), 120, 40, Full)
	for i := range in.Model.CPUs {
		in.Model.CPUs[i].In = [model.HistoryLen]uint16{}
	}
	in.Model.CPUs[0].In[model.HistoryLen-1], in.Model.CPUs[1].In[model.HistoryLen-1] = 510, 255
	var p Panel
	text := ansi.Strip(strings.Join(p.Render(in), "\n"))
	assert.Equal(t, 1, strings.Count(text, "peak 510/s"), text)
	assert.Contains(t, text, "▁█")
	assert.Contains(t, text, "▁▅", "half of it on the other core: %s", text)
}

// TestAKeysSampleStretchesNoScale: what is between two ticks is not a second long.
func TestAKeysSampleStretchesNoScale(t *testing.T) {
	in := input(machine(2), 120, 40, Full)
	var p Panel
	peak := func() string { return regexp.MustCompile(`peak .*/s`).FindString(ansi.Strip(p.Render(in)[0])) }
	in.Model.CPUs[0].In[model.HistoryLen-1] = 500
	assert.Equal(t, "peak 500/s", peak())
	for _, elapsed := range []time.Duration{time.Second, 50 * time.Millisecond, time.Second, time.Second} {
		next := *in.Model
		next.Elapsed = elapsed
		in.Model = &next
		assert.Equal(t, "peak 500/s", peak(), elapsed)
	}
}

// TestBarStaysUnderTheCursor: in reverse a full bar looks like an empty one.
func TestBarStaysUnderTheCursor(t *testing.T) {
	in := input(machine(8), 120, 40, Full)
	in.Theme = theme.New(theme.Options{})
	var p Panel
	plain := p.Render(in)
	in.Pick = &Pick{At: cpuset.Of(1)}
	for i, l := range p.Render(in) {
		_, before, _ := strings.Cut(plain[i], "▕")
		_, after, _ := strings.Cut(l, "▕")
		assert.Equal(t, before, after)
		assert.Equal(t, strings.Contains(ansi.Strip(l), "┌1"), strings.Contains(l, "\x1b[7m"), "%q", l)
	}
}

func TestPages(t *testing.T) {
	in := input(machine(512), 80, 24, Full)
	var p Panel
	first := ansi.Strip(p.Render(in)[0])
	assert.Contains(t, first, "nodes 0-4, page 1/2")
	assert.True(t, p.Page(1))
	assert.Contains(t, ansi.Strip(p.Render(in)[0]), "nodes 5-7, page 2/2")
	assert.True(t, p.Page(1))
	assert.Contains(t, ansi.Strip(p.Render(in)[0]), "page 2/2")
	in.Pick = &Pick{At: cpuset.Of(3)}
	assert.Contains(t, ansi.Strip(p.Render(in)[0]), "page 1/2", "the page goes with the cursor")
	assert.Equal(t, cpuset.CPU(160), p.Step(128, 0, 1), "and the cursor goes on to the next page")
	in.Height = 50
	p.Render(in)
	assert.False(t, p.Page(1), "all of it is shown")
}

func BenchmarkRender(b *testing.B) {
	for _, of := range []struct{ cpus, width, height int }{{8, 120, 40}, {64, 300, 80}, {64, 120, 40}, {512, 200, 50}, {512, 80, 24}} {
		topo := topologytest.Sized(of.cpus)
		models := []Input{input(topo, of.width, of.height, Full), input(topo, of.width, of.height, Full)}
		b.Run(fmt.Sprintf("%dcpus-%dx%d", of.cpus, of.width, of.height), func(b *testing.B) {
			var p Panel
			n := 0
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				n = len(strings.Join(p.Render(models[i%2]), "\n"))
			}
			b.ReportMetric(float64(n), "frame-bytes")
		})
	}
}

// Test512CPUsOnOnePage: all of them are there, and the lines take the width.
func Test512CPUsOnOnePage(t *testing.T) {
	for _, size := range [][2]int{{120, 40}, {200, 50}} {
		p := &Panel{}
		lines := p.Render(input(machine(512), size[0], size[1], Full))
		assert.Equal(t, 1, p.pages)
		seen := map[cpuset.CPU]bool{}
		for _, s := range p.spots {
			seen[s.cpu] = true
		}
		assert.Len(t, seen, 512)
		for i := 1; i < len(lines); i += 2 {
			assert.GreaterOrEqual(t, ansi.StringWidth(lines[i]), size[0]*95/100, ansi.Strip(lines[i]))
		}
	}
}
