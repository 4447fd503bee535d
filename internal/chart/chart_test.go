package chart

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const markup = `</text><script>alert("1")</script>&'` + "\x1b[31m\x00"

// figures are one of each kind, every text of them hostile.
func figures() []Figure {
	return []Figure{
		{"bars " + markup, markup, Bars{Unit: markup, Legend: []string{markup, "b"}, Bars: []Bar{
			{Label: markup, Value: 3, UpTo: 4, Low: 2, High: 4, HaveInterval: true},
			{Label: strings.Repeat("long ", 40), Value: 0, Caption: markup, Colour: 7}}}},
		{"lines", "", Lines{X: markup, Y: markup, LogX: true, LogY: true, Marks: []Mark{{2048, markup}, {1 << 40, "outside"}}, Lines: []Line{
			{Name: markup, Points: []Point{{1024, 1}, {4096, 80}}}, {Name: "dots", Dots: true, Points: []Point{{2048, 2}}}}}},
		{"heat", "", Heat{Rows: []string{markup, "2"}, Columns: []string{markup}, Values: [][]float64{{5842}, {math.NaN()}}, Notes: [][]string{{markup}, {""}}}},
		{"effects", "", Effects{Worse: markup, Better: markup, Rows: []EffectRow{
			{Label: markup, Value: 0.02, Low: 0.01, High: 0.03, HaveInterval: true, Published: new(float64)}, {Label: "x", Remark: markup}}}},
		{"runs", "", RunStrips{Unit: markup, Strips: []RunStrip{{Label: markup, Runs: []float64{2, 3, 99}}, {Label: "none"}}}},
		{"spans", "", Spans{End: 10, Unit: "ms", Legend: []string{"active", markup}, Rows: []SpanRow{{Label: markup, Filled: true, Spans: []Span{{1, 2, 1}, {9, 99, 1}, {50, 60, 1}}}}}},
	}
}

// elements parses XML and counts its elements; it fails on what is no XML.
func elements(t *testing.T, doc string) map[string]int {
	t.Helper()
	out := map[string]int{}
	d := xml.NewDecoder(strings.NewReader(doc))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return out
		}
		require.NoError(t, err)
		if e, ok := token.(xml.StartElement); ok {
			out[e.Name.Local]++
		}
	}
}

func TestSVGIsXMLWithNothingFromOutside(t *testing.T) {
	doc := string(SVG(figures()))
	n := elements(t, doc)
	assert.Zero(t, n["script"])
	assert.Equal(t, 1, n["svg"])
	assert.GreaterOrEqual(t, n["g"], 4)
	assert.Positive(t, n["polyline"])
	assert.Contains(t, doc, "prefers-color-scheme:dark")
	assert.NotContains(t, doc, "NaN")
	for _, f := range figures() {
		assert.NotEmpty(t, elements(t, f.Inline())["text"], f.Title)
	}
}

func TestEmptyFiguresSaySo(t *testing.T) {
	for _, p := range []Plot{Bars{}, Lines{}, Lines{Lines: []Line{{Name: "a"}}}, Heat{}, Spans{}, Spans{Rows: []SpanRow{{}}}, Effects{}, RunStrips{}, RunStrips{Strips: []RunStrip{{Label: "x"}}}} {
		assert.True(t, p.Empty())
		assert.Contains(t, Figure{Title: "x", Plot: p}.Inline(), "nothing was measured")
	}
	elements(t, string(SVG(nil)))
}

func TestTicks(t *testing.T) {
	for _, test := range []struct {
		values []float64
		log    bool
		n      int
		want   []float64
	}{
		{[]float64{0, 10}, false, 5, []float64{0, 2, 4, 6, 8, 10}},
		{[]float64{1, 100}, false, 4, []float64{0, 50, 100}},
		{[]float64{98, 100}, false, 4, []float64{98, 98.5, 99, 99.5, 100}},
		{[]float64{1024, 8192}, true, 8, []float64{1024, 2048, 4096, 8192}},
		{[]float64{1, 1 << 20}, true, 5, []float64{1, 16, 256, 4096, 65536, 1 << 20}},
	} {
		assert.InDeltaSlice(t, test.want, newAxis(test.values, test.log).fromZero(false).ticks(test.n), 1e-6, "%v", test.values)
	}
	for _, odd := range [][]float64{nil, {0}, {-3}, {math.NaN(), math.Inf(1)}, {5, 5}} {
		for _, log := range []bool{false, true} {
			a := newAxis(odd, log).fromZero(false).onto(0, 100)
			assert.Less(t, len(a.ticks(6)), 100, "%v", odd)
			assert.Less(t, a.low, a.high, "%v", odd)
		}
	}
}

func TestShort(t *testing.T) {
	for v, want := range map[float64]string{0.25: "0.25", 3.14159: "3.142", 9999: "9999", 12345.6: "12,346", -1234567: "-1,234,567", 0: "0"} {
		assert.Equal(t, want, Short(v))
	}
}

