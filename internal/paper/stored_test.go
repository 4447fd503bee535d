package paper

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"piton/internal/bench"
	"piton/internal/bench/store"
)

// Studies that were reproduced together are one, where they began. A study without a run, a probe
// and cells whose grid is not there are in none.
func TestStored(t *testing.T) {
	made := func(id, grid, cell string) bench.Results {
		return bench.Results{ID: id, Study: bench.Study{Workload: "nqueens", Grid: grid, Cell: cell}, Runs: make([]bench.RunResult, 1)}
	}
	h := store.History{Studies: []bench.Results{made("a", "", ""), made("p", "g", "nqueens probe"), made("b", "g", "nqueens 15"), made("lost", "f", "nqueens 15"),
		made("d", "", ""), made("c", "g", "matrix 2"), {ID: "canceled"}}, Grids: []bench.Grid{{ID: "g", Papers: []string{"nqueens", "matrix"}}}}
	var ids, what []string
	var cells []int
	for _, s := range All(h) {
		ids, what, cells = append(ids, s.ID()), append(what, s.What()), append(cells, len(s.Studies))
	}
	assert.Equal(t, []string{"a", "g", "d"}, ids)
	assert.Equal(t, []string{"nqueens", "paper nqueens matrix", "nqueens"}, what)
	assert.Equal(t, []int{1, 2, 1}, cells)
}
