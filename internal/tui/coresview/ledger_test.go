package coresview

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/sample"
)

func TestLedger(t *testing.T) {
	var a asked
	f, v := newFake(8), New(a.options())
	f.intervals = func(int) []sample.RunInterval {
		if !v.wantsLedger() {
			return nil
		}
		return append(usualStays(4), usualStays(1)[:1]...)
	}
	f.fill(v, 3)
	v.Render(80, 20, plain)
	var n sample.Needs
	v.Needs(&n)
	assert.False(t, n.Ledger, "not read where there is no room for it")
	press(v, "home down l")
	v.Needs(&n)
	assert.True(t, n.Ledger)
	assert.Contains(t, drawn(v, 120, 36), "Counting started")
	f.fill(v, 5)
	check(t, "ledger", v)

	press(v, "p enter")
	nqueens := Target{TID: 3641, TGID: 3641, StartTicks: 36410}
	assert.Equal(t, []Target{nqueens}, a.pinned)
	assert.Equal(t, v.topo.Online.AndNot(cpuset.Of(v.cpu)), a.among)
	assert.Equal(t, []Target{nqueens}, a.jumped)
	for range 11 {
		press(v, "down p enter")
	}
	assert.Len(t, a.pinned, 2, "only movable tasks are pinned: nqueens and postgres")
	assert.Len(t, a.jumped, 4, "all tasks can be shown")
	press(v, "right")
	assert.Contains(t, drawn(v, 120, 36), "cpu 1")
	press(v, "left left")
	assert.Contains(t, drawn(v, 120, 36), "cpu 0")
	press(v, "left")
	assert.Contains(t, drawn(v, 120, 36), "cpu 7", "around the end")
	press(v, "esc")
	v.Render(80, 20, plain)
	n = sample.Needs{}
	v.Needs(&n)
	assert.False(t, n.Ledger)
	v.Render(120, 36, plain)
	v.Needs(&n)
	assert.True(t, n.Ledger, "it is shown below the map")
	assert.Contains(t, drawn(v, 120, 36), "Migrations between CPUs")
}

func TestLedgerStaysOnItsEntry(t *testing.T) {
	f, v := newFake(8), New((&asked{}).options())
	f.intervals = func(tick int) []sample.RunInterval {
		return []sample.RunInterval{{TID: 980, RunNs: uint64(tick) * 1e6}, {TID: 3641, RunNs: 5e6}, {TID: 1, RunNs: 1e3}}
	}
	v.openKeyForTest(f)
	press(v, "down")
	assert.Equal(t, kernel.TID(980), v.ledger.At().tid)
	f.fill(v, 20)
	assert.Contains(t, lineWith(drawn(v, 120, 36), "980 postgres"), "▌")
}

// openKeyForTest opens the ledger of CPU 0 and lets two seconds pass.
func (v *View) openKeyForTest(f *fake) {
	f.fill(v, 1)
	v.Render(120, 36, plain)
	v.openLedger(0)
	f.fill(v, 2)
}

func TestNamesCannotReachTheTerminal(t *testing.T) {
	f, v := newFake(8), New((&asked{}).options())
	f.moves = func(int) []sample.Move { return []sample.Move{{TID: 4711, From: 0, To: 1, Count: 5}} }
	f.intervals = func(int) []sample.RunInterval {
		return []sample.RunInterval{{TID: 4711, RunNs: 5e6}, {Kind: sample.RunOfIRQ, Number: 3, Name: "a\x1b]0;b\a", RunNs: 1e6}}
	}
	v.openKeyForTest(f)
	frame := drawn(v, 120, 36)
	assert.Contains(t, frame, "4711 evil?[31m) (x")
	assert.Contains(t, frame, "irq 3 a?]0;b?")
	press(v, "esc")
	assert.Contains(t, drawn(v, 120, 36), "most by evil?[31m) (x (4711)")
	press(v, "enter")
	assert.Contains(t, drawn(v, 120, 36), "evil?[31m) (x")
}

func TestAdvice(t *testing.T) {
	f, v := newFake(8), New((&asked{}).options())
	f.Thread(5001, 3642, "matrix-1")
	f.Proc(1204).Task.Affinity = cpuset.Of(3)
	f.Proc(612).Task.Flags = sample.FlagNoSetAffinity
	f.fill(v, 3)
	v.cpu = 3
	v.m.LeastLoaded = 5
	task := func(tid kernel.TID) advice { return v.advise(&model.LedgerEntry{TID: tid}) }
	assert.Equal(t, advice{true, "p moves it", "piton pin 3641 --cpu 5"}, task(3641))
	assert.Equal(t, "piton pin 5001 --cpu 5 --thread", task(5001).full)
	assert.Equal(t, "piton pin 3642 --cpu 5 --thread", task(3642).full, "its other threads stay")
	assert.Equal(t, "pinned here (p moves it)", task(1204).brief)
	assert.Equal(t, "kernel thread bound to this CPU", task(17).brief)
	assert.False(t, task(17).movable)
	f.Proc(17).Task.Affinity = f.Topology.Online
	f.fill(v, 1)
	v.cpu, v.m.LeastLoaded = 3, 5
	assert.Equal(t, "unbound kernel worker", task(17).brief)
	assert.Contains(t, task(17).full, "workqueue/cpumask")
	assert.True(t, task(2).movable, "kernel threads can be moved unless they are bound")
	assert.False(t, task(612).movable)
	assert.Contains(t, task(99999).brief, "ended")
	v.m.LeastLoaded = 3
	assert.Equal(t, "piton pin 3641 --place least-loaded --within 0-2,4-7", task(3641).full)
	v.o.Pin = nil
	assert.Equal(t, "movable", task(3641).brief)

	irq := func(n int) string { return v.advise(&model.LedgerEntry{Kind: sample.RunOfIRQ, Number: n}).brief }
	assert.Equal(t, "movable (IRQs view)", irq(24))
	assert.Equal(t, "managed IRQ", irq(40))
	assert.Equal(t, "movable unless managed", irq(140))
	assert.Equal(t, "piton irq move 24 --cpu CPUS", v.adviseIRQ(24).full, "the least-loaded CPU is this one")
	v.m.LeastLoaded = 6
	assert.Equal(t, "piton irq move 24 --cpu 6", v.adviseIRQ(24).full)

	soft := func(n int) string { return v.advise(&model.LedgerEntry{Kind: sample.RunOfSoftIRQ, Number: n}).brief }
	assert.Equal(t, "softirq: follows its interrupt", soft(3))
	assert.Equal(t, "softirq: follows the timers' tasks", soft(1))
	assert.Equal(t, "softirq: RCU of this CPU", soft(9))
	assert.Equal(t, "softirq: load balancing", soft(7))
}
