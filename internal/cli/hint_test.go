package cli

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cli/exit"
	"piton/internal/procfs"
)

// serverGroup makes a cgroup without processes, so that no connection of the machine takes part.
func serverGroup(t *testing.T) string {
	t.Helper()
	root, err := procfs.New("/").UnifiedCgroup()
	if err != nil {
		t.Skip(err)
	}
	dir, err := os.MkdirTemp(root, "piton-test-")
	if err != nil {
		t.Skip("no cgroup can be made here: ", err)
	}
	t.Cleanup(func() { assert.NoError(t, os.Remove(dir)) })
	return dir
}

func TestHintServe(t *testing.T) {
	h, v := newHome(t), newValidator(t)
	dir := serverGroup(t)
	r := h.run("irq", "hint", "serve", "--cgroup", dir, "--for", "50ms", "-o", "json")
	if r.code == exit.NotPermitted {
		t.Skip(r.err)
	}
	require.Zero(t, r.code, r.err)
	v.lines(r.out, "irq hint serve", "hint")
	assert.True(t, v.seen["hint.serve"] && v.seen["hint.hints"], r.out)
	assert.Contains(t, r.out, `"cgroup":"`+dir+`"`)

	r = h.run("irq", "hint", "serve", "--cgroup", dir, "--for", "50ms")
	require.Zero(t, r.code, r.err)
	assert.Regexp(t, `below \S+, in connections from now on; \^C ends it\n0 connections accepted in \S+ s, 0 with hints; 0 packets with an echo\n$`, r.out)
}

func TestHintServeByIP(t *testing.T) {
	h := newHome(t)
	dir := serverGroup(t)
	r := h.run("irq", "hint", "serve", "--hint-carrier", "ip", "--cgroup", dir, "--for", "50ms", "-o", "json")
	assert.Contains(t, r.err, "costs 26 to 29 % of the throughput", "said before it begins")
	if r.code == exit.NotPermitted {
		t.Skip(r.err)
	}
	require.Zero(t, r.code, r.err)
	assert.Contains(t, r.out, `"carrier":"ip"`)

	r = h.run("irq", "follow", "1", "--hint-carrier", "ip")
	assert.Equal(t, exit.Usage, r.code)
	assert.Contains(t, r.err, "goes with --via hint only")
}

func TestHintServeElsewhere(t *testing.T) {
	h := newHome(t)
	r := h.run("irq", "hint", "serve", "--cgroup", t.TempDir()+"/none", "--for", "50ms")
	assert.Equal(t, exit.Failed, r.code)
	assert.Contains(t, r.err, "no such file or directory")
	r = h.run("--host-root", irqHost(t), "irq", "hint", "serve", "--for", "50ms")
	assert.Equal(t, exit.NotPermitted, r.code)
	assert.Contains(t, r.err, "acts on this machine only")
}
