package tui

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"

	"piton/internal/action"
	"piton/internal/bench"
	"piton/internal/field"
	"piton/internal/kernel"
	"piton/internal/tui/proctable"
)

// TestRandomUse presses keys, clicks, resizes and lets time pass at random, and holds
// the screen to its rules after each step: no line is wider than the window, the
// cursor's row is on the page, the order is the sorted order, no share of a CPU is above
// 100 %, and what is selected changes only by a key or because it has ended.
func TestRandomUse(t *testing.T) {
	seeds := 24
	if testing.Short() {
		seeds = 4
	}
	if n, err := strconv.Atoi(os.Getenv("SEEDS")); err == nil {
		seeds = n
	}
	for seed := range seeds {
		t.Run(strconv.Itoa(seed), func(t *testing.T) {
			cpus := []int{1, 2, 8, 64}[seed%4]
			on(t, cpus, 120, 40, func(r *rig) { newPlayer(r, uint64(seed)).play(80) }, func(d *Deps) { d.Bench.Runner = noRunner{} })
		})
	}
}

// noRunner has a study fail at once.
type noRunner struct{}

func (noRunner) Run(context.Context, bench.Study, func(bench.Event)) (bench.Results, error) {
	return bench.Results{}, errors.New("no runs here")
}

func (n noRunner) Extend(ctx context.Context, r bench.Results, on func(bench.Event)) (bench.Results, error) {
	return n.Run(ctx, r.Study, on)
}

func (n noRunner) Trial(ctx context.Context, s bench.Study) (bench.Results, error) {
	return n.Run(ctx, s, nil)
}

type player struct {
	*rig
	rnd  *rand.Rand
	keys []string
	log  []string
}

func newPlayer(r *rig, seed uint64) *player {
	p := &player{rig: r, rnd: rand.New(rand.NewPCG(seed, 13))}
	for _, v := range table() {
		if !slices.Contains([]string{"app.quit", "app.suspend"}, v.ID) {
			p.keys = append(p.keys, v.Keys...)
		}
	}
	p.keys = append(p.keys, "n", "y", "$", "9", "backspace")
	return p
}

func (p *player) play(steps int) {
	for range steps {
		before, where := p.key(), p.m.view
		byKey := p.step()
		p.check(before, byKey, where)
	}
}

// step does something, and reports whether it was a key or a click.
func (p *player) step() bool {
	note := func(format string, args ...any) { p.log = append(p.log, fmt.Sprintf(format, args...)) }
	switch n := p.rnd.IntN(100); {
	case n < 18:
		note("key esc")
		p.press("esc")
	case n < 55:
		key := p.keys[p.rnd.IntN(len(p.keys))]
		note("key %s", key)
		p.press(key)
	case n < 65:
		x, y := p.rnd.IntN(max(p.m.width, 1)), p.rnd.IntN(max(p.m.height, 1))
		note("click %d,%d", x, y)
		p.send(tea.MouseClickMsg{X: x, Y: y, Button: []tea.MouseButton{tea.MouseLeft, tea.MouseRight}[p.rnd.IntN(2)]})
	case n < 70:
		note("wheel")
		p.send(tea.MouseWheelMsg{X: 5, Y: p.m.height / 2, Button: []tea.MouseButton{tea.MouseWheelUp, tea.MouseWheelDown}[p.rnd.IntN(2)]})
	case n < 78:
		w, h := 1+p.rnd.IntN(220), 1+p.rnd.IntN(60)
		note("size %dx%d", w, h)
		p.send(tea.WindowSizeMsg{Width: w, Height: h})
		return false
	default:
		p.happen(note)
		p.tickRun()
		return false
	}
	return true
}

// happen changes the machine: tasks start, end, get busy, move.
func (p *player) happen(note func(string, ...any)) {
	procs := p.machine.Procs
	switch n := p.rnd.IntN(4); {
	case n == 0 && len(procs) < 90:
		pid := kernel.TID(20000 + p.rnd.IntN(5000))
		if p.machine.Proc(pid) == nil {
			note("start %d", pid)
			p.machine.Add(pid, 1, "new", "new --task", "balu", p.rnd.Float64(), p.rnd.IntN(300), p.machine.Topology.Online.CPUs())
		}
	case n == 1 && len(procs) > 3:
		pid := procs[2+p.rnd.IntN(len(procs)-2)].Task.TID
		note("end %d", pid)
		p.machine.Kill(pid)
	case len(procs) > 0:
		of := procs[p.rnd.IntN(len(procs))]
		of.Busy, of.Moves = p.rnd.Float64(), p.rnd.IntN(500)
		note("busy %d %.2f, %d moves", of.Task.TID, of.Busy, of.Moves)
	default:
		note("tick")
	}
}

var percents = regexp.MustCompile(`(\d+)%`)

func (p *player) check(before proctable.Key, byKey bool, view action.Context) {
	p.t.Helper()
	frame := p.m.View().Content
	say := func() string { return "after " + strings.Join(p.log, "; ") + "\n" + ansi.Strip(frame) }
	lines := strings.Split(frame, "\n")
	require.LessOrEqual(p.t, len(lines), max(p.m.height, 1), say())
	for _, l := range lines {
		require.LessOrEqual(p.t, ansi.StringWidth(l), p.m.width, say())
	}
	panel := p.m.area("panel")
	for y := range min(panel.height, len(lines)) {
		for _, share := range percents.FindAllStringSubmatch(ansi.Strip(lines[min(panel.y+y, len(lines)-1)]), -1) {
			n, _ := strconv.Atoi(share[1])
			require.LessOrEqual(p.t, n, 100, say())
		}
	}
	table := p.m.procs.Table
	if p.m.width < leastWidth || p.m.height < leastHeight || table.Len() == 0 {
		return
	}
	if p.m.view == action.Processes && p.m.dialogs.Empty() && p.m.area("list").height > 1 {
		require.Contains(p.t, ansi.Strip(frame), "\n"+p.m.th.Cursor, say())
	}
	if v := table.View(); v.Sort != nil && v.Tree == 0 {
		shown := table.Rows()
		sorted := slices.Sorted(slices.Values(shown))
		field.Sort(sorted, table.Model(), *v.Sort, v.Desc)
		require.Equal(p.t, sorted, shown, "by %s: %s", v.Sort.ID, say())
	}
	now := p.key()
	if !byKey && view == p.m.view && now != before && table.Index(before) >= 0 {
		require.Equal(p.t, before, now, "the selection moved by itself: %s", say())
	}
}

func (p *player) key() proctable.Key {
	row, ok := p.m.procs.Selected()
	if !ok {
		return proctable.Key{}
	}
	return proctable.KeyOf(row.Task())
}
