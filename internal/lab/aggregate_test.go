package lab

import (
	"context"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/action"
	"piton/internal/bench"
	"piton/internal/bpf/bpftest"
	"piton/internal/change"
	"piton/internal/kernel"
	"piton/internal/topology"
	"piton/workloads/chat"
)

// Where the kernel has sched_ext a process gets its policy, elsewhere a slice;
// what the process is on otherwise is chosen as ever.
func TestPlacerAggregates(t *testing.T) {
	pid := bpftest.Start(t, exec.Command("sh", "-c", "echo; read line")).PID
	before, err := kernel.System().Affinity(pid)
	require.NoError(t, err)
	topo, err := topology.Read("/")
	require.NoError(t, err)
	put := action.Placer(change.Local(), topo, nil)
	placed, err := put(context.Background(), pid, bench.Spec{Aggregate: true, CPUs: before.String()})
	if slice, probeErr := kernel.System().BaseSlice(); probeErr == nil && slice == 0 && !hasSchedExt() {
		t.Skip("this kernel has neither sched_ext nor slices: ", err)
	}
	require.NoError(t, err)
	assert.Equal(t, before.String(), placed.CPUs)
	attr, err := kernel.System().Attr(pid)
	require.NoError(t, err)
	if attr.Policy == kernel.Ext {
		assert.Regexp(t, `^as asked; sched_ext: `, placed.Reason)
	} else {
		assert.EqualValues(t, chat.LongSlice, attr.RuntimeNs)
		assert.Regexp(t, `^as asked; slices of 100ms: temporal aggregation by eBPF: .+`, placed.Reason)
	}
	assert.NoError(t, placed.Release())
}

func hasSchedExt() bool {
	_, err := os.Stat("/sys/kernel/sched_ext")
	return err == nil
}
