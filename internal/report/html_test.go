package report

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/bench"
	"piton/workloads"
	"piton/workloads/activity"
	"piton/workloads/chat"
	"piton/workloads/ctxswitch"
	"piton/workloads/memlat"
	"piton/workloads/stream"
	"piton/workloads/stripio"
)

const hostile = `<script>document.title="owned"</script><img src=x onerror="alert(1)">&amp;` + "\x1b[31m|`*"

// details are a result of each workload that has a picture of its own, every word
// in them hostile.
var details = map[string]any{
	"nqueens": map[string]int{"n": 8},
	"matrix":  map[string]int{"n": 8},
	"stream": stream.Result{Cells: []stream.Cell{
		{FromCPU: -1, FromNode: 0, MemoryNode: 0, Distance: 10, Ops: ops(5842)}, {FromCPU: -1, FromNode: 0, MemoryNode: 2, Distance: 16, Ops: ops(2971)},
		{FromCPU: -1, FromNode: 2, MemoryNode: 0, Distance: 16, Ops: ops(3695)}, {FromCPU: -1, FromNode: 2, MemoryNode: 2, Distance: 10, Ops: ops(6540)}},
		Fit: &stream.Fit{Valid: true, InterceptMBs: 11000, SlopeMBs: -480, R2: 0.9, Verdict: hostile}},
	"memlat": memlat.Result{Options: memlat.Options{Caches: []memlat.Cache{{Level: 1, Bytes: 32 << 10}}}, Curves: []memlat.Curve{{Node: memlat.AnyNode,
		Points: []memlat.Point{{Bytes: 4096, Ns: 1}, {Bytes: 1 << 20, Ns: 4}, {Bytes: 1 << 28, Ns: 90}}, Levels: []memlat.Level{{Name: hostile, Ns: 1, Cycles: 4}}}}},
	"activity": activity.Result{Observed: 0.1, CounterHz: 3e9, Intervals: []activity.Interval{{1_000_000, 9000, 1}, {5_000_000, 90_000, 0}},
		Occupants: []activity.Occupant{{Kind: "task", Name: hostile, ID: 7, Seconds: 0.002, Times: 3}}},
	"ctxswitch": ctxswitch.Result{Turn: &ctxswitch.Turn{WindowMs: 20, Turns: 2, Shares: []ctxswitch.Share{{Share: 0.5}, {Share: 0.5}},
		Timeline: []ctxswitch.Active{{0, 0, 3_000_000}, {1, 3_002_000, 6_000_000}, {99, 1, 2}}}},
	"chat":    chat.Result{PerS: 40000, Why: hostile, Processes: []chat.Usage{{Role: hostile, UserSeconds: 1, SystemSeconds: 3}, {Role: "server", CPUs: "0", SystemSeconds: 2}}},
	"stripio": stripio.Result{MBs: 3576, Model: model()},
}

func model() *stripio.Model {
	var m stripio.Model
	m.Balanced, m.AwareLeast, m.AwareMost, m.Wins = 0.5, 0.2, 0.4, stripio.Surely
	return &m
}

func ops(triad float64) []stream.Op {
	return []stream.Op{{Name: "copy", MedianMBs: triad, BestMBs: triad}, {Name: "scale", MedianMBs: triad, BestMBs: triad},
		{Name: "add", MedianMBs: triad, BestMBs: triad}, {Name: "triad", MedianMBs: triad, BestMBs: triad}}
}

// study invents one of a workload: ten runs of two placements, one run failed.
func study(t *testing.T, workload string) bench.Results {
	t.Helper()
	detail, err := json.Marshal(details[workload])
	require.NoError(t, err)
	r := bench.Results{ID: "a", Started: time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC),
		Study:      bench.Study{Workload: workload, Args: []string{hostile}, Placements: []bench.Placement{"normal", "least-loaded"}, Runs: 10, Warmup: 1, Noise: 2},
		Conditions: bench.Conditions{Host: hostile, Kernel: "6.18.5", Cmdline: hostile}}
	for i := range 20 {
		seconds := 0.2 + 0.001*math.Sin(float64(i)) - 0.05*float64(i%2)
		run := bench.RunResult{Workload: workload, Placement: r.Study.Placements[i%2], Index: i / 2, Seconds: seconds, Metric: seconds, Wall: time.Second,
			Answer: hostile, Reason: hostile, Detail: detail}
		r.Runs = append(r.Runs, run)
	}
	r.Runs[3].Err = "it said " + hostile
	return r
}

func allStudies(t *testing.T) (sections []Section, figures int) {
	for _, w := range workloads.All {
		s := Study(study(t, w.Name), nil)
		sections, figures = append(sections, s), figures+len(s.Figures)
	}
	sections = append(sections, Study(bench.Results{}, nil))
	return sections, figures + len(sections[len(sections)-1].Figures)
}

