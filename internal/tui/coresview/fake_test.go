package coresview

import (
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/sample"
	"piton/internal/topology"
	"piton/internal/topology/topologytest"
	"piton/internal/tui/theme"
	"piton/internal/tuitest"
)

// fake is a machine whose source tells moves and stays.
type fake struct {
	*tuitest.Machine
	now       *model.Model
	moves     func(tick int) []sample.Move
	intervals func(tick int) []sample.RunInterval
	tick      int
}

func newFake(cpus int) *fake { return newFakeOn(topologytest.Sized(cpus)) }

func newFakeOn(topo *topology.Topology) *fake {
	f := &fake{Machine: tuitest.New(topo)}
	f.Source = sample.SourceBPF
	f.moves = func(int) []sample.Move { return f.usual() }
	return f
}

// usual has moves of every class that the machine has, more of the near ones.
func (f *fake) usual() []sample.Move {
	order := f.Topology.Order()
	n := len(order)
	var out []sample.Move
	add := func(tid kernel.TID, a, b int, count uint32) {
		if from, to := order[a%n], order[b%n]; from != to {
			out = append(out, sample.Move{TID: tid, From: from, To: to, Count: count})
		}
	}
	add(3641, 0, n-1, 41)
	add(3642, 0, n-1, 3)
	add(3641, n-1, 0, 38)
	for i := range n {
		add(3642, i, i+1, uint32(1+i%5))
		if i%3 == 0 {
			add(980, i, i^1, 12)
		}
		if i%7 == 0 {
			add(980, i+5, i+n/2, 2)
		}
		if i%11 == 0 {
			add(kernel.TID(50000+i), i, i+20, 150)
		}
	}
	return out
}

// step gives the view the next second.
func (f *fake) step(v *View) {
	s := f.Tick()
	s.HaveMoves = f.Source == sample.SourceBPF
	if s.HaveMoves {
		s.Moves = f.moves(f.tick)
	}
	if f.intervals != nil {
		s.RunIntervals = f.intervals(f.tick)
	}
	f.tick++
	f.now = model.Next(f.now, s, f.Topology)
	v.Note(f.now)
}

// fill lets n seconds pass.
func (f *fake) fill(v *View, n int) {
	for range n {
		f.step(v)
	}
}

// asked notes what the view's owner is asked for.
type asked struct {
	jumped, pinned []Target
	among          cpuset.Set // of the last pinned
}

func (a *asked) options() Options {
	return Options{
		Jump:       func(t Target) tea.Cmd { a.jumped = append(a.jumped, t); return nil },
		Pin:        func(t Target, among cpuset.Set) tea.Cmd { a.pinned, a.among = append(a.pinned, t), among; return nil },
		IRQMovable: func(irq int) (bool, bool) { return irq == 24, irq < 100 },
	}
}

// usualStays are those of one CPU.
func usualStays(cpu cpuset.CPU) []sample.RunInterval {
	ms := uint64(time.Millisecond)
	return []sample.RunInterval{
		{CPU: cpu, TID: 3641, Name: "nqueens", RunNs: 512 * ms, WaitNs: 90 * ms, LongestNs: 24 * ms, Times: 61},
		{CPU: cpu, TID: 17, Name: "migration/0", RunNs: 40 * ms, WaitNs: 1 * ms, LongestNs: ms / 3, Times: 122},
		{CPU: cpu, Kind: sample.RunOfIRQ, Number: 24, Name: "eth0-rx-0", RunNs: 31 * ms, LongestNs: ms / 50, Times: 9100},
		{CPU: cpu, Kind: sample.RunOfIRQ, Number: 40, Name: "nvme0q1", RunNs: 3 * ms, LongestNs: ms / 90, Times: 410},
		{CPU: cpu, Kind: sample.RunOfIRQ, Number: 140, Name: "i2c", RunNs: ms / 5, LongestNs: ms / 90, Times: 1},
		{CPU: cpu, Kind: sample.RunOfSoftIRQ, Number: 3, Name: "NET_RX", RunNs: 88 * ms, LongestNs: 2 * ms, Times: 8000},
		{CPU: cpu, Kind: sample.RunOfSoftIRQ, Number: 1, Name: "TIMER", RunNs: 2 * ms, LongestNs: ms / 40, Times: 250},
		{CPU: cpu, Kind: sample.RunOfSoftIRQ, Number: 9, RunNs: ms, LongestNs: ms / 40, Times: 99},
		{CPU: cpu, Kind: sample.RunOfSoftIRQ, Number: 7, Name: "SCHED", RunNs: ms / 2, LongestNs: ms / 80, Times: 50},
		{CPU: cpu, TID: 60001, Name: "cc1", RunNs: 120 * ms, WaitNs: 300 * ms, LongestNs: 4 * ms, Times: 30},
		{CPU: cpu, TID: 980, Name: "postgres", RunNs: 20 * ms, WaitNs: 2 * ms, LongestNs: ms, Times: 300},
		{CPU: cpu, TID: 0, Name: "swapper", RunNs: 181 * ms, Times: 90},
	}
}

var plain = theme.New(theme.Options{})

// press calls the verbs of keys and reports which of them did something.
func press(v *View, names string) (used []bool) {
	does := func(f func()) func() bool { return func() bool { f(); return true } }
	by := func(f func(int), n int) func() bool { return does(func() { f(n) }) }
	verbs := map[string]func() bool{"w": does(v.NextWindow), "n": does(v.NextBusiest), "f": does(v.Fold), "c": does(v.ToggleList),
		"up": by(v.Move, -1), "down": by(v.Move, 1), "left": by(v.Scroll, -1), "right": by(v.Scroll, 1), "pgup": by(v.Page, -1), "pgdown": by(v.Page, 1),
		"home": does(v.Home), "end": does(v.End), "esc": v.Back, "l": does(v.OpenLedger), "enter": func() bool { v.Enter(); return true }, "p": func() bool { ok, _ := v.Pin(); return ok }}
	for name := range strings.FieldsSeq(names) {
		used = append(used, verbs[name]())
	}
	return used
}

// lineWith finds the line that holds a text.
func lineWith(drawn, text string) string {
	lines := strings.Split(drawn, "\n")
	if i := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, text) }); i >= 0 {
		return lines[i]
	}
	return ""
}
