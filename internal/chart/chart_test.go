package chart

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const markup = `</text><script>alert("1")</script>&'` + "\x1b[31m\x00"

// figures are one of each kind, every text of them hostile.
func figures() []Figure {
	return []Figure{
		{"bars " + markup, markup, Bars{Unit: markup, Legend: []string{markup, "b"}, Bars: []Bar{
			{Label: markup, Value: 3, UpTo: 4, Points: []float64{2, 3, 9}, Low: 2, High: 4, HaveInterval: true},
			{Label: strings.Repeat("long ", 40), Value: 0, Told: markup, Colour: 7}}}},
		{"lines", "", Lines{X: markup, Y: markup, LogX: true, LogY: true, Marks: []Mark{{2048, markup}, {1 << 40, "outside"}}, Lines: []Line{
			{Name: markup, Points: []Point{{1024, 1}, {4096, 80}}}, {Name: "dots", Dots: true, Points: []Point{{2048, 2}}}}}},
		{"heat", "", Heat{Rows: []string{markup, "2"}, Columns: []string{markup}, Values: [][]float64{{5842}, {math.NaN()}}, Notes: [][]string{{markup}, {""}}}},
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
	for _, p := range []Plot{Bars{}, Lines{}, Lines{Lines: []Line{{Name: "a"}}}, Heat{}, Spans{}, Spans{Rows: []SpanRow{{}}}} {
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

func TestText(t *testing.T) {
	bars := Bars{Unit: "s", Bars: []Bar{{Label: "normal", Value: 2}, {Label: "spread", Value: 1, UpTo: 2}}}
	assert.Equal(t, []string{"normal ██████████ 2 s", "spread █████░░░░░ 1 s"}, bars.Text(22))
	lines := Lines{X: "threads", Y: "speed-up", Lines: []Line{{Name: "manual", Points: []Point{{1, 1}, {4, 2}}}, {Name: "kernel", Points: []Point{{4, 1.9}}}}}
	drawn := lines.Text(40)
	assert.Contains(t, strings.Join(drawn, "\n"), "a manual, b kernel")
	for _, l := range append(drawn, Bars{Bars: []Bar{{Label: strings.Repeat("x", 90)}}}.Text(40)...) {
		assert.LessOrEqual(t, len([]rune(l)), 40)
	}
	assert.Nil(t, Lines{}.Text(40))
}

func FuzzEscape(f *testing.F) {
	f.Add(markup)
	f.Add("\xff\xfe\uFFFE")
	f.Fuzz(func(t *testing.T, text string) {
		d := xml.NewDecoder(strings.NewReader(Figure{Title: text, Note: text, Plot: Bars{Bars: []Bar{{Label: text, Told: text}}}}.Inline()))
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
