package sample

import (
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/kernel"
)

func find(s *Sample, tid kernel.TID) *Task {
	for i := range s.Tasks {
		if s.Tasks[i].TID == tid {
			return s.Tasks[i]
		}
	}
	return nil
}

func TestReadThisMachine(t *testing.T) {
	pid := kernel.TID(os.Getpid())
	s := liveSampler(t, Needs{Affinity: true, Migrations: true, IOPrio: true, Exe: true, Watch: []kernel.TID{pid}})
	var n *Sample
	for i := range 3 {
		var err error
		n, err = s.Read()
		require.NoError(t, err)
		assert.Equal(t, uint64(i+1), n.Seq)
	}
	assert.True(t, slices.IsSortedFunc(n.Tasks, func(a, b *Task) int { return int(a.TID) - int(b.TID) }))
	me := find(n, pid)
	require.NotNil(t, me)
	assert.Equal(t, pid, me.TGID)
	assert.Greater(t, me.Threads, int32(1))
	assert.True(t, me.ID.Full)
	assert.NotEmpty(t, me.ID.Exe)
	assert.NotEmpty(t, me.ID.User)
	assert.NotEmpty(t, me.ID.Cmdline)
	assert.NotZero(t, me.RunNs)
	want := HaveAffinity | HaveAttr | HaveIOPrio | HaveMigrations
	assert.Equal(t, want, me.Have&want)
	assert.False(t, me.Affinity.Empty())
	assert.NotEmpty(t, n.CPUs)
	assert.NotZero(t, n.Host.MemTotalBytes)
	assert.NotZero(t, n.Host.Uptime)
	assert.NotEmpty(t, n.Host.Name)
	for _, c := range n.Collectors {
		assert.NoError(t, c.Err, c.Name)
	}
}
