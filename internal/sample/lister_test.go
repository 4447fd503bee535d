package sample

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/kernel"
	"piton/internal/procfs"
)

func TestPositionConstant(t *testing.T) {
	for _, tc := range []struct {
		name    string
		tids    []kernel.TID
		offsets []int64
		want    int64
	}{
		{"as /proc", []kernel.TID{1, 2, 9}, []int64{-1, 260, 267}, 258},
		{"first entries of buffers tell nothing", []kernel.TID{1, 2}, []int64{-1, -1}, 0},
		{"another file system", []kernel.TID{1, 2, 9}, []int64{-1, 260, 300}, 0},
		{"hashes", []kernel.TID{1, 2}, []int64{-1, 1}, 0},
	} {
		assert.Equal(t, tc.want, positionConstant(tc.tids, tc.offsets), tc.name)
	}
}

func TestOnlyNewProcessesAreListed(t *testing.T) {
	fs := procfs.New("/")
	r, err := fs.NewReader()
	if err != nil {
		t.Skip("no /proc here")
	}
	defer r.Close()
	l := lister{r: r, live: true}
	forks := func() uint64 {
		c, err := fs.Counters()
		require.NoError(t, err)
		return c.Forks
	}
	list := func() ([]candidate, bool) {
		found, changed, err := l.list(&walk{forks: forks()}, nil)
		require.NoError(t, err)
		return found, changed
	}
	all, _ := list()
	require.NotZero(t, l.constant)
	require.Equal(t, kernel.TID(1), all[0].tid)
	for range 2 { // the second sample is still the one after the first
		list()
	}
	children := childrenOf(t, startIdle(t, 30))
	found, changed := list()
	require.True(t, changed)
	if found[0].tid == 1 {
		t.Skip("the numbers wrapped in between, so all were listed")
	}
	assert.NotContains(t, found, all[0])
	for _, c := range children {
		assert.Contains(t, found, candidate{c, c})
	}
}

func TestNothingIsListedWhileNothingIsCreated(t *testing.T) {
	h := newTree(t)
	r, err := procfs.New(h.root).NewReader()
	require.NoError(t, err)
	defer r.Close()
	h.task(stub{pid: 5})
	l := lister{r: r, live: true} // as if it were, on files that stand still
	l.constant, l.forks, l.last, l.from = 258, 7, 99, 99
	found, changed, err := l.list(&walk{forks: 7}, nil)
	require.NoError(t, err)
	assert.False(t, changed)
	assert.Empty(t, found)
	h.write("proc/loadavg", "0.50 0.25 1.00 1/50 12\n") // the numbers wrapped
	found, changed, err = l.list(&walk{forks: 8}, nil)
	require.NoError(t, err)
	assert.True(t, changed)
	assert.Equal(t, []candidate{{5, 5}}, found)
}
