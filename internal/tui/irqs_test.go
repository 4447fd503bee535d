package tui

import (
	"errors"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/action"
	"piton/internal/change/attr"
	"piton/internal/cpuset"
	"piton/internal/irq"
	"piton/internal/kernel"
	"piton/internal/sample"
	"piton/internal/tuitest/golden"
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
		r.press("3")
		assert.Equal(t, 1, r.irqs.reads, "at once")
		assert.Contains(t, r.text(), "[3 IRQs]")
		r.tickRun()
		assert.Equal(t, 2, r.irqs.reads, "once a sample")
		assert.Equal(t, sample.Needs{PSI: true}, r.sampler.needs, "it shows no tasks")
		golden.Check(t, "irqs-120x40-8cpus", r.text(), 120, 40)
		r.press("1")
		r.tickRun()
		assert.Equal(t, 2, r.irqs.reads)
	})
}

func TestIRQFilter(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.press("3", "\\", "n", "v")
		assert.Contains(t, r.text(), "nvme0q1", "while typing")
		assert.NotContains(t, r.text(), "acpi")
		r.press("m", "enter", "f4", "x", "esc")
		assert.Equal(t, "nvm", r.m.irqs.Filter(), "Esc in the prompt keeps the filter there was")
		r.press("esc")
		assert.Contains(t, r.text(), "acpi", "Esc on the list takes it back")
		r.press("esc")
		assert.Equal(t, action.Processes, r.m.view)
		assert.Nil(t, r.m.procs.View().Filter, "the processes have their own")
	})
}

func TestJumpToTheHandlerOfAnIRQ(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.press("3")
		r.tickRun()
		r.press("enter")
		assert.Equal(t, action.IRQs, r.m.view, "no task handles the one that comes most")
		assert.Contains(t, r.text(), "no thread handles this interrupt")
		r.press("/", "a", "c", "p", "i", "enter", "enter")
		assert.Equal(t, action.Processes, r.m.view)
		assert.Equal(t, kernel.TID(2), r.selected())
		assert.True(t, r.m.procs.View().Kernel)
		r.press("3", "esc", "/", "g", "o", "n", "e", "enter", "enter")
		assert.Contains(t, r.text(), "99999 has ended")
	})
}

func TestIRQsThatNobodyReads(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.press("3")
		assert.Contains(t, r.text(), "no such directory")
	}, func(d *Deps) {
		d.IRQs.Read = func() (irq.Table, error) { return irq.Table{}, errors.New("no such directory") }
	})
}

func TestLedgerKnowsWhichIRQsCanBeMoved(t *testing.T) {
	onMoves(t, func(r *rig) {
		r.press("2", "c", "home", "l")
		s := r.machine.Tick()
		for _, number := range []int{24, 33} {
			s.RunIntervals = append(s.RunIntervals, sample.RunInterval{Kind: sample.RunOfIRQ, Number: number, Name: "line", RunNs: 5e8, LongestNs: 1e6, Times: 500})
		}
		r.deliver(s)
		assert.Contains(t, r.text(), "movable (IRQs view)")
		assert.Contains(t, r.text(), "managed IRQ")
	})
}

func TestMoveAnIRQ(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.press("3")
		r.tickRun()
		r.press("a", "n", "l", "2", "-", "3", "enter", "enter")
		require.Len(t, r.tuning.requests, 1)
		assert.Equal(t, attr.SetIRQ(24, "irq 24 (virtio1-input.0)", cpuset.Of(2, 3)), r.tuning.requests[0].Files[0])
		assert.Len(t, r.tuning.carried, 1)
	})
}

func TestTaggedIRQsAreGrabbedTogether(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.press("3")
		r.tickRun()
		r.press("A")
		assert.Len(t, r.m.irqs.Targets(), 4)
		r.press("U", "space", "space", "d")
		assert.Contains(t, r.line(-2), "placing 2 IRQs → cpu ")
		assert.Contains(t, r.text(), "L3 0", "the core panel is shown to drop them on")
		golden.Check(t, "irqs-grab-120x40", r.text(), 120, 40)
		r.press("6", "enter")
		require.Len(t, r.tuning.requests, 2)
		assert.Equal(t, "6", r.tuning.requests[1].Files[0].Value.String())
		assert.Equal(t, "dropped on the core panel", r.tuning.requests[1].Reason)
	})
}

