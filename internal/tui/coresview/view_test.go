package coresview

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/field"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/sample"
	"piton/internal/topology"
	"piton/internal/topology/topologytest"
	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
	"piton/internal/tuitest"
	"piton/internal/tuitest/golden"
)

// chrome is what the screen has around a view: header, tabs, summary, keys.
const chrome = 4

var sizes = [][2]int{{80, 24}, {120, 40}, {200, 50}}

// check compares a frame with its golden file at each size.
func check(t *testing.T, name string, v *View) {
	t.Helper()
	for _, s := range sizes {
		golden.Check(t, fmt.Sprintf("%s-%dx%d", name, s[0], s[1]), v.Render(s[0], s[1]-chrome, plain), s[0], s[1]-chrome)
	}
}

func TestMapGolden(t *testing.T) {
	machines := map[string]*topology.Topology{
		"2n4l16c": topologytest.Synthetic(topologytest.Spec{Nodes: 2, LLCsPerNode: 2, CoresPerLLC: 2, Threads: 2}),
		"256cpus": topologytest.Synthetic(topologytest.Spec{Nodes: 4, LLCsPerNode: 4, CoresPerLLC: 8, Threads: 2}),
	}
	for _, cpus := range []int{1, 2, 8, 64, 512} {
		machines[fmt.Sprintf("%dcpus", cpus)] = topologytest.Sized(cpus)
	}
	for name, topo := range machines {
		f, v := newFakeOn(topo), New((&asked{}).options())
		f.intervals = func(int) []sample.RunInterval { return usualStays(max(v.beside, 0)) }
		f.fill(v, 12)
		v.Render(120, 36, plain)
		f.fill(v, 5)
		check(t, "map-"+name, v)
	}
}

func TestMapGoldenUnfolded(t *testing.T) {
	for _, cpus := range []int{64, 512} {
		f, v := newFake(cpus), New((&asked{}).options())
		f.fill(v, 12)
		v.Render(80, 20, plain)
		for v.shown != model.ByCPU {
			press(v, "f")
		}
		check(t, fmt.Sprintf("cpus-%dcpus", cpus), v)
	}
}

func TestASCIIGolden(t *testing.T) {
	f, v := newFake(64), New((&asked{}).options())
	f.fill(v, 12)
	frame := v.Render(120, 36, theme.New(theme.Options{ASCII: true}))
	golden.Check(t, "map-ascii-120x40", frame, 120, 36)
	for _, c := range frame {
		require.Less(t, c, rune(128))
	}
}

func TestEveryWindowSizeIsDrawn(t *testing.T) {
	for _, cpus := range []int{1, 8, 512} {
		f, v := newFake(cpus), New((&asked{}).options())
		f.intervals = func(int) []sample.RunInterval { return usualStays(0) }
		assert.Contains(t, drawn(v, 40, 5), "waiting")
		f.fill(v, 3)
		for _, keys := range []string{"", "enter", "esc c", "enter"} {
			press(v, keys)
			f.step(v)
			for _, size := range [][2]int{{0, 0}, {1, 1}, {5, 2}, {20, 5}, {40, 12}, {300, 100}} {
				within(t, v.Render(size[0], size[1], plain), size[0], size[1])
			}
		}
	}
}

// drawn is a frame without its styles.
func drawn(v *View, width, height int) string { return ansi.Strip(v.Render(width, height, plain)) }

// within checks that a frame stays in its window.
func within(t *testing.T, frame string, width, height int) {
	t.Helper()
	lines := strings.Split(frame, "\n")
	assert.LessOrEqual(t, len(lines), max(height, 1), "%dx%d", width, height)
	for _, l := range lines {
		assert.LessOrEqual(t, ansi.StringWidth(l), width, "%dx%d: %q", width, height, l)
	}
}

func TestCellLineSaysWhatTheCellIs(t *testing.T) {
	f, v := newFake(64), New((&asked{}).options())
	f.moves = func(int) []sample.Move {
		return []sample.Move{{TID: 3641, From: 3, To: 20, Count: 30}, {TID: 3642, From: 3, To: 20, Count: 11},
			{TID: 3642, From: 3, To: 4, Count: 2}}
	}
	f.fill(v, 12)
	v.level = int(model.ByCPU)
	assert.Contains(t, drawn(v, 200, 60), "cpu 3 → cpu 20: 41/s, other node, 2 tasks, most by nqueens (3641)")
	press(v, "n n")
	assert.Contains(t, drawn(v, 200, 60), "cpu 3 → cpu 4: 2.0/s, same LLC, 1 task")
	press(v, "left")
	assert.Contains(t, drawn(v, 200, 60), "cpu 3: a migration is between two CPUs")
	press(v, "down")
	assert.Contains(t, drawn(v, 200, 60), "cpu 4 → cpu 3: no migrations, same LLC")
	v.put(v.grouped(model.ByCPU), 3, 4)
	press(v, "f")
	assert.Contains(t, drawn(v, 200, 60), "within LLC 0: 2.0/s, same LLC, 1 task", "the cursor stays where it was")
}

