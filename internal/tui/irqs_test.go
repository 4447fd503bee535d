package tui

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"piton/internal/action"
	"piton/internal/cpuset"
	"piton/internal/irq"
	"piton/internal/kernel"
	"piton/internal/sample"
	"piton/internal/tui/golden"
)

// fakeIRQs reads the interrupts of a small server, a second after the last time.
type fakeIRQs struct {
	cpus, reads int
	last        *irq.Snapshot
}

// Read counts up what came in the second.
func (f *fakeIRQs) Read() (irq.Table, error) {
	f.reads++
	s := &irq.Snapshot{At: time.Duration(f.reads) * time.Second}
	for c := range f.cpus {
		s.CPUs = append(s.CPUs, cpuset.CPU(c))
	}
	line := func(number, perS int, name string, facts irq.Facts) irq.IRQ {
		counts := make([]uint64, f.cpus)
		counts[number%f.cpus] = uint64(perS * f.reads)
		facts.Text, facts.Actions, facts.Queue = name, []string{name}, irq.ParseQueue(name)
		at := irq.Mask{Set: cpuset.Of(cpuset.CPU(number % f.cpus)), OK: true}
		return irq.IRQ{Number: number, Counts: counts, Facts: facts, Requested: at, Effective: at}
	}
	s.IRQs = []irq.IRQ{
		line(9, 2, "acpi", irq.Facts{Control: irq.Settable, Node: -1, Threads: []irq.Thread{{TID: 2, Comm: "irq/9-acpi"}}}),
		line(24, 8200, "virtio1-input.0", irq.Facts{Control: irq.Settable, Device: irq.Device{Driver: "virtio_net", Names: []string{"eth0"}}}),
		line(33, 640, "nvme0q1", irq.Facts{Control: irq.Managed, Device: irq.Device{Driver: "nvme", Names: []string{"nvme0"}}}),
		line(40, 1, "gone", irq.Facts{Control: irq.Settable, Threads: []irq.Thread{{TID: 99999, Comm: "irq/40-gone"}}}),
	}
	t := irq.Next(f.last, s)
	f.last = s
	return t, nil
}

// Movable knows two lines.
func (f *fakeIRQs) Movable(number int) (movable, known bool) {
	return number == 24, number == 24 || number == 33
}

func TestIRQsShowRatesOfTheTick(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.tickRun()
		assert.Zero(t, r.irqs.reads, "nothing is read for a view that is not shown")
		r.press("alt+3")
		assert.Equal(t, 1, r.irqs.reads, "at once")
		assert.Contains(t, r.text(), "[3 IRQs]")
		r.tickRun()
		assert.Equal(t, 2, r.irqs.reads, "once a sample")
		assert.Equal(t, sample.Needs{}, r.sampler.needs, "it shows no tasks")
		golden.Check(t, "irqs-120x40-8cpus", r.text(), 120, 40)
		r.press("alt+1")
		r.tickRun()
		assert.Equal(t, 2, r.irqs.reads)
	})
}

func TestIRQFilter(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.press("alt+3", "\\", "n", "v")
		assert.Contains(t, r.text(), "nvme0q1", "while typing")
		assert.NotContains(t, r.text(), "acpi")
		r.press("m", "enter", "f4", "x", "esc")
		assert.Equal(t, "nvm", r.m.irqs.Filter(), "Esc in the prompt keeps the filter there was")
		r.press("esc")
		assert.Contains(t, r.text(), "acpi", "Esc on the list takes it back")
		r.press("esc")
		assert.Equal(t, action.Processes, r.m.view)
		assert.Nil(t, r.m.table.View().Filter, "the processes have their own")
	})
}

func TestJumpToTheHandlerOfAnIRQ(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.press("alt+3")
		r.tickRun()
		r.press("enter")
		assert.Equal(t, action.IRQs, r.m.view, "no task handles the one that comes most")
		assert.Contains(t, r.text(), "no thread of its own")
		r.press("/", "a", "c", "p", "i", "enter", "enter")
		assert.Equal(t, action.Processes, r.m.view)
		assert.Equal(t, kernel.TID(2), r.selected())
		assert.True(t, r.m.table.View().Kernel)
		r.press("alt+3", "esc", "/", "g", "o", "n", "e", "enter", "enter")
		assert.Contains(t, r.text(), "99999 has ended")
	})
}

func TestIRQsThatNobodyReads(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.press("alt+3")
		assert.Contains(t, r.text(), "interrupts are not read here")
	}, func(d *Deps) { d.IRQs = IRQs{} })
}

func TestLedgerKnowsWhichIRQsCanBeMoved(t *testing.T) {
	onMoves(t, func(r *rig) {
		r.press("alt+2", "c", "home", "l")
		s := r.machine.Tick()
		for _, number := range []int{24, 33} {
			s.Stays = append(s.Stays, sample.Stay{Kind: sample.StayIRQ, Number: number, Name: "line", RunNs: 5e8, LongestNs: 1e6, Times: 500})
		}
		r.deliver(s)
		assert.Contains(t, r.text(), "irq: move its affinity")
		assert.Contains(t, r.text(), "managed IRQ")
	})
}
