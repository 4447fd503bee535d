package benchcmd

import (
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/bench"
	"piton/internal/bench/store"
	"piton/internal/cli/app"
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
		assert.Regexp(t, `(?m)^  1  nqueens +count N-queens solutions.* n 15: about 0\.9 s a run, \d\d runs, `, out.String())
		assert.Regexp(t, `(?m)^  2  matrix .* a trial run shows how long it takes$`, out.String())
	}
	var out strings.Builder
	_, err := choose(strings.NewReader("1\n"), &out, h, "web-07", 80)
	require.NoError(t, err)
	for line := range strings.Lines(out.String()) {
		assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimRight(line, "\n")), 80, line)
	}
	assert.Regexp(t, `(?m)^  1  nqueens +count N-queens solutions.*\n {16}n 15: about 0\.9 s a run, `, out.String())
	for _, typed := range []string{"", "\n", "0\n", "99\n", "origami\n"} {
		_, err := choose(strings.NewReader(typed), &strings.Builder{}, h, "web-07", 80)
		assert.ErrorContains(t, err, "nqueens, matrix", typed)
	}
}

// TestTextGoesByTheLocale as the screen does.
func TestTextGoesByTheLocale(t *testing.T) {
	for env, want := range map[string]string{"LANG=C.UTF-8": "±1 % – é", "LANG=C.UTF-8 LC_ALL=C": "+-1 % - ?", "LC_ALL=POSIX": "+-1 % - ?", "": "+-1 % - ?"} {
		var out strings.Builder
		_, err := io.WriteString(textOf(&app.App{IO: app.IO{Out: &out, Env: strings.Fields(env)}}), "±1 % – é")
		require.NoError(t, err)
		assert.Equal(t, want, out.String(), env)
	}
}

// TestReproducedStudiesCanBeReported beside others, as one, where they began; a study without a
// run is nothing to report.
func TestReproducedStudiesCanBeReported(t *testing.T) {
	made := func(id, grid string) bench.Results {
		return bench.Results{ID: id, Study: bench.Study{Workload: "nqueens", Grid: grid}, Runs: make([]bench.RunResult, 1)}
	}
	h := store.History{Studies: []bench.Results{made("a", ""), made("b", "g"), made("c", "g"), made("d", ""), {ID: "canceled"}},
		Grids: []bench.Grid{{ID: "g", Papers: []string{"nqueens", "matrix"}}}}
	var ids, what []string
	for _, r := range reportable(h) {
		ids, what = append(ids, r.id), append(what, r.what)
	}
	assert.Equal(t, []string{"a", "g", "d"}, ids)
	assert.Equal(t, []string{"nqueens", "paper nqueens matrix", "nqueens"}, what)
}