func TestDragAnIRQToACPU(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.press("3")
		r.tickRun()
		y := 0
		for i := range 40 {
			if strings.Contains(r.line(i), "nvme0q1") {
				y = i
			}
		}
		require.Positive(t, y)
		r.send(tea.MouseClickMsg{X: 20, Y: y, Button: tea.MouseLeft})
		assert.Equal(t, 33, r.m.irqs.Selected().Number)
		r.send(tea.MouseMotionMsg{X: 64, Y: r.area("panel").y + 3, Button: tea.MouseLeft})
		assert.Contains(t, r.line(-2), "placing irq 33 (nvme0q1) → cpu 3")
		r.send(tea.MouseReleaseMsg{X: 64, Y: r.area("panel").y + 3, Button: tea.MouseLeft})
		require.Len(t, r.tuning.requests, 1)
		assert.Equal(t, "3", r.tuning.requests[0].Files[0].Value.String())
	})
}

func TestSpreadAndResetIRQs(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.press("3")
		r.tickRun()
		r.press("s")
		assert.Len(t, r.tuning.requests, 4, "all that are shown")
		assert.Empty(t, r.tuning.carried, "more than the selected one: its plan is shown first")
		r.wait(time.Second)
		r.press("esc", "\\", "a", "c", "p", "i", "enter", "s")
		assert.Len(t, r.tuning.requests, 1)
		r.press("r")
		assert.Equal(t, "0-7", r.tuning.requests[0].Files[0].Value.String())
		r.press("o")
		assert.Contains(t, r.text(), "Place irq 9 (acpi)")
		golden.Check(t, "irqs-place-120x40", r.text(), 120, 40)
		r.press("s", "p", "enter")
		assert.Equal(t, "spread", r.tuning.requests[0].Reason)
	})
}

func TestNamedLinesAreNotSentAnywhere(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.press("3", "\\", "n", "o", "n", "e", "enter")
		for _, key := range []string{"a", "o", "d", "r", "e"} {
			r.press(key)
			assert.Contains(t, r.line(-2), "no interrupt with a number", key)
		}
		r.press("s")
		assert.Contains(t, r.line(-2), "no interrupt with a number is shown")
	})
}

func TestNetworkQueueSettings(t *testing.T) {
	nics := func() []irq.NIC {
		return []irq.NIC{{Name: "eth0", Rx: []irq.RxQueue{{Index: 0, RPS: irq.Mask{Set: cpuset.Of(1), OK: true}, Flows: 4096}},
			Tx: []irq.TxQueue{{Index: 0, XPS: irq.Mask{OK: true}}}}}
	}
	onSmall(t, func(r *rig) {
		r.press("3")
		r.tickRun()
		r.press("e")
		assert.Contains(t, r.text(), "Queues of eth0")
		assert.NotContains(t, r.text(), "XPS", "the line serves a receive queue")
		r.press("x", "enter")
		assert.Contains(t, r.text(), `"1x"`, "the error stands below the field")
		r.press("backspace", "backspace", "4", "-", "5", "enter")
		require.Len(t, r.tuning.requests, 1)
		assert.Equal(t, "/sys/class/net/eth0/queues/rx-0/rps_cpus", r.tuning.requests[0].Files[0].Path)
		assert.Equal(t, "4-5", r.tuning.requests[0].Files[0].Value.String())
		r.press("e", "down", "backspace", "backspace", "backspace", "backspace", "enter")
		assert.Contains(t, r.text(), "rx-0 RFS flows must be a number")
		r.press("8", "enter")
		require.Len(t, r.tuning.requests, 1, "what was not changed is left alone")
		assert.Equal(t, "8", r.tuning.requests[0].Files[0].Value.String())
		r.press("e", "enter")
		assert.Empty(t, r.tuning.requests)
		assert.Contains(t, r.line(-2), "nothing to change")
		r.press("\\", "n", "v", "enter", "e")
		assert.Contains(t, r.line(-2), "not of a network interface")
	}, func(d *Deps) { d.IRQs.NICs = nics })
}

func TestTicksFilterIRQs(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.press("3")
		r.tickRun()
		assert.Contains(t, r.text(), "nvme0q1")
		r.press("C", "0", "space")
		assert.NotContains(t, r.text(), "nvme0q1", "it goes to cpu 1")
		assert.Contains(t, r.text(), "only cpu 0")
		r.press("esc", "esc")
		assert.Contains(t, r.text(), "nvme0q1")
	})
}