func TestWindowKeyChangesTheSpan(t *testing.T) {
	f, v := newFake(8), New((&asked{}).options())
	f.moves = func(tick int) []sample.Move {
		if tick == 19 {
			return []sample.Move{{TID: 1, From: 0, To: 1, Count: 60}}
		}
		return nil
	}
	f.fill(v, 21)
	assert.Contains(t, drawn(v, 120, 36), "last 10 s  6.0/s")
	press(v, "w")
	assert.Contains(t, drawn(v, 120, 36), "last 20 s of 60 s  3.0/s, exact (eBPF)", "what is known yet")
	press(v, "w")
	assert.Contains(t, drawn(v, 120, 36), "last 1 s  0/s")
}

func TestKeysMoveOverTheCells(t *testing.T) {
	f, v := newFake(64), New((&asked{}).options())
	f.fill(v, 3)
	v.Render(80, 20, plain)
	g := v.grouped(v.shown)
	require.Equal(t, model.ByLLC, v.shown)
	at := func() [2]int { i, j := v.cell(g); return [2]int{i, j} }
	press(v, "home")
	assert.Equal(t, [2]int{0, 0}, at())
	press(v, "up left")
	assert.Equal(t, [2]int{0, 0}, at())
	press(v, "down down up right right")
	assert.Equal(t, [2]int{1, 2}, at())
	press(v, "pgdown")
	assert.Equal(t, [2]int{7, 2}, at())
	press(v, "end right down")
	assert.Equal(t, [2]int{7, 7}, at())
	press(v, "pgup")
	assert.Equal(t, [2]int{0, 7}, at())
	press(v, "f")
	assert.Equal(t, model.ByNode, v.shown)
	press(v, "f")
	assert.Equal(t, model.ByCPU, v.shown)
	assert.Equal(t, []bool{false}, press(v, "esc"), "nothing is open")
}

func TestUnfoldingGoesToTheBusiestPart(t *testing.T) {
	f, v := newFake(64), New((&asked{}).options())
	f.moves = func(int) []sample.Move {
		return []sample.Move{{TID: 1, From: 9, To: 20, Count: 3}, {TID: 1, From: 12, To: 18, Count: 4}, {TID: 1, From: 50, To: 51, Count: 99}}
	}
	f.fill(v, 3)
	v.Render(80, 20, plain)
	press(v, "home down right right f") // LLC 1 → LLC 2; by node
	i, j := v.cell(v.grouped(model.ByNode))
	assert.Equal(t, [2]int{0, 1}, [2]int{i, j})
	press(v, "f")
	assert.Contains(t, drawn(v, 80, 20), "cpu 12 → cpu 18: 4.0/s, other node, 1 task")
}

func TestTheCursorStaysOnItsTask(t *testing.T) {
	f, v := newFake(8), New((&asked{}).options())
	f.moves = func(tick int) []sample.Move {
		return []sample.Move{{TID: 3641, From: 0, To: 1, Count: 5}, {TID: 3642, From: 0, To: 1, Count: uint32(tick)}}
	}
	f.fill(v, 4)
	v.Render(120, 36, plain)
	press(v, "home right right enter")
	v.Render(120, 36, plain)
	assert.Equal(t, kernel.TID(3641), v.tasks.At())
	f.fill(v, 10)
	v.Render(120, 36, plain)
	assert.Equal(t, kernel.TID(3641), v.tasks.At())
	assert.Equal(t, "2/2", v.tasks.Position(), "3642 moves more by now")
}

func TestCellOpensItsTasks(t *testing.T) {
	var a asked
	f, v := newFake(8), New(a.options())
	f.moves = func(tick int) []sample.Move {
		return []sample.Move{{TID: 3641, From: 0, To: 1, Count: 5}, {TID: 3642, From: 0, To: 1, Count: uint32(tick)},
			{TID: 60000, From: 0, To: 1, Count: 1}, {TID: 980, From: 1, To: 0, Count: 1}}
	}
	f.fill(v, 4)
	v.Render(120, 36, plain)
	press(v, "home right right enter") // display order is 0 4 1 5 …
	var n sample.Needs
	v.Needs(&n)
	assert.True(t, n.Threads)
	check(t, "tasks", v)
	press(v, "down")
	f.fill(v, 30)
	assert.Contains(t, lineWith(drawn(v, 120, 36), "3642"), "▌", "the cursor stays on its task")
	press(v, "enter end enter")
	assert.Equal(t, []Target{{TID: 3642, TGID: 3642, StartTicks: 36420}, {TID: 60000}}, a.jumped)
	press(v, "esc")
	assert.Contains(t, drawn(v, 120, 36), "Migrations between CPUs")
	press(v, "home enter enter")
	assert.Contains(t, drawn(v, 120, 36), "no task moved there")
	assert.Len(t, a.jumped, 2)
}

