package bench

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTable(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	r := study(noisy(rng, 10, 1), noisy(rng, 10, 0.9), noisy(rng, 10, 1), nil)
	r.Runs[0].Migrations = 100
	r.Runs = append(r.Runs, RunResult{Placement: "rr:10", Err: "not permitted"})
	rep := Judge(r)
	var out strings.Builder
	require.NoError(t, WriteTable(&out, rep))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 6)
	assert.Regexp(t, `^placement +median +95% interval +Δ normal +migrations +run delay +verdict$`, lines[0])
	assert.Regexp(t, `^normal +0\.\d{3} s +\[0\.\d{3} … 0\.\d{3}\] +─*┼─* +– +0 +– +–$`, lines[1])
	assert.Regexp(t, `^least-loaded +0\.\d{3} s .* −\d+\.\d% .* faster, p<0\.0\d+$`, lines[2])
	assert.Regexp(t, `^fifo:10 .* no difference found \(±\d\.\d%\)$`, lines[3])
	assert.Regexp(t, `^rr:10 +– +– +– +– +– +every run failed$`, lines[4])
	assert.Equal(t, "note: rr:10: 1 failed and left out", lines[5])
	column := func(line, cell string) int { return utf8.RuneCountInString(line[:strings.Index(line, cell)]) }
	assert.Equal(t, column(lines[0], "verdict"), column(lines[2], "faster"), "columns line up")
	assert.Equal(t, column(lines[0], "verdict"), column(lines[3], "no diff"))
}

func TestDigitsStandBelowEachOther(t *testing.T) {
	rows := Rows(Judge(study([]float64{1.5, 1.5, 1.5}, []float64{0.05, 0.05, 0.05})))
	assert.Equal(t, "1.5000 s", rows[0].Median)
	assert.Equal(t, "0.0500 s", rows[1].Median)
}

func TestRowsOfNothing(t *testing.T) {
	assert.Empty(t, Rows(Report{}))
	assert.NoError(t, WriteTable(nil, Report{}))
	rows := Rows(Judge(study(nil, nil)))
	assert.Equal(t, None, rows[0].Median)
	assert.Equal(t, None, rows[0].Verdict)
	assert.Contains(t, rows[1].Verdict, "nothing to compare")
}

func TestBar(t *testing.T) {
	assert.Equal(t, "────┼────        ", bar(0, 4, 8, 0, 16))
	assert.Equal(t, "        ┼        ", bar(5, 5, 5, 5, 5), "one value needs no scale")
	assert.Equal(t, "                ┼", bar(16, 16, 16, 0, 16))
}

func TestSeconds(t *testing.T) {
	for s, want := range map[float64]string{123.45: "123.5", 12.345: "12.35", 1.2345: "1.234", 0.2413: "0.241", 0.02413: "0.0241", 0.000123: "0.000123"} {
		assert.Equal(t, want, Seconds(s))
	}
}

func TestSigned(t *testing.T) {
	for share, want := range map[float64]string{-0.031: "−3.1%", 0.2: "+20.0%", -0.0001: "0.0%", 0: "0.0%"} {
		assert.Equal(t, want, signed(share))
	}
}

func TestJSONLines(t *testing.T) {
	r := sampleResults("one")
	for i, want := range []string{`"migrations":12`, `"migrations":null`} {
		line, err := RunJSON(r.ID, r.Runs[i])
		require.NoError(t, err)
		assert.Contains(t, string(line), `{"type":"run","study":"one","workload":"nqueens","placement":`)
		assert.Contains(t, string(line), want)
		for _, name := range []string{"wall_s", "work_s", "user_s", "sys_s", "answer", "run_delay_ns", "voluntary_switches", "max_rss_bytes", "touched", "error"} {
			assert.Contains(t, string(line), `"`+name+`":`)
		}
	}
	line, err := StudyJSON(r)
	require.NoError(t, err)
	assert.Contains(t, string(line), `"conditions":{"host":"web-07","kernel":"6.18.5"`)

	rng := rand.New(rand.NewPCG(8, 9))
	c := Judge(study(noisy(rng, 10, 1), noisy(rng, 10, 0.8), nil)).Comparisons
	line, err = ComparisonJSON("one", "nqueens", c[0])
	require.NoError(t, err)
	var fields map[string]any
	require.NoError(t, json.Unmarshal(line, &fields))
	assert.Equal(t, "comparison", fields["type"])
	assert.Equal(t, "normal", fields["base"])
	assert.Equal(t, true, fields["different"])
	assert.InDelta(t, -0.2, fields["delta"], 0.03)
	assert.Contains(t, string(line), "faster (")
	assert.Contains(t, string(line), ", p<0.001", "as it is read")
	line, err = ComparisonJSON("one", "nqueens", c[1])
	require.NoError(t, err)
	assert.Contains(t, string(line), `"delta":null`)
	assert.Contains(t, string(line), `"warnings":[]`)
}
