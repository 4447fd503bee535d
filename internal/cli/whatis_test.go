package cli

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cli/exit"
)

func TestWhatIsInATree(t *testing.T) {
	root := irqHost(t)
	whatIs := func(words ...string) result {
		return newHome(t).run(append([]string{"--host-root", root, "what-is", "-o", "json"}, words...)...)
	}
	for _, tt := range []struct {
		word string
		want map[string]any
	}{
		{"irq/24-eth0", map[string]any{"kind": "kernel_thread", "tid": 77.0, "irq": 24.0, "movable": true, "cpus": "1", "policy": "FIFO 50"}},
		{"77", map[string]any{"kind": "kernel_thread", "name": "irq/24-eth0", "target": "77"}},
		{"irq:24", map[string]any{"kind": "irq", "irq": 24.0, "tid": nil, "name": "eth0-TxRx-3", "movable": true, "cpus": "0-1"}},
		{"irq:30", map[string]any{"kind": "irq", "movable": false}},
		{"nvme0", map[string]any{"kind": "irq", "irq": 30.0}},
		{"eth0-TxRx-3", map[string]any{"kind": "irq", "irq": 24.0}},
		{"0000:19:00.0", map[string]any{"kind": "irq", "irq": 30.0}},
		{"RES", map[string]any{"kind": "irq", "irq": nil, "name": "RES"}},
		{"net_rx", map[string]any{"kind": "softirq", "name": "NET_RX"}},
		{"kworker/3:1H-kblockd", map[string]any{"kind": "kernel_thread", "tid": nil, "cpus": "3", "movable": false}},
		{"kswapd0", map[string]any{"kind": "kernel_thread", "tid": nil, "cpus": nil, "movable": true}},
		{"kworker/u8:1", map[string]any{"movable": nil}},
	} {
		r := whatIs(tt.word)
		require.Zero(t, r.code, "%s: %s", tt.word, r.err)
		lines := jsonLines(t, r.out)
		require.Len(t, lines, 1, tt.word)
		for name, want := range tt.want {
			got, ok := lines[0][name]
			assert.True(t, ok, "%s %s", tt.word, name)
			assert.Equal(t, want, got, "%s %s", tt.word, name)
		}
		assert.NotEmpty(t, lines[0]["what"], tt.word)
	}

	r := whatIs("nosuch")
	assert.Equal(t, exit.Failed, r.code)
	assert.Empty(t, r.out)
	assert.Contains(t, r.err, "nosuch")
	r = whatIs("nosuch", "irq:24", "irq:99")
	assert.Equal(t, exit.Some, r.code)
	assert.Len(t, jsonLines(t, r.out), 1)
	assert.Contains(t, r.err, "interrupt line 99")
	r = whatIs("24")
	assert.Equal(t, exit.Failed, r.code)
	assert.Contains(t, r.err, "irq:24")
}

func TestWhatIsAProcess(t *testing.T) {
	pid := sleeper(t)
	r := newHome(t).run("what-is", fmt.Sprint(pid))
	require.Zero(t, r.code, r.err)
	for _, want := range []string{"process " + fmt.Sprint(pid), "a process with one thread", "can be moved", "piton pin " + fmt.Sprint(pid), "OTHER, nice"} {
		assert.Contains(t, r.out, want)
	}
	l := jsonLines(t, newHome(t).run("what-is", fmt.Sprint(pid), "-o", "json").out)[0]
	assert.Equal(t, "process", l["kind"])
	assert.Equal(t, true, l["movable"])
	assert.NotEmpty(t, l["cpus"])
}

// TestWhatIsAKernelThread asks for one that the kernel binds to a CPU.
func TestWhatIsAKernelThread(t *testing.T) {
	r := newHome(t).run("what-is", "migration/0", "-o", "json")
	require.Zero(t, r.code, r.err)
	l := jsonLines(t, r.out)[0]
	if l["tid"] == nil {
		t.Skip("no kernel threads are seen in this PID namespace, or it has one CPU only")
	}
	assert.Equal(t, false, l["movable"])
	assert.Equal(t, "0", l["cpus"])
	assert.Equal(t, "FIFO 99", l["policy"])
}
