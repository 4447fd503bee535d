package sample

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/kernel"
)

// TestReadProcess is that one process alone reads as in a sample.
func TestReadProcess(t *testing.T) {
	p, err := NewProcesses("/")
	require.NoError(t, err)
	defer p.Close()
	self := kernel.TID(os.Getpid())
	task, err := p.Read(self, AllParts)
	require.NoError(t, err)
	s, err := New(Options{Needs: Needs{Identity: true, Exe: true}, EBPF: EBPFNever})
	require.NoError(t, err)
	defer s.Close()
	n, err := s.Read()
	require.NoError(t, err)
	i, ok := Find(n.Tasks, self)
	require.True(t, ok)
	want := n.Tasks[i]
	assert.Equal(t, want.StartTicks, task.StartTicks)
	assert.True(t, task.IsProcess())
	for _, id := range []*Identity{want.ID, task.ID} {
		assert.True(t, id.Full)
		assert.NotEmpty(t, id.User)
	}
	assert.Equal(t, []string{want.ID.Comm, want.ID.Cmdline, want.ID.Exe, want.ID.Cgroup, want.ID.User},
		[]string{task.ID.Comm, task.ID.Cmdline, task.ID.Exe, task.ID.Cgroup, task.ID.User})

	none, err := p.Read(1<<22, AllParts) // PID_MAX_LIMIT is no number
	require.NoError(t, err)
	assert.Nil(t, none)
}

// TestTwoUsers is a program that lends root to whoever started it: its effective user is root.
func TestTwoUsers(t *testing.T) {
	h := newTree(t)
	for pid, users := range map[kernel.TID]string{5: "0\t0", 6: "1000\t0"} {
		dir := fmt.Sprintf("proc/%d/", pid)
		h.write(dir+"stat", fmt.Sprintf("%d (su) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 77 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n", pid))
		h.write(dir+"status", fmt.Sprintf("Name:\tsu\nTgid:\t%d\nUid:\t%s\t0\t0\n", pid, users))
		h.write(dir+"cmdline", "su\x00")
		h.write(dir+"cgroup", "0::/\n")
	}
	s, err := New(Options{Root: h.root, Needs: Needs{BothUsers: true}, EBPF: EBPFNever})
	require.NoError(t, err)
	defer s.Close()
	n, err := s.Read()
	require.NoError(t, err)
	one, err := NewProcesses(h.root)
	require.NoError(t, err)
	defer one.Close()
	for pid, want := range map[kernel.TID]bool{5: false, 6: true} {
		i, ok := Find(n.Tasks, pid)
		require.True(t, ok, pid)
		task, err := one.Read(pid, AllParts)
		require.NoError(t, err)
		for _, id := range []*Identity{n.Tasks[i].ID, task.ID} {
			assert.Equal(t, want, id.TwoUsers, pid)
			assert.Equal(t, "root", id.User)
		}
	}
}
