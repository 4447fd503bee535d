package nqueens

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCounts(t *testing.T) {
	known := []uint64{0, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2680, 14200, 73712, 365596}
	for n := MinN; n < len(known); n++ {
		for _, threads := range []int{1, 3} {
			r, err := Run(t.Context(), Options{N: n, Threads: threads})
			require.NoError(t, err, "N=%d", n)
			assert.Equal(t, known[n], r.Solutions, "N=%d", n)
		}
	}
}

// Sizes of seconds and minutes are checked against the literature's numbers in
// the table only, except 15, which takes a second.
func TestTableOfSolutions(t *testing.T) {
	assert.Equal(t, uint64(2_279_184), solutions[15])
	assert.Equal(t, uint64(14_772_512), solutions[16])
	assert.Equal(t, uint64(95_815_104), solutions[17])
	assert.Equal(t, uint64(666_090_624), solutions[18])
	if testing.Short() {
		t.Skip("N=15 takes a second")
	}
	r, err := Run(t.Context(), Options{N: 15, Threads: 2})
	require.NoError(t, err)
	assert.Equal(t, solutions[15], r.Solutions)
}

func TestThreadsShareTheWork(t *testing.T) {
	r, err := Run(t.Context(), Options{N: 10, Threads: 4})
	require.NoError(t, err)
	require.Len(t, r.PerThread, 4)
	var boards int
	var found uint64
	for _, th := range r.PerThread {
		boards += th.Boards
		found += th.Solutions
	}
	assert.Equal(t, r.Boards, boards, "every board was searched once")
	assert.Equal(t, uint64(724), found)
	assert.GreaterOrEqual(t, r.Boards, 256)
}

func TestMoreThreadsThanBoards(t *testing.T) {
	r, err := Run(t.Context(), Options{N: 4, Threads: 50})
	require.NoError(t, err)
	assert.Equal(t, uint64(2), r.Solutions)
}

func TestEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Run(ctx, Options{N: 18, Threads: 2})
	assert.ErrorIs(t, err, context.Canceled)
}

func TestWrongCountIsAnError(t *testing.T) {
	r := Result{Options: Options{N: 8, Threads: 1}, Solutions: 91}
	assert.ErrorContains(t, r.Check(), "91")
}

func TestJSONNames(t *testing.T) {
	r, err := Run(t.Context(), Options{N: 6, Threads: 1})
	require.NoError(t, err)
	text, err := json.Marshal(r)
	require.NoError(t, err)
	for _, name := range []string{`"n":6`, `"threads":1`, `"solutions":4`, `"seconds":`, `"longest_thread_seconds":`} {
		assert.Contains(t, string(text), name)
	}
}
