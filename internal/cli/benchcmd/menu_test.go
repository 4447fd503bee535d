package benchcmd

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/bench"
	"piton/internal/bench/store"
)

func TestMenuOfWorkloads(t *testing.T) {
	past := bench.Results{Study: bench.Study{Workload: "nqueens", Placements: []bench.Placement{"normal"}, Runs: 1}.Canonical(),
		Conditions: bench.Conditions{Host: "web-07"}, Runs: []bench.RunResult{{Placement: "normal", Seconds: 0.0222}}}
	h := store.History{Studies: []bench.Results{past}}
	for typed, want := range map[string]string{"1\n": "nqueens", "matrix\n": "matrix", " 3": "stream"} {
		var out strings.Builder
		name, err := choose(strings.NewReader(typed), &out, h, "web-07", 120)
		require.NoError(t, err)
		assert.Equal(t, want, name)
		assert.Regexp(t, `(?m)^  1  nqueens +count N-queens solutions.* n 15: about 0\.8 s a run, \d\d runs, `, out.String())
		assert.Regexp(t, `(?m)^  2  matrix .* a trial run shows how long it takes$`, out.String())
	}
	var out strings.Builder
	_, err := choose(strings.NewReader("1\n"), &out, h, "web-07", 80)
	require.NoError(t, err)
	for line := range strings.Lines(out.String()) {
		assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimRight(line, "\n")), 80, line)
	}
	assert.Regexp(t, `(?m)^  1  nqueens +count N-queens solutions.*\n {16}n 15: about 0\.8 s a run, `, out.String())
	for _, typed := range []string{"", "\n", "0\n", "99\n", "origami\n"} {
		_, err := choose(strings.NewReader(typed), &strings.Builder{}, h, "web-07", 80)
		assert.ErrorContains(t, err, "nqueens, matrix", typed)
	}
}
