package dialog

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/assert"

	"piton/internal/cpuset"
	"piton/internal/topology/topologytest"
	"piton/internal/tui/theme"
)

func mustSet(t *testing.T, list string) cpuset.Set {
	t.Helper()
	s, err := cpuset.Parse(list)
	assert.NoError(t, err)
	return s
}

// editor is the affinity editor on a machine of n CPUs with a load on it.
func editor(n int) *Affinity {
	topo := topologytest.Sized(n)
	load := LoadMsg{}
	for _, c := range topo.CPUs {
		load[c.ID] = float32(int(c.ID)*37%101) / 100
	}
	return NewAffinity(AffinityOptions{Subject: "nqueens (3641), 4 threads", Topology: topo, Current: topo.Online,
		Load: load, LeastLoaded: topo.Online.Last()})
}

func TestAffinityKeys(t *testing.T) {
	for _, c := range []struct{ keys, want string }{
		{"enter", "0-7"},
		{"n down space enter", "0"},                  // core 0 is CPUs 0 and 4; the row below it is CPU 0
		{"n space enter", "0,4"},                     // the core's own row
		{"n space space a i a enter", "0-7"},         // nothing, all, inverted, all
		{"space enter", "1-3,5-7"},                   // unticked
		{"down space i enter", "0"},                  // one off, inverted
		{"n end space enter", "7"},                   // the last row is CPU 7
		{"n down down left left space enter", "0,4"}, // from a CPU to its core
		{"n left down space enter", "1,5"},           // core 0 folded
		{"n left right down space enter", "0"},       // and unfolded
		{"n l 1 : enter esc space enter", "0,4"},     // a typed list that is wrong, given up
		{"l 2 - 5 : 3 enter enter", "2,5"},
	} {
		out := press(editor(8), c.keys)
		set, _ := out.Value.(cpuset.Set)
		assert.Equal(t, c.want, set.String(), c.keys)
		assert.True(t, out.Done, c.keys)
	}
}

func TestAffinityRefusesInWords(t *testing.T) {
	shows := func(a *Affinity, text string) {
		t.Helper()
		assert.Contains(t, ansi.Strip(a.Render(100, 30, plain)), text)
	}
	a := editor(8)
	assert.Equal(t, Outcome{}, press(a, "n enter"))
	shows(a, "tick at least one CPU")

	press(a, "l")
	assert.NotContains(t, ansi.Strip(a.Render(80, 20, plain)), "a term is missing", "nothing is typed yet")
	press(a, "9 9 enter")
	shows(a, "99")
	press(a, "esc")
	assert.Nil(t, a.Cursor())

	topo := topologytest.Synthetic(topologytest.Spec{CoresPerLLC: 8, Offline: "7", Isolated: "2"})
	a = NewAffinity(AffinityOptions{Subject: "x", Topology: topo, Current: mustSet(t, "0-6"), Allowed: mustSet(t, "0-5,7"), LeastLoaded: -1})
	assert.Equal(t, Outcome{}, press(a, "end space"))
	shows(a, "cpu 7: offline")
	press(a, "l 6 enter")
	shows(a, "cpu 6: outside the cpuset of the process")
	press(a, "esc")
	assert.Equal(t, "0-5", press(a, "a enter").Value.(cpuset.Set).String())
	shows(a, "isolated")
}

func TestAffinityTakesLiveLoad(t *testing.T) {
	a := editor(2)
	a.Update(LoadMsg{0: 0.42})
	text := ansi.Strip(a.Render(80, 20, plain))
	assert.Contains(t, text, "42%")
	assert.NotContains(t, text, "37%", "cpu 1 has no value now")
}

func TestAffinityOnMixedMasks(t *testing.T) {
	a := editor(8)
	a.Mixed = true
	assert.Contains(t, ansi.Strip(a.Render(80, 20, plain)), "threads differ, together 0-7 → 0-7")
}

func TestAffinityLooks(t *testing.T) {
	for _, n := range []int{1, 2, 8, 64, 512} {
		a := editor(n)
		press(a, "down space")
		checkGolden(t, fmt.Sprintf("affinity-%d", n), a)
	}
	a := editor(512)
	press(a, "n right down right down right down space")
	checkGolden(t, "affinity-512-open", a)
	a = editor(8)
	press(a, "l 0 - 6 : 2")
	checkGolden(t, "affinity-typing", a)
}

func BenchmarkAffinity512(b *testing.B) {
	a, th := editor(512), theme.New(theme.Options{Depth: theme.Colors16})
	for b.Loop() {
		a.Render(116, 38, th)
	}
}

func TestMemoryFollows(t *testing.T) {
	for _, offered := range []bool{true, false} {
		a := NewAffinity(AffinityOptions{Topology: topologytest.Sized(8), Current: cpuset.Of(0), Memory: offered})
		assert.Equal(t, offered, strings.Contains(ansi.Strip(a.Render(80, 24, plain)), "memory follows"))
		out := press(a, "m enter")
		assert.Equal(t, "0", out.Value.(cpuset.Set).String())
		assert.Equal(t, offered, a.MemoryFollows)
	}
}
