package hint

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/bpf/object"
	"piton/internal/feature"
	"piton/internal/kernel"
	"piton/internal/kernel/kerneltest"
	"piton/internal/procfs"
)

// group makes a cgroup for the test's children, or skips.
func group(t *testing.T) string {
	t.Helper()
	kerneltest.NeedRoot(t, "to make a cgroup and a network namespace")
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

// must is what was opened, or skips with the reason.
func must(t *testing.T, h *Hints, err error) *Hints {
	t.Helper()
	if errors.Is(err, feature.ErrNotSupported) && (len(object.MissingCapabilities()) > 0 || !kernel.InitialNamespace("pid")) {
		t.Skip(err)
	}
	require.NoError(t, err)
	t.Cleanup(h.Close)
	return h
}

// runExchange runs the child in the cgroup, with a network namespace of its own.
func runExchange(t *testing.T, group, role string) exchanged {
	t.Helper()
	folder, err := os.Open(group)
	require.NoError(t, err)
	defer folder.Close()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), roleVariable+"="+role)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, UseCgroupFD: true, CgroupFD: int(folder.Fd()), Pdeathsig: syscall.SIGKILL}
	out, err := cmd.Output()
	require.NoError(t, err, "%s", out)
	var e exchanged
	require.NoError(t, json.Unmarshal(out, &e), "%s", out)
	return e
}

func TestRepliesCarryTheCPUOfTheirReader(t *testing.T) {
	for _, role := range []string{"4", "6", "4 threads"} {
		t.Run(role, func(t *testing.T) {
			dir := group(t)
			ask, err := Attach(Options{Cgroup: dir})
			must(t, ask, err)
			answer, err := Serve(Options{Cgroup: dir})
			must(t, answer, err)
			e := runExchange(t, dir, role)
			assert.GreaterOrEqual(t, e.Replies, uint64(rounds*replyBytes))
			assert.GreaterOrEqual(t, float64(e.Echoed), 0.98*float64(e.Replies), "%v", e.Wrong)
			for _, h := range []*Hints{ask, answer} {
				sums, err := h.Read()
				require.NoError(t, err)
				assert.Equal(t, Sums{Connections: 1, Hinted: 1, Written: sums.Written}, sums)
				assert.GreaterOrEqual(t, sums.Written, uint64(rounds))
			}
		})
	}
}

func TestHintsNeedBothSides(t *testing.T) {
	for name, open := range map[string]func(t *testing.T, dir string) (*Hints, error){
		"no server": func(_ *testing.T, dir string) (*Hints, error) { return Attach(Options{Cgroup: dir}) },
		"no client": func(_ *testing.T, dir string) (*Hints, error) { return Serve(Options{Cgroup: dir}) },
		"no target": func(t *testing.T, dir string) (*Hints, error) {
			answer, err := Serve(Options{Cgroup: dir})
			must(t, answer, err)
			return Attach(Options{Cgroup: dir, Targets: []kernel.TID{1}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := group(t)
			h, err := open(t, dir)
			must(t, h, err)
			e := runExchange(t, dir, "4")
			assert.GreaterOrEqual(t, e.Replies, uint64(rounds*replyBytes))
			assert.Zero(t, e.Echoed)
			sums, err := h.Read()
			require.NoError(t, err)
			assert.Zero(t, sums.Hinted)
			assert.Equal(t, name != "no target", sums.Connections > 0)
			assert.Equal(t, name == "no server", sums.Written > 0)
		})
	}
}

func TestTargetsAreReplaced(t *testing.T) {
	h, err := Attach(Options{Cgroup: group(t), Targets: []kernel.TID{1, 2}})
	must(t, h, err)
	require.NoError(t, h.SetTargets(2, 3))
	var is uint8
	for pid, there := range map[uint32]bool{1: false, 2: true, 3: true} {
		assert.Equal(t, there, h.Objects.Maps["targets"].Lookup(pid, &is) == nil, "%d", pid)
	}
}

func TestNothingIsLeftAttached(t *testing.T) {
	dir := group(t)
	h, err := Attach(Options{Cgroup: dir})
	must(t, h, err)
	h.Close()
	_, err = h.Read()
	require.ErrorIs(t, err, os.ErrClosed)
	e := runExchange(t, dir, "4")
	assert.Zero(t, e.Echoed)
}

func TestOpeningElsewhere(t *testing.T) {
	_, err := Serve(Options{Cgroup: filepath.Join(t.TempDir(), "none")})
	require.ErrorIs(t, err, os.ErrNotExist)
	dir := t.TempDir()
	_, err = Serve(Options{Cgroup: dir})
	if errors.Is(err, feature.ErrNotSupported) {
		t.Skip(err)
	}
	require.ErrorContains(t, err, dir+" is no cgroup of version 2")
}

func TestKilledLeavesNothing(t *testing.T) {
	dir := group(t)
	h, err := Serve(Options{Cgroup: dir})
	must(t, h, err).Close()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), roleVariable+"=hold "+dir)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = in.Close() })
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "attached\n", line)
	require.Equal(t, 2, attached(t, dir))
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	require.Eventually(t, func() bool { return attached(t, dir) == 0 }, time.Minute, 20*time.Millisecond)
}

// attached is how many programs a cgroup has at the hook.
func attached(t *testing.T, group string) int {
	folder, err := os.Open(group)
	require.NoError(t, err)
	defer folder.Close()
	found, err := link.QueryPrograms(link.QueryOptions{Target: int(folder.Fd()), Attach: ebpf.AttachCGroupSockOps})
	require.NoError(t, err)
	return len(found.Programs)
}
