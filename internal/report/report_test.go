package report

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/bench"
	"piton/internal/bench/runner"
	"piton/internal/chart"
)

func TestCommandLineRunsAStudyAgain(t *testing.T) {
	some := bench.Study{Placements: []bench.Placement{"normal", "fifo:10"}, Runs: 10, Warmup: 1, Timeout: bench.DefaultTimeout}
	with := func(change func(s *bench.Study)) bench.Study {
		s := some
		change(&s)
		return s
	}
	rate, err := runner.RateFigure("file:/run/my app/requests")
	assert.NoError(t, err)
	for want, s := range map[string]bench.Study{
		"piton bench nqueens -n 13 --noise 2 --place normal --place fifo:10 --runs 10 --warmup 1 --until 0.01 --budget 5m0s --counters": with(func(s *bench.Study) {
			s.Workload, s.Args, s.Noise, s.Until, s.Budget, s.Counters = "nqueens", []string{"-n", "13"}, 2, 0.01, 5*time.Minute, true
		}),
		"piton bench run --metric 'time: +([0-9.]+)' --unit s --noise 1 --place normal --place fifo:10 --runs 10 --warmup 1 --timeout 1s -- sh -c 'sleep 1; echo it'\\''s'": with(func(s *bench.Study) {
			s.Workload, s.Args, s.Noise, s.Timeout = bench.CommandWorkload, []string{"sh", "-c", "sleep 1; echo it's"}, 1, time.Second
			s.Figure = bench.Figure{Pattern: "time: +([0-9.]+)", Unit: "s"}
		}),
		"piton bench attach 3641 --rate 'file:/run/my app/requests' --period 2s --place normal --place fifo:10 --runs 10 --warmup 1": with(func(s *bench.Study) {
			s.Workload, s.Args, s.Figure, s.Period = bench.AttachWorkload, []string{"3641", "nginx"}, rate, 2*time.Second
		}),
	} {
		assert.Equal(t, want, CommandLine(s))
	}
	assert.Equal(t, "run --noise 1 -- sh -c 'a b'", Command(bench.Study{Workload: bench.CommandWorkload, Args: []string{"sh", "-c", "a b"}, Noise: 1}))
	assert.Equal(t, "attach 3641 'my app' --noise 2", Command(bench.Study{Workload: bench.AttachWorkload, Args: []string{"3641", "my app"}, Noise: 2}))
}

// TestTheAnswerComesFirst and then what shows it, before the tables.
func TestTheAnswerComesFirst(t *testing.T) {
	s := Section{Title: "Queens", Answer: "fifo is <2 % faster.", Lead: []string{"As of then."},
		Figures: []chart.Figure{{Title: "Time saved", Plot: chart.Effects{Rows: []chart.EffectRow{{Label: "fifo", Value: 0.02}}}}},
		Tables:  []Table{{Title: "Placements", Head: []string{"placement"}, Rows: [][]string{{"normal"}}}}}
	var text, markdown, html bytes.Buffer
	require.NoError(t, Text(&text, s, 60))
	assert.Regexp(t, `(?s)^Queens\nfifo is <2 % faster\.\nAs of then\.\n\nTime saved\n +slower .*\nfifo .*●.*Placements\nplacement\nnormal\n$`, text.String())
	require.NoError(t, Markdown(&markdown, []Section{s}))
	assert.Regexp(t, `^## Queens\n\n\*\*fifo is &lt;2 % faster\.\*\*\n\nAs of then\.\n`, markdown.String())
	require.NoError(t, HTML(&html, Page{Sections: []Section{s}}))
	assert.Regexp(t, `(?s)<h2>Queens</h2>\n<p class="answer">fifo is &lt;2 % faster\.</p>\n<p>As of then\.</p>\n<figure>.*<h3>Placements</h3>`, html.String())
}

// TestAPictureOfNothingSaysWhy: a study where nothing could be judged has nothing to draw.
func TestAPictureOfNothingSaysWhy(t *testing.T) {
	svg := string(SVG([]Section{{Title: "Queens", Answer: "Today: too few runs."}, {Title: "Matrix"}}))
	for _, text := range []string{"Queens", "Today: too few runs.", "Matrix", "Nothing was measured."} {
		assert.Contains(t, svg, ">"+text+"</text>")
	}
}

// TestATableFitsItsWidth: columns without room follow below, behind the keys.
func TestATableFitsItsWidth(t *testing.T) {
	table := Table{Keys: 1, Head: []string{"cell", "runs", "verdict"}, Rows: [][]string{{"a", "10", "no difference"}, {"bcd", "9", "faster"}}}
	for width, want := range map[int]string{
		0:  "cell  runs  verdict\na       10  no difference\nbcd      9  faster\n",
		25: "cell  runs  verdict\na       10  no difference\nbcd      9  faster\n",
		24: "cell  runs\na       10\nbcd      9\ncell  verdict\na     no difference\nbcd   faster\n",
		5:  "cell  runs\na       10\nbcd      9\ncell  verdict\na     no difference\nbcd   faster\n",
	} {
		var out bytes.Buffer
		require.NoError(t, table.Text(&out, width))
		assert.Equal(t, want, out.String(), width)
	}
	var out bytes.Buffer
	require.NoError(t, Table{Head: []string{"one"}, Rows: [][]string{{"x"}}}.Text(&out, 80))
	assert.Equal(t, "one\nx\n", out.String())
}
