package sample

import (
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
	s, err := New(Options{Needs: Needs{Identity: true}, EBPF: EBPFNever})
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
