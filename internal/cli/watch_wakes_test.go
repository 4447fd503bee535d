package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/bpf/bpftest"
	"piton/internal/cli/exit"
	"piton/internal/cli/watchcmd"
	"piton/internal/kernel/kerneltest"
)

func TestWatchWakes(t *testing.T) {
	if err := watchcmd.Probe("ebpf-wakes"); err != nil {
		t.Skip(err)
	}
	a, b := bpftest.PingPong(t)
	w := startWatch(t, "--wakes", fmt.Sprint(a), "-d", "100ms")
	assert.Equal(t, []any{float64(a)}, w.first["targets"])
	var counted, there, back uint64
	check := func(l map[string]any) {
		if l["type"] != "wake" {
			return
		}
		counted += number(l, "count") + number(l, "back")
		if l["waker"] != "cat" || l["wakee"] != "cat" {
			return
		}
		there, back = there+number(l, "count"), back+number(l, "back")
		assert.ElementsMatch(t, []uint64{uint64(a), uint64(b)}, []uint64{number(l, "waker_tid"), number(l, "wakee_tid")})
		assert.InDelta(t, l["count"], l["per_s"].(float64)*l["interval_s"].(float64), 0.01)
		assert.Equal(t, false, l["interrupt"])
		if l["waker_cpu"] == l["wakee_cpu"] {
			assert.Equal(t, "same CPU", l["distance"])
		}
	}
	for there == 0 || back == 0 { // each wakes the other, sooner or later
		line := w.next()
		require.NotNil(t, line, w.errs.String())
		check(line)
	}
	lines := w.end()
	for _, l := range lines {
		check(l)
	}
	end := ofType(lines, "wake_summary")[0]
	assert.Equal(t, counted, number(end, "wakeups"))
	assert.Zero(t, end["lost"])

	h := newHome(t)
	r := h.run("watch", "--wakes", "--for", "1s")
	require.Zero(t, r.code, r.err)
	assert.Contains(t, r.out, "WAKER")
	assert.Contains(t, r.out, " cat ")
	assert.Equal(t, 1, strings.Count(r.out, "DISTANCE"))
	r = h.run("watch", "--wakes", "2147483647", fmt.Sprint(a), "--for", "100ms")
	assert.Equal(t, exit.Some, r.code, r.err)
	r = h.run("watch", "--wakes", "2147483647", "--for", "100ms")
	assert.NotZero(t, r.code, r.out)
	assert.Empty(t, r.out)
}

func TestWatchWakesAsNobody(t *testing.T) {
	kerneltest.NeedRoot(t, "to become somebody else")
	cmd := asNobody(t, "watch", "--wakes", "--for", "100ms")
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	assert.Error(t, err)
	assert.Empty(t, out)
	assert.Contains(t, errs.String(), "task wakeups by eBPF: it takes CAP_BPF and CAP_PERFMON, which this process does not have")
	assert.Equal(t, exit.NotPermitted, cmd.ProcessState.ExitCode())
}
