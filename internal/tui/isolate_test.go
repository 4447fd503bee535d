package tui

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/action"
	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/cpuset"
	"piton/internal/partition"
	"piton/internal/tuitest/golden"
)

// fakePartition plans one change of a task and one of an interrupt.
type fakePartition struct {
	isolated, included []string
	settled            int
	err                error
}

func (f *fakePartition) isolate(list string) (p action.Proposal, err error) {
	f.isolated = append(f.isolated, list)
	cpus, _ := cpuset.Parse(list)
	rest := all8.AndNot(cpus)
	p.Isolation = partition.Isolation{CPUs: cpus, Rest: rest, Immovable: []partition.Immovable{
		{Kind: partition.KindTask, Number: 17, Name: "migration/0", CPUs: cpus, Why: "the kernel binds it to its CPU"},
		{Kind: partition.KindTask, Number: 18, Name: "ksoftirqd/0", CPUs: cpus, Why: "the kernel binds it to its CPU"},
		{Kind: partition.KindIRQ, Number: 33, Name: "irq 33 (nvme0q1)", CPUs: cpus, Why: "its driver manages it", Do: "boot with isolcpus=managed_irq"}}}
	p.Changes = []change.Change{
		{Object: attr.Object{PID: 980, TID: 980, Comm: "postgres"}, Attribute: attr.Affinity},
		{Object: attr.Object{PID: 980, TID: 981, Comm: "postgres"}, Attribute: attr.Affinity},
		{Object: attr.Object{PID: 612, TID: 612, Comm: "sshd"}, Attribute: attr.Affinity},
		{Object: attr.Object{Path: "/proc/irq/24/smp_affinity_list", Name: "irq 24 (virtio1-input.0)"}, Attribute: attr.IRQAffinity},
	}
	for i := range p.Changes {
		p.Changes[i].Before, p.Changes[i].After, p.Changes[i].Status = all8, rest, attr.Planned
	}
	p.Need(change.Isolation, "isolating %s leaves %s for everything else", cpus.InWords(), rest.InWords())
	return p, f.err
}

func (f *fakePartition) include(list string) (change.Plan, error) {
	f.included = append(f.included, list)
	return change.Plan{Changes: []change.Change{{Object: attr.Object{PID: 980, TID: 980, Comm: "postgres"}, Attribute: attr.Affinity,
		Before: cpuset.Of(0, 1, 2, 3), After: all8, Status: attr.Planned}}}, f.err
}

func onPartition(t *testing.T, w, h int, f func(r *rig, p *fakePartition)) {
	on(t, 8, w, h, func(r *rig) { f(r, &r.tuning.partition) })
}

func TestIsolateFromThePanel(t *testing.T) {
	onPartition(t, 120, 40, func(r *rig, p *fakePartition) {
		r.press("C", "4", "space", "5", "space", "I")
		assert.Equal(t, []string{"4-5"}, p.isolated, "what is ticked")
		assert.Contains(t, r.text(), "2 processes (3 threads)", "counts before anything is changed")
		assert.Contains(t, r.text(), "stays: migration/0 and 1 more: the kernel binds it to its CPU")
		assert.Contains(t, r.text(), "boot with isolcpus=managed_irq")
		assert.Empty(t, r.tuning.carried)
		r.wait(time.Second)
		r.press("y")
		assert.Len(t, r.tuning.carried, 1)
		assert.Equal(t, 1, p.settled)
		assert.Contains(t, r.text(), "Keep it?")
		r.wait(time.Second)
		r.press("y")
		assert.Contains(t, r.line(-2)+r.line(-3), "moved off cpus 4-5; 3 stay")
	})
}

func TestIncludeFromThePanel(t *testing.T) {
	onPartition(t, 120, 40, func(r *rig, p *fakePartition) {
		r.press("C", "4", "i")
		assert.Equal(t, []string{"4"}, p.included, "what is under the cursor")
		r.wait(time.Second)
		r.press("y")
		assert.Contains(t, r.text(), "may use cpu 4 again")
	})
}

func TestIsolateSaysWhyNot(t *testing.T) {
	onPartition(t, 120, 40, func(r *rig, p *fakePartition) {
		p.err = partition.Error("isolating CPUs 0-7 would leave no CPU for everything else, piton included")
		r.press("C", "+", "+", "I")
		assert.Equal(t, []string{"0-7"}, p.isolated)
		assert.Contains(t, r.text(), "would leave no CPU")
	})
}

func TestIsolateACPUForATask(t *testing.T) {
	onPartition(t, 120, 40, func(r *rig, p *fakePartition) {
		r.press("o", "i", "s", "o", "enter")
		assert.Equal(t, []string{"5"}, p.isolated, "what least-loaded chose")
		for range 2 { // do it, and keep it
			r.wait(time.Second)
			r.press("y")
		}
		require.Len(t, r.tuning.carried, 2, "first the CPU is isolated, then the task is put there")
		assert.Equal(t, "5", r.tuning.wanted())
		assert.Contains(t, r.tuning.want.Reason, "isolated for it")
	})
}

func TestGoldenIsolate(t *testing.T) {
	for name, size := range map[string][2]int{"80x24": {80, 24}, "120x40": {120, 40}, "200x50": {200, 50}} {
		onPartition(t, size[0], size[1], func(r *rig, _ *fakePartition) {
			r.press("C", "4", "space", "I")
			r.wait(time.Second)
			golden.Check(t, "isolate-"+name, r.text(), size[0], size[1])
			assert.LessOrEqual(t, strings.Count(r.text(), "\n"), size[1]-1)
		})
	}
}