func TestQuantity(t *testing.T) {
	for _, tc := range []struct {
		value float64
		unit  string
		want  string
	}{
		{0.006539, "s", "6.54 ms"}, {0.001223, "s", "1.22 ms"}, {0.241, "s", "241 ms"}, {1, "s", "1 s"}, {0.9999, "s", "1.00 s"}, {0.00000012, "s", "120 ns"},
		{99.99, "s", "100 s"}, {345, "s", "5.75 min"}, {18177, "s", "5.05 h"}, {0, "s", "0 s"}, {-0.0123, "s", "-12.3 ms"},
		{1.2345, "µs", "1.23 µs"}, {1234, "ns", "1.23 µs"}, {12_345.6, "MB/s", "12.3 GB/s"}, {5842, "MB/s", "5,840 MB/s"},
		{40_000, "messages/s", "40 k messages/s"}, {12_345, "/s", "12.3 k/s"}, {1234, "", "1,230"}, {1.23e9, "", "1.23 G"}, {0.0123, "%", "0.0123 %"}, {52, "", "52"},
	} {
		assert.Equal(t, tc.want, Quantity(tc.value, tc.unit))
	}
	for share, want := range map[float64]string{0.58: "58 %", 0.0341: "3.4 %", 0.06: "6 %", 0.0062: "0.62 %", 1.2: "120 %", 0: "0 %", -0.0000001: "0 %", 0.000012: "0.0012 %", 0.0996: "10 %"} {
		assert.Equal(t, want, Percent(share))
	}
	for d, want := range map[time.Duration]string{38 * time.Second: "38 s", 98 * time.Second: "1:38 min", 7500 * time.Second: "2:05:00 h", 1300 * time.Millisecond: "1.3 s", 80 * time.Millisecond: "0.1 s"} {
		assert.Equal(t, want, Clock(d))
	}
}

func TestText(t *testing.T) {
	bars := Bars{Unit: "s", Bars: []Bar{{Label: "normal", Value: 2}, {Label: "spread", Value: 1, UpTo: 2}}}
	assert.Equal(t, []string{"normal ██████████ 2 s", "spread █████░░░░░ 1 s"}, bars.Text(22))
	for _, l := range append(Effects{}.Text(40), Bars{Bars: []Bar{{Label: strings.Repeat("x", 90)}}}.Text(40)...) {
		assert.LessOrEqual(t, len([]rune(l)), 40)
	}
}

func FuzzEscape(f *testing.F) {
	f.Add(markup)
	f.Add("\xff\xfe\uFFFE")
	f.Fuzz(func(t *testing.T, text string) {
		d := xml.NewDecoder(strings.NewReader(Figure{Title: text, Note: text, Plot: Bars{Bars: []Bar{{Label: text, Caption: text}}}}.Inline()))
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if e, ok := token.(xml.StartElement); ok && e.Name.Local == "script" {
				t.Fatal("markup got through")
			}
		}
	})
}

func TestMiddle(t *testing.T) {
	for _, tt := range []struct {
		values []float64
		want   float64
	}{
		{nil, 0}, {[]float64{7}, 7}, {[]float64{3, 1}, 2}, {[]float64{9, 1, 4}, 4}, {[]float64{4, 1, 9, 2}, 3},
	} {
		assert.InDelta(t, tt.want, Middle(tt.values), 1e-12, "%v", tt.values)
	}
	values := []float64{3, 1, 2}
	Middle(values)
	assert.Equal(t, []float64{3, 1, 2}, values, "they stay in their order")
}

func TestWrap(t *testing.T) {
	text := "time saved -12.3 % of 0-15 with --revert-after"
	assert.Equal(t, []string{"time saved", "-12.3 % of", "0-15 with", "--revert-after"}, Wrap(text, 12))
	assert.Equal(t, []string{text}, Wrap(text, 80))
	assert.Empty(t, Wrap(" ", 80))
}

// TestCleanHidesNothing is of names that others chose.
func TestCleanHidesNothing(t *testing.T) {
	assert.Equal(t, "a\uFFFD\uFFFD\uFFFDb é\u00a0\t", Clean("a\u202e\u2066\u2028b é\u00a0\t"))
}

// TestWrapKeepsAFigureWhole: no line begins with the sign of a share.
func TestWrapKeepsAFigureWhole(t *testing.T) {
	assert.Equal(t, []string{"least-loaded is", "17 % faster (2 to", "18 %)"}, Wrap("least-loaded is 17 % faster (2 to 18 %)", 18))
}

func TestEighths(t *testing.T) {
	for share, want := range map[float64]string{0: "", 0.5: "█████", 0.38: "███▊", 1: "██████████", 2: "██████████", -1: ""} {
		assert.Equal(t, want, Eighths(share, 10), "%g", share)
	}
	assert.Equal(t, "### ", ASCII.Replace(Eighths(0.33, 10)), "as wide as the other")
}

func TestColumns(t *testing.T) {
	assert.Equal(t, "▁ ▄▇", Columns([]uint64{1, 0, 50, 100}))
	assert.Empty(t, Columns(nil))
}