func TestWithoutMovesThePageSaysWhy(t *testing.T) {
	f, v := newFake(8), New((&asked{}).options())
	f.Source = sample.SourcePerf
	f.fill(v, 20)
	v.m.Sample.Collectors = []sample.Collector{{Name: "migrations", Better: "CAP_BPF and CAP_PERFMON; sudo piton"}}
	check(t, "no-moves", v)
	assert.Equal(t, []bool{false}, press(v, "esc"))
	v.m.Sample.Collectors = nil
	assert.Contains(t, drawn(v, 120, 36), "counts migrations into each CPU only")
	v.m.Sample.Collectors = []sample.Collector{{Name: "migrations", Better: "CAP_BPF"}}
	assert.Contains(t, drawn(v, 120, 36), "needs eBPF: CAP_BPF")
	press(v, "down enter")
	f.fill(v, 2)
	assert.Contains(t, drawn(v, 120, 36), "Counting started")
	f.fill(v, 2)
	assert.Contains(t, drawn(v, 120, 36), "needs eBPF: the source")
	v.m.Sample.Collectors = []sample.Collector{{Name: "ledger", Err: errors.New("CAP_PERFMON is missing")}}
	assert.Contains(t, drawn(v, 120, 36), "needs eBPF: CAP_PERFMON is missing", "the ledger's own reason")
	v.m.Sample.Migrations = sample.SourceSampled
	v.m.Sample.Collectors = []sample.Collector{{Name: "migrations", Better: "perf needs a sysctl"}, {Name: "tasks", Better: "eBPF needs CAP_BPF"}}
	assert.Contains(t, drawn(v, 120, 36), "needs eBPF: eBPF needs CAP_BPF", "perf could not tell either")
	press(v, "esc")
	assert.Contains(t, drawn(v, 120, 36), "MIG IN")
}

func TestCPUsAreListed(t *testing.T) {
	f, v := newFake(8), New((&asked{}).options())
	f.fill(v, 20)
	v.Render(120, 36, plain)
	press(v, "home c")
	check(t, "cpus", v)
	press(v, "down")
	assert.Equal(t, cpuset.CPU(4), v.cores.At(), "siblings are neighbours")
	press(v, "enter")
	assert.Equal(t, ledgerMode, v.mode)
	press(v, "esc")
	assert.Equal(t, coreMode, v.mode)
	press(v, "esc")
	assert.Equal(t, mapMode, v.mode)
}

func TestLedgerOfAGroupAsksForTheCPU(t *testing.T) {
	f, v := newFake(64), New((&asked{}).options())
	f.fill(v, 2)
	v.Render(80, 20, plain)
	press(v, "end l")
	assert.Equal(t, coreMode, v.mode)
	assert.Equal(t, cpuset.CPU(56), v.cpu, "the first one of the last cache")
}

func TestCPUsWithoutPlaces(t *testing.T) {
	topo := topologytest.Synthetic(topologytest.Spec{Nodes: 2, CoresPerLLC: 2, Offline: "1"})
	f := &fake{Machine: tuitest.New(topo)}
	f.Source = sample.SourceBPF
	f.moves = func(int) []sample.Move {
		return []sample.Move{{TID: 1, From: 1, To: 2, Count: 9}, {TID: 1, From: 0, To: 2, Count: 1}}
	}
	v := New((&asked{}).options())
	f.fill(v, 3)
	assert.Contains(t, drawn(v, 120, 36), "18 of offline CPUs", "moves off a CPU that went offline are told, not drawn")
	assert.Equal(t, uint64(20), v.table().Classes[topology.OtherNode])
	f.Topology, f.CPUs = topologytest.Sized(8), make([]sample.CPU, 8)
	f.fill(v, 1)
	assert.Contains(t, drawn(v, 120, 36), "cpu 7", "another topology is used at once")
}

func TestFiguresFitTheirCells(t *testing.T) {
	for want, v := range map[string]float64{"0": 0, "~0": 0.001, ".02": 0.0167, "0.1": 0.096, "9.9": 9.94, "10": 9.96, "999": 999.4,
		"1.0k": 999.6, "9.9k": 9940, "10k": 9960, "999k": 999400, "1.0M": 999600} {
		assert.Equal(t, want, field.Rate(v))
	}
	for want, d := range map[string]time.Duration{"last 0 s": 0, "last 350 ms": 350 * time.Millisecond, "last 1 s": 999600 * time.Microsecond,
		"last 10 s": 10003 * time.Millisecond} {
		assert.Equal(t, want, lastSpan(d))
	}
}

func TestBetweenCPUs(t *testing.T) {
	for want, m := range map[string]model.Mover{
		"0⇄1":    {Count: 10, CPUs: 2, A: 0, B: 1, Out: 5, Back: 5},
		"1→0":    {Count: 10, CPUs: 3, A: 1, B: 0, Out: 6},
		"3 CPUs": {Count: 10, CPUs: 3, A: 1, B: 0, Out: 4},
	} {
		assert.Equal(t, want, mover{Mover: m}.between())
	}
	assert.Equal(t, "0<>1", rows.Text(theme.New(theme.Options{ASCII: true}), "0⇄1"))
}