func TestEveryWorkloadHasItsPicture(t *testing.T) {
	for _, w := range workloads.All {
		if details[w.Name] == nil {
			continue // a newer one; its own tests draw it
		}
		figures := Figures(study(t, w.Name))
		for _, f := range figures {
			assert.False(t, f.Plot.Empty(), "%s: %s", w.Name, f.Title)
		}
		if w.Result != nil {
			assert.Greater(t, len(figures), 2, w.Name)
		}
	}
}

func TestCountersHaveATable(t *testing.T) {
	r := study(t, "nqueens")
	for i := range r.Runs {
		r.Runs[i].Counts = []bench.Count{{Name: "cycles", Value: 2000, Share: 1}, {Name: "instructions", Value: 3000, Share: 0.5}}
	}
	counted := Study(r, nil).Tables[1]
	assert.Equal(t, []string{"counter", "normal", "least-loaded"}, counted.Head)
	assert.Contains(t, counted.Rows, []string{"instructions", "~3,000", "~3,000"})
	assert.Contains(t, counted.Rows, []string{"instructions per cycle", "~1.50", "~1.50"})
}

func TestHTMLHoldsNoMarkupOfOthers(t *testing.T) {
	sections, figures := allStudies(t)
	var out bytes.Buffer
	require.NoError(t, HTML(&out, Page{Title: hostile, Sections: sections}))
	page := out.String()
	for _, bad := range []string{"<script", "<img", "\x1b", "http://", "https://", "NaN"} {
		if bad == "http://" {
			page = strings.ReplaceAll(page, `xmlns="http://www.w3.org/2000/svg"`, "")
		}
		assert.NotContains(t, page, bad)
	}
	assert.Equal(t, figures, strings.Count(page, "<figure>"))
}

// inPage asks the browser what it made of the page.
const inPage = `(() => {
	const figures = [...document.querySelectorAll('figure')].map(f => {
		const svg = f.querySelector('svg'), box = svg ? svg.getBoundingClientRect() : {width: 0, height: 0};
		return {width: box.width, height: box.height, shapes: f.querySelectorAll('rect,line,circle,polyline').length,
			texts: [...f.querySelectorAll('text')].filter(x => x.getBBox().width > 0).length,
			outside: [...f.querySelectorAll('text,rect,circle,polyline')].filter(x => { const b = x.getBBox();
				return svg && (b.x < -1 || b.y < -1 || b.y + b.height > svg.viewBox.baseVal.height + 1); }).length};
	});
	const tables = [...document.querySelectorAll('table')].map(t => ({rows: t.rows.length,
		empty: [...t.rows].filter(r => r.cells.length !== t.rows[0].cells.length).length}));
	return {title: document.title, figures, tables, scripts: document.scripts.length, images: document.images.length,
		background: getComputedStyle(document.body).backgroundColor,
		ink: getComputedStyle(document.querySelector('text.pt')).fill};
})()`

type inspected struct {
	Title           string
	Figures         []struct{ Width, Height, Shapes, Texts, Outside float64 }
	Tables          []struct{ Rows, Empty int }
	Scripts, Images int
	Background, Ink string
}

func TestPageInARealBrowser(t *testing.T) {
	b := newBrowser(t)
	sections, figures := allStudies(t)
	var out bytes.Buffer
	require.NoError(t, HTML(&out, Page{Title: hostile, Sections: sections}))
	path := filepath.Join(t.TempDir(), "report.html")
	require.NoError(t, os.WriteFile(path, out.Bytes(), 0o600))
	b.media("screen", "light")
	b.open(path)
	var light, dark, paper inspected
	b.evaluate(inPage, &light)
	assert.Empty(t, b.complaints())
	assert.NotEqual(t, "owned", light.Title)
	assert.Zero(t, light.Scripts+light.Images, "what others wrote stayed text")
	require.Len(t, light.Figures, figures)
	for i, f := range light.Figures {
		assert.Greater(t, f.Width, 300.0, i)
		assert.Greater(t, f.Height, 20.0, i)
		assert.Positive(t, f.Texts, i)
		assert.Zero(t, f.Outside, "figure %d draws outside of itself", i)
		if i < figures-2 { // the last section is of an empty study
			assert.Greater(t, f.Shapes, 1.0, i)
		}
	}
	assert.GreaterOrEqual(t, len(light.Tables), 3*len(workloads.All))
	for i, table := range light.Tables {
		assert.Greater(t, table.Rows, 1, i)
		assert.Zero(t, table.Empty, i)
	}
	b.screenshot("light")
	b.media("screen", "dark")
	b.evaluate(inPage, &dark)
	b.screenshot("dark")
	assert.NotEqual(t, light.Background, dark.Background)
	assert.NotEqual(t, light.Ink, dark.Ink)
	b.media("print", "light")
	b.evaluate(inPage, &paper)
	assert.Len(t, paper.Figures, figures)
	var pdf struct{ Data string }
	b.call("Page.printToPDF", nil, &pdf)
	assert.True(t, strings.HasPrefix(pdf.Data, "JVBERi0"), "a PDF, in base64")
}
