package corepanel

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/assert"

	"piton/internal/cpuset"
	"piton/internal/topology/topologytest"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
	"piton/internal/tuitest/golden"
)

func TestEveryCPUIsWhereAtSaysItIs(t *testing.T) {
	for _, cpus := range machines {
		for _, size := range windows {
			for _, mode := range []Mode{Full, Folded} {
				t.Run(fmt.Sprintf("%d-%dx%d-%s", cpus, size[0], size[1], mode), func(t *testing.T) {
					topo := machine(cpus)
					var p Panel
					found, lines := cpuset.Set{}, []string(nil)
					for range 9 { // pages, at most
						lines = p.Render(input(topo, size[0], size[1], mode))
						for y, line := range lines {
							for x := range widget.Width(line) {
								at := p.At(x, y)
								assert.True(t, at.SubsetOf(topo.Online))
								if at.Len() == 1 {
									found = found.Or(at)
								}
							}
						}
						p.Page(1)
					}
					assert.Equal(t, topo.Online.String(), found.String(), "every CPU can be pointed at")
					assert.True(t, p.At(0, len(lines)).Empty())
				})
			}
		}
	}
}

// TestCursorReachesEveryCPU walks with the keys alone.
func TestCursorReachesEveryCPU(t *testing.T) {
	for _, cpus := range machines {
		for _, mode := range []Mode{Full, Folded, Hidden} {
			topo := machine(cpus)
			var p Panel
			p.Render(input(topo, 120, 40, mode))
			seen, queue := cpuset.Of(0), []cpuset.CPU{0}
			for len(queue) > 0 {
				from := queue[0]
				queue = queue[1:]
				for _, d := range [][2]int{{1, 0}, {-1, 0}, {0, 1}, {0, -1}} {
					if to := p.Step(from, d[0], d[1]); !seen.Has(to) {
						seen = seen.Or(cpuset.Of(to))
						queue = append(queue, to)
					}
				}
			}
			assert.Equal(t, topo.Online.String(), seen.String(), "%d cpus %s", cpus, mode)
		}
	}
}

func TestStepFollowsThePicture(t *testing.T) {
	var p Panel
	p.Render(input(topologytest.Sized(8), 120, 40, Full)) // two columns: 0 4 1 5 and 2 6 3 7
	for _, tt := range []struct{ from, dx, dy, want int }{
		{0, 0, 1, 4}, {5, 0, 1, 2}, {2, 0, -1, 5}, {0, 0, -1, 0}, {7, 0, 1, 7},
		{1, 1, 0, 3}, {3, -1, 0, 1}, {5, 1, 0, 7}, {7, 1, 0, 7}, {0, -1, 0, 0},
	} {
		assert.Equal(t, cpuset.CPU(tt.want), p.Step(cpuset.CPU(tt.from), tt.dx, tt.dy), "%+v", tt)
	}
	p.Render(input(topologytest.Sized(512), 80, 24, Full)) // a grid
	assert.Equal(t, cpuset.CPU(256), p.Step(0, 1, 0), "its sibling stands beside it")
	below := p.Step(0, 0, 1)
	assert.Greater(t, below, cpuset.CPU(7))
	assert.Equal(t, cpuset.CPU(0), p.Step(below, 0, -1))
}

func TestRegions(t *testing.T) {
	text := func(cpus int, id cpuset.CPU) string {
		var words []string
		for _, r := range Regions(machine(cpus), id) {
			words = append(words, r.Name+"="+r.CPUs.String())
		}
		return strings.Join(words, " ")
	}
	assert.Equal(t, "cpu 0=0", text(1, 0))
	assert.Equal(t, "", text(2, 99))
	for _, cpus := range []int{2, 8, 64, 512} {
		all := Regions(machine(cpus), 1)
		for i := 1; i < len(all); i++ {
			assert.True(t, all[i-1].CPUs.SubsetOf(all[i].CPUs))
			assert.Less(t, all[i-1].CPUs.Len(), all[i].CPUs.Len())
		}
		assert.Equal(t, cpus, all[len(all)-1].CPUs.Len())
	}
	offline := topologytest.Synthetic(topologytest.Spec{Nodes: 2, CoresPerLLC: 4, Offline: "3,7"})
	for _, r := range Regions(offline, 0) {
		assert.True(t, r.CPUs.SubsetOf(offline.Online), "%s has only what is online", r.Name)
	}
}

func TestGoldenPick(t *testing.T) {
	for name, cpus := range map[string]int{"lines": 8, "folded": 64, "grid": 512} {
		t.Run(name, func(t *testing.T) {
			in := input(machine(cpus), 120, 40, Full)
			in.Pick = &Pick{At: cpuset.Of(2), Ticked: cpuset.Of(1, 2, 5)}
			var p Panel
			lines := p.Render(in)
			golden.Check(t, "pick-"+name, strings.Join(lines, "\n"), 120, 20)
			assert.Contains(t, strings.Join(lines, "\n"), "\x1b[", "the cursor is a style")
			in.Theme = theme.New(theme.Options{})
			mono := strings.Join(p.Render(in), "\n")
			assert.Regexp(t, `\x1b\[(1;)?7m`, mono, "in reverse where there are no colours")
		})
	}
}

func TestCursorCoversWholeGroups(t *testing.T) {
	topo := topologytest.Sized(8)
	in := input(topo, 120, 40, Full)
	wide := Regions(topo, 0)
	in.Pick = &Pick{At: wide[len(wide)-1].CPUs}
	var p Panel
	for _, l := range p.Render(in) {
		assert.True(t, strings.HasPrefix(l, th.Selected.Render("x")[:3]), "%q", ansi.Strip(l))
	}
}
