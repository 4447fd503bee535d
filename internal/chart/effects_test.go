package chart

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func share(v float64) *float64 { return &v }

func TestEffectCells(t *testing.T) {
	e := Effects{Rows: []EffectRow{
		{Label: "base"},
		{Label: "fifo:10", Value: 0.021, Low: 0.012, High: 0.03, HaveInterval: true},
		{Label: "rr:10", Value: -0.004, Low: -0.012, High: 0.004, HaveInterval: true, Published: share(0.04)},
		{Label: "idle", Remark: "too few runs"},
	}}
	head, rows := e.Cells(53, false)
	assert.Regexp(t, `^1\.3 % slower +0 +1 % +2 % +3 % +faster$`, head)
	for _, line := range append(rows, head) {
		assert.Equal(t, 53, len([]rune(line)))
	}
	assert.Equal(t, []string{
		"             ●",
		"             │           ├───────●────────┤",
		" ├───────●───────┤                                  ○",
		"             │ too few runs",
	}, func() (out []string) {
		for _, r := range rows {
			out = append(out, strings.TrimRight(r, " "))
		}
		return out
	}())
	_, ascii := e.Cells(53, true)
	for _, line := range ascii {
		assert.Regexp(t, `^[\[\]\-Oo@|<> a-z]{53}$`, line)
	}
	assert.Contains(t, e.Legend(false), "○ published")
	assert.NotContains(t, Effects{}.Legend(false), "published")
}

// TestAnAxisHasATickOnEachSide, and zero, as narrow as tables make it.
func TestAnAxisHasATickOnEachSide(t *testing.T) {
	for _, rows := range [][]EffectRow{nil, {{Value: 0.02, Low: 0.01, High: 0.03, HaveInterval: true}}, {{Value: -0.7}}, {{Value: 0.004}, {Value: -0.11}}} {
		for width := 24; width < 70; width++ {
			head, _ := Effects{Rows: rows}.Cells(width, false)
			assert.Regexp(t, `\d %.*\b0\b.*\d %`, head)
		}
	}
}

// TestAnAxisIsAtLeastOnePerCentWide: one of a billionth would show noise as an effect.
func TestAnAxisIsAtLeastOnePerCentWide(t *testing.T) {
	for _, rows := range [][]EffectRow{nil, {{}}, {{Value: 1e-11, Low: -1e-9, High: 5e-10, HaveInterval: true}}, {{Remark: "too short"}}} {
		ax := Effects{Rows: rows}.axis()
		assert.InDelta(t, -0.01, ax.low, 1e-12)
		assert.InDelta(t, 0.01, ax.high, 1e-12)
	}
}

func TestAWideIntervalDoesNotSqueezeTheOthers(t *testing.T) {
	e := Effects{Rows: []EffectRow{
		{Value: 0.02, Low: 0.01, High: 0.03, HaveInterval: true},
		{Value: 0.01, Low: -1.2, High: 0.9, HaveInterval: true},
	}}
	_, rows := e.Cells(41, false)
	assert.True(t, strings.HasPrefix(rows[1], "‹") && strings.HasSuffix(rows[1], "›"), rows[1])
	assert.Contains(t, rows[0], "├──")
}

func TestEffectsFitAnyWidth(t *testing.T) {
	odd := []Effects{{}, {Rows: []EffectRow{{}}}, {Rows: []EffectRow{{Value: 5, Low: -9, High: 80, HaveInterval: true, Published: share(-3)}}},
		{Rows: []EffectRow{{Label: strings.Repeat("x", 90), Remark: strings.Repeat("y", 90), Published: share(0.5)}}}}
	for _, e := range odd {
		for width := range 60 {
			head, rows := e.Cells(width, false)
			for _, line := range append(rows, head) {
				assert.Equal(t, width, len([]rune(line)))
			}
			for _, line := range e.Text(width) {
				assert.LessOrEqual(t, len([]rune(line)), width)
			}
		}
	}
}

func TestPercents(t *testing.T) {
	for _, tc := range []struct {
		shares []float64
		want   string
	}{
		{[]float64{0.021, 0.012, 0.03}, "2.1 1.2 3.0"}, {[]float64{0.003, -0.005, 0.011}, "0.3 −0.5 1.1"}, {[]float64{0.31, 0.29, 0.334}, "31 29 33"},
		{[]float64{0.154, 0.0012, 0.3}, "15.4 0.1 30.0"}, {[]float64{0.0004, 0.0001}, "0.04 0.01"}, {[]float64{0, -0.00001}, "0.000 −0.001"}, {[]float64{0}, "0"},
	} {
		assert.Equal(t, tc.want, strings.Join(Percents(tc.shares...), " "))
	}
	assert.Equal(t, "+0.3 % (−0.5 to 1.1 %)", EffectRow{Value: 0.003, Low: -0.005, High: 0.011, HaveInterval: true}.Numbers())
	assert.Equal(t, "−70 %", EffectRow{Value: -0.7}.Numbers())
	assert.Equal(t, "too few runs", EffectRow{Remark: "too few runs"}.Numbers())
}

func TestRunStrips(t *testing.T) {
	s := RunStrips{Unit: "s", Strips: []RunStrip{
		{Label: "normal", Runs: []float64{0.150, 0.151, 0.149, 0.152, 0.150, 0.151, 0.9}},
		{Label: "fifo:10", Runs: []float64{0.140, 0.141, 0.142, 0.141, 0.140, 0.141, 0.142}},
	}}
	assert.Equal(t, "140 to 155 ms", s.Ends())
	assert.Equal(t, []string{"▅▆▅▆▅▆▇", "▁▁▁▁▁▁▁"}, s.Cells(20))
	assert.Equal(t, []string{"normal   ▅▆▅▆▅▆▇                   fifo:10  ▁▁▁▁▁▁▁", "140 to 155 ms"}, s.Text(80))
	assert.Len(t, s.Text(40), 3)
	_, scale := s.Lines(13)
	assert.Equal(t, "140 to 155 ms", scale)
	lines, scale := s.Lines(10)
	assert.Equal(t, "140 to 155 ms, 2 runs a cell", scale, "of seven runs in five cells: %s", lines)
	assert.Equal(t, []string{"▅▅▆", "▁▁▁"}, s.Cells(3), "medians of several")
	assert.Regexp(t, `^[_#+\-]+$`, ASCII.Replace(s.Cells(20)[0]))
	for _, odd := range []RunStrips{{}, {Strips: []RunStrip{{Runs: []float64{0}}}}, {Strips: []RunStrip{{Runs: []float64{5, 5, 5}}, {}}}, {Strips: []RunStrip{{Runs: []float64{-1, math.MaxFloat32}}}}} {
		for width := range 30 {
			for _, line := range append(odd.Cells(width), odd.Text(width)...) {
				assert.LessOrEqual(t, len([]rune(line)), width)
			}
		}
		assert.NotContains(t, odd.Ends(), "NaN")
	}
}

func TestWholes(t *testing.T) {
	assert.Equal(t, []int{34, 33, 33}, Wholes([]float64{1. / 3, 1. / 3, 1. / 3}))
	assert.Equal(t, []int{92, 7, 1}, Wholes([]float64{0.916, 0.068, 0.016}))
	assert.Empty(t, Wholes(nil))
}
