package tui

import (
	"fmt"
	"image/color"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/assert"

	"piton/internal/tui/theme"
	"piton/internal/tuitest/golden"
)

func TestGoldenFrames(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 50}, {20, 5}} {
		for _, cpus := range []int{1, 2, 8, 64, 512} {
			name := fmt.Sprintf("main-%dx%d-%dcpus", size[0], size[1], cpus)
			t.Run(name, func(t *testing.T) {
				on(t, cpus, size[0], size[1], func(r *rig) { golden.Check(t, name, r.text(), size[0], size[1]) })
			})
		}
	}
}

func TestGoldenStates(t *testing.T) {
	for name, keys := range map[string][]string{
		"detail":     {"enter"},
		"tree":       {"t"},
		"groups":     {"t", "t"},
		"kernel":     {"K"},
		"tagged":     {"space", "space"},
		"affinity":   {"a"},
		"bench":      {"b"},
		"journal":    {"5"},
		"help":       {"?"},
		"setup":      {"f2"},
		"sort menu":  {"f6"},
		"filter":     {"f4", "n", "q"},
		"folded":     {"#"},
		"hidden":     {"#", "#"},
		"bouncing":   {"B"},
		"undo no":    {"z"},
		"scrolled":   {"right", "right"},
		"policy":     {"Y"},
		"pinned":     {"p"},
		"environ":    {"e"},
		"no results": {"f4", "x", "y", "z", "enter"},
	} {
		t.Run(name, func(t *testing.T) {
			onSmall(t, func(r *rig) {
				r.press(keys...)
				golden.Check(t, "state-"+strings.ReplaceAll(name, " ", "-"), r.text(), 120, 40)
			})
		})
	}
}

func TestEverySizeIsFilledAndNeverExceeded(t *testing.T) {
	for _, cpus := range []int{2, 64} {
		on(t, cpus, 80, 24, func(r *rig) {
			for _, keys := range [][]string{nil, {"enter"}, {"2"}, {"3"}, {"3", "C", "space"}, {"esc", "esc", "d"}, {"4"}, {"5"},
				{"1", "o"}, {"end", "up", "up", "enter"}, {"esc", "Y", "d"}, {"t"}, {"esc", "esc", "C", "+", "space"}, {"esc", "d", "+"},
				{"esc", "?"}} {
				r.press(keys...)
				everySize(t, r)
				r.send(tea.WindowSizeMsg{Width: 80, Height: 24})
			}
		})
	}
}

func everySize(t *testing.T, r *rig) {
	right, down := 13, 4
	if testing.Short() {
		right, down = 38, 9
	}
	for w := 0; w < 230; w += right {
		for h := 0; h < 60; h += down {
			r.send(tea.WindowSizeMsg{Width: w, Height: h})
			lines := strings.Split(r.m.View().Content, "\n")
			if w == 0 || h == 0 {
				assert.Equal(t, []string{""}, lines)
				continue
			}
			assert.Len(t, lines, h, "%dx%d", w, h)
			for _, l := range lines {
				assert.LessOrEqual(t, ansi.StringWidth(l), w, "%dx%d %q", w, h, l)
			}
		}
	}
}

func TestTooSmallSaysSo(t *testing.T) {
	on(t, 2, 10, 3, func(r *rig) { assert.Contains(t, r.text(), "too small") })
}

func TestNothingFromATaskReachesTheTerminalRaw(t *testing.T) {
	on(t, 2, 200, 50, func(r *rig) {
		r.press("enter")
		content := r.m.View().Content
		assert.Contains(t, r.text(), "evil")
		for _, raw := range []string{"\x1b]", "\a", "\x1b[31m) (x"} {
			assert.NotContains(t, content, raw)
		}
		r.press("e")
		assert.Contains(t, r.text(), "EVIL=")
		assert.NotContains(t, r.m.View().Content, "\x1b[2J")
	})
}

func TestNoColour(t *testing.T) {
	onSmall(t, func(r *rig) {
		for _, keys := range [][]string{nil, {"o"}, {"esc", "C", "space"}, {"esc", "d", "+"}, {"enter"}} {
			r.press(keys...)
			assert.NotRegexp(t, `\x1b\[([0-9;]*;)?(3|4|9|10)[0-8]([;m])`, r.m.View().Content, "%v", keys)
		}
	}, func(d *Deps) { d.Theme = theme.Options{} })
}

func TestASCII(t *testing.T) {
	onSmall(t, func(r *rig) {
		for _, keys := range [][]string{nil, {"enter"}, {"esc", "t"}, {"space"}, {"p"}, {"o"}, {"end", "up", "up", "enter"}, {"esc", "Y", "d"},
			{"esc", "C", "space", "f"}, {"esc", "esc", "d", "+"}, {"esc", "3", "space", "o"}, {"esc", "d"}, {"enter"}} {
			r.press(keys...)
			for _, c := range r.text() {
				assert.Less(t, c, rune(128), "%v %q in %s", keys, c, r.text())
			}
		}
	}, func(d *Deps) { d.Theme = theme.Options{ASCII: true} })
}

func TestLightBackground(t *testing.T) {
	onSmall(t, func(r *rig) {
		dark := r.m.View().Content
		r.send(tea.BackgroundColorMsg{Color: color.White})
		assert.NotEqual(t, dark, r.m.View().Content)
		assert.Equal(t, theme.Light, r.m.th.Background)
	})
}

func TestEveryBarItemIsAVerbOfItsView(t *testing.T) {
	for view, ids := range barOrder {
		for _, id := range append(slices.Clone(ids), barLast) {
			if s := table().byID(id); assert.NotNil(t, s, id) {
				key := s.Keys[0]
				clicked := table().forKey(key, view)
				assert.Same(t, s, clicked, "a click on %s in %s presses %s", id, view, key)
			}
		}
	}
}

func TestIdleMachineKeepsItsFrame(t *testing.T) {
	onSmall(t, func(r *rig) {
		for _, p := range r.machine.Procs {
			p.Busy, p.Moves = 0, 0
		}
		for range 70 {
			r.tick()
		}
		before := r.text()
		r.tick()
		assert.Equal(t, before, r.text())
	})
}

func TestQuit(t *testing.T) {
	for _, key := range []string{"q", "f10", "ctrl+c"} {
		onSmall(t, func(r *rig) {
			r.press(key)
			assert.True(t, r.Quit, key)
		})
	}
}
