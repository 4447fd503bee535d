package cli

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cli/exit"
	"piton/internal/cli/watchcmd"
	"piton/internal/kernel/kerneltest"
)

func TestWatchChanges(t *testing.T) {
	if err := watchcmd.Probe("ebpf-changes"); err != nil {
		t.Skip(err)
	}
	pid := sleeper(t)
	w := startWatch(t, "--changes", fmt.Sprint(pid))
	assert.Equal(t, []any{float64(pid)}, w.first["targets"])
	require.NoError(t, kerneltest.Of(t, pid, pid).SetNice(3))
	line := w.next()
	require.NotNil(t, line, w.errs.String())
	assert.Equal(t, "set", line["type"])
	assert.Equal(t, "nice 0 3", fmt.Sprint(line["attribute"], " ", line["from"], " ", line["to"]))
	assert.EqualValues(t, pid, line["pid"])
	assert.EqualValues(t, syscall.Getpid(), line["by_pid"])
	lines := w.end()
	sums := ofType(lines, "setter")
	require.Len(t, sums, 1)
	assert.EqualValues(t, 1, sums[0]["count"])
	assert.EqualValues(t, 1, ofType(lines, "set_summary")[0]["changes"])

	h := newHome(t)
	r := h.run("watch", "--changes", fmt.Sprint(pid), "--for", "100ms")
	require.Zero(t, r.code, r.err)
	assert.Regexp(t, `^TIME .*\n\n0 changes in \d+\.\d+ s\n$`, r.out)
	r = h.run("watch", "--changes", "2147483647", "--for", "100ms")
	assert.Equal(t, exit.Failed, r.code, r.out+r.err)
}

func TestWatchChangesNeedsRights(t *testing.T) {
	kerneltest.NeedRoot(t, "to become somebody else")
	out, err := asNobody(t, "watch", "--changes", "--for", "100ms").CombinedOutput()
	assert.ErrorContains(t, err, fmt.Sprintf("exit status %d", exit.NotPermitted))
	assert.Equal(t, "piton: changes of scheduling by eBPF: it takes CAP_BPF and CAP_PERFMON, which this process does not have\n", string(out))
}
