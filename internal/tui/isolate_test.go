package tui

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/partition"
	"piton/internal/tui/golden"
	"piton/internal/tune"
)

// fakePartition plans one change of a task and one of an interrupt.
type fakePartition struct {
	isolated, included []string
	settled            int
	err                error
}

func (f *fakePartition) Isolate(_ context.Context, cpus cpuset.Set) (tune.Plan, partition.Isolation, error) {
	f.isolated = append(f.isolated, cpus.String())
	rest := cpuset.Of(0, 1, 2, 3, 4, 5, 6, 7).AndNot(cpus)
	out := partition.Isolation{CPUs: cpus, Rest: rest, Staying: []partition.Staying{
		{Kind: partition.KindTask, TID: 17, Name: "migration/0", CPUs: cpus, Why: "the kernel binds it to its CPU"},
		{Kind: partition.KindTask, TID: 18, Name: "ksoftirqd/0", CPUs: cpus, Why: "the kernel binds it to its CPU"},
		{Kind: partition.KindIRQ, IRQ: 33, Name: "irq 33 (nvme0q1)", CPUs: cpus, Why: "its driver manages it", Do: "boot with isolcpus=managed_irq"}}}
	return tune.Plan{Changes: []tune.Change{
		{PID: 980, TID: 980, Comm: "postgres", Attribute: tune.Affinity, Before: "0-7", After: rest.String(), Status: tune.Planned},
		{PID: 980, TID: 981, Comm: "postgres", Attribute: tune.Affinity, Before: "0-7", After: rest.String(), Status: tune.Planned},
		{PID: 612, TID: 612, Comm: "sshd", Attribute: tune.Affinity, Before: "0-7", After: rest.String(), Status: tune.Planned},
		{Attribute: tune.IRQAffinity, Path: "/proc/irq/24/smp_affinity_list", Name: "irq 24 (virtio1-input.0)", Before: "0-7", After: rest.String(), Status: tune.Planned},
	}}, out, f.err
}

func (f *fakePartition) Include(_ context.Context, cpus cpuset.Set, _ bool) (tune.Plan, partition.Inclusion, error) {
	f.included = append(f.included, cpus.String())
	return tune.Plan{Changes: []tune.Change{{PID: 980, TID: 980, Comm: "postgres", Attribute: tune.Affinity, Before: "0-3", After: "0-7", Status: tune.Planned}}},
		partition.Inclusion{CPUs: cpus}, f.err
}

func (f *fakePartition) Settle(*partition.Isolation, *tune.Result) error {
	f.settled++
	return nil
}

func onPartition(t *testing.T, w, h int, f func(r *rig, p *fakePartition)) {
	p := &fakePartition{}
	on(t, 8, w, h, func(r *rig) { f(r, p) }, func(d *Deps) { d.Partition, d.Sudo, d.Self = p, "sudo", "piton" })
}

func TestIsolateFromThePanel(t *testing.T) {
	onPartition(t, 120, 40, func(r *rig, p *fakePartition) {
		r.press("C", "4", "space", "5", "space", "I")
		assert.Equal(t, []string{"4-5"}, p.isolated, "what is ticked")
		assert.Contains(t, r.text(), "2 processes (3 threads)", "counts before anything is changed")
		assert.Contains(t, r.text(), "stays: migration/0 and 1 more: the kernel binds it to its CPU")
		assert.Contains(t, r.text(), "boot with isolcpus=managed_irq")
		assert.Empty(t, r.tuning.applied)
		r.wait(time.Second)
		r.press("y")
		assert.Len(t, r.tuning.applied, 1)
		assert.Equal(t, 1, p.settled)
		assert.Contains(t, r.line(-2)+r.line(-3), "gave way on cpus 4-5; 3 stay")
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
		p.err = partition.Error("CPUs 0-7 are all that there are: everything else needs one too, piton included")
		r.press("C", "+", "+", "I")
		assert.Equal(t, []string{"0-7"}, p.isolated)
		assert.Contains(t, r.text(), "are all that there are")
	})
}

func TestIsolateACPUForATask(t *testing.T) {
	onPartition(t, 120, 40, func(r *rig, p *fakePartition) {
		r.press("o", "i", "s", "o", "enter")
		assert.Equal(t, []string{"5"}, p.isolated, "what least-loaded chose")
		r.wait(time.Second)
		r.press("y")
		require.Len(t, r.tuning.applied, 2, "first the CPU is isolated, then the task is put there")
		assert.Equal(t, "5", r.tuning.want.CPUs.String())
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
