package tui

import (
	"fmt"
	"slices"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/field"
	"piton/internal/tui/proctable"
	"piton/internal/tuitest/golden"
)

// ids are those of the columns of the list.
func (r *rig) ids() (out []string) {
	for _, c := range r.m.procs.View().Columns {
		out = append(out, c.ID)
	}
	return out
}

func TestLayoutsGoRound(t *testing.T) {
	onSmall(t, func(r *rig) {
		assert.Contains(t, r.line(6), "[1 Processes]  2 Cores   3 IRQs   4 Bench   5 Journal   [main] io  migrations  memory ")
		main := r.ids()
		r.press("f5", "L")
		assert.Contains(t, r.line(6), " main [io] migrations ")
		assert.Equal(t, "write_bytes_per_s", r.m.procs.View().Sort.ID)
		assert.Equal(t, proctable.Flat, r.m.procs.View().Tree)
		assert.True(t, r.sampler.needs.IO && !r.sampler.needs.Switches, "what the layout's columns need, and no more")
		r.press("L")
		assert.Equal(t, "migrations_per_s", r.m.procs.View().Sort.ID)
		assert.True(t, r.sampler.needs.Switches && !r.sampler.needs.IO)
		r.press("N", "L", "L")
		assert.True(t, r.sampler.needs.CPUGroups, "of the rows on the screen")
		assert.True(t, r.sampler.needs.Waits && !r.sampler.needs.EveryWait, "of these alone")
		assert.False(t, r.sampler.needs.Identity)
		r.press("N", "W")
		assert.Equal(t, "run_delay_percent", r.m.procs.View().Sort.ID)
		r.press("L")
		assert.False(t, r.sampler.needs.Waits, "nothing is attached that is not shown")
		r.press("W")
		r.press("L")
		assert.Equal(t, main, r.ids())
		assert.Equal(t, proctable.ByParent, r.m.procs.View().Tree, "as it was left")
		r.press(":", "l", "a", "y", "o", "u", "t", ".", "m", "i", "enter")
		assert.Equal(t, "pid", r.m.procs.View().Sort.ID, "as it was left, too")
		r.send(tea.MouseClickMsg{X: r.area("layout").x - 2 + 3, Y: r.area("layout").y, Button: tea.MouseLeft})
		assert.Equal(t, main, r.ids())
		r.send(tea.MouseClickMsg{X: r.area("layout").x - 2 + 10, Y: r.area("layout").y, Button: tea.MouseLeft})
		assert.Contains(t, r.ids(), "read_bytes_per_s")
		assert.Empty(t, r.settings.saved, "nothing of it outlives the session")
	})
}

func TestLayoutsOnANarrowScreen(t *testing.T) {
	on(t, 2, 80, 24, func(r *rig) {
		assert.NotContains(t, r.text(), "memory")
		r.press("L")
		assert.Contains(t, r.text(), "layout io")
		assert.Contains(t, r.text(), "WRITE/s▾")
	})
}

func TestLayoutsAreKept(t *testing.T) {
	last := func(r *rig) Saved {
		require.NotEmpty(t, r.settings.saved)
		return r.settings.saved[len(r.settings.saved)-1]
	}
	onSmall(t, func(r *rig) {
		r.press("N", "f2", "down", "down", "enter") // on to the layouts
		assert.Contains(t, r.text(), "the usual columns")
		r.press("s", "a", "v", "e", "enter", "m", "i", "n", "e", "enter")
		assert.Equal(t, []proctable.Layout{{Name: "mine", Columns: last(r).Columns, Sort: "pid", View: "list"}}, last(r).Layouts)
		assert.Contains(t, r.line(6), "[mine]")
		assert.NotNil(t, r.m.verbs.byID("layout.mine"))

		r.press(":", "c", "o", "l", "u", "m", "n", ".", "n", "i", "enter")
		assert.NotContains(t, last(r).Layouts[0].Columns, "nice", "a column belongs to the layout that shows it")
		assert.Empty(t, last(r).Columns)

		r.press(":", "l", "a", "y", "o", "u", "t", "s", ":", "enter", "r", "e", "n", "enter", "2", "enter")
		assert.Equal(t, "mine2", last(r).Layouts[0].Name)
		r.press(":", "l", "a", "y", "o", "u", "t", "s", ":", "enter", "d", "e", "l", "enter")
		assert.Empty(t, last(r).Layouts)
		assert.Contains(t, r.line(6), "[main]")
		assert.Nil(t, r.m.verbs.byID("layout.mine2"))
		r.press(":", "l", "a", "y", "o", "u", "t", "s", ":", "enter", "d", "e", "l", "enter")
		assert.Contains(t, r.text(), "delete: main is built in")
	})
}

func TestOwnLayouts(t *testing.T) {
	own := []proctable.Layout{{Name: "io", Columns: []string{"pid", "user:14", "command"}, Sort: "-pid", View: "groups", Filter: "cpu>5"}}
	onSmall(t, func(r *rig) {
		r.press("ctrl+n")
		v := r.m.procs.View()
		assert.Equal(t, []string{"pid", "user", "command"}, r.ids())
		assert.Equal(t, 14, v.Widths["user"])
		assert.Contains(t, r.text(), " PID▾ USER           COMMAND")
		assert.True(t, v.Desc)
		assert.Equal(t, "cpu>5", v.Filter.String())
		assert.Equal(t, proctable.ByGroup, v.Tree)
	}, func(d *Deps) { d.Layouts, d.Keys = own, map[string][]string{"layout.io": {"ctrl+n"}} })
	keys := map[string][]string{"layout.mine": {"ctrl+n"}, "layout.yours": {"ctrl+b"}}
	assert.Equal(t, []string{`keys: there is no action "layout.yours"; piton help keys lists them`},
		CheckKeys(keys, []proctable.Layout{{Name: "mine"}}))
}

func TestBuiltInLayoutsAreRight(t *testing.T) {
	for _, l := range proctable.BuiltIn() {
		for _, id := range l.Columns {
			c, _ := field.Lookup(id)
			assert.Equal(t, id, c.ID)
		}
		assert.True(t, l.Sort == "" || slices.Contains(l.Columns, l.Sort))
	}
}

func TestLayoutsLook(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}} {
		on(t, 8, size[0], size[1], func(r *rig) {
			for _, name := range []string{"io", "migrations", "memory", "waits"} {
				r.press("L")
				golden.Check(t, fmt.Sprintf("layout-%s-%dx%d", name, size[0], size[1]), r.text(), size[0], size[1])
			}
		})
	}
}
