package bench

import (
	"fmt"
	"math"
	"strings"

	"piton/internal/chart"
	"piton/workloads/workload"
)

// conclusive is the smallest visible effect, as a share, up to which a study that
// found no difference has said something. One that would miss more has not: "no
// difference (±120 %)" is no finding.
const conclusive = 0.10

// verdict puts a comparison into words, the same everywhere: "time saved +58 %
// (52–63 %, p<0.01)", "no difference found (±6 %)", where ± is the effect that
// would have shown, or "not enough evidence (…)". Where there are no shares:
// "requests +12.5 /s, better (9–14 /s, p<0.01)".
func (c Comparison) verdict() string {
	switch {
	case !c.Comparable:
		return "nothing to compare: no valid run"
	case !c.Different && !c.HaveInterval:
		return "not enough evidence (too few runs)"
	case !c.Different && !c.NoShare && c.Visible > conclusive:
		return "not enough evidence (an effect under " + c.number(c.Visible) + " would not be seen)"
	case !c.Different:
		return "no difference found (±" + c.number(c.Visible) + ")"
	}
	delta, from, to := c.Delta, c.Low, c.High
	if delta < 0 {
		delta, from, to = -delta, -c.High, -c.Low
	}
	text := c.change(delta)
	if c.HaveInterval {
		return fmt.Sprintf("%s (%s–%s, %s)", text, c.bare(from), c.number(to), below(c.PAdjusted))
	}
	return text + " (" + below(c.PAdjusted) + ")"
}

// change is what was found: of time how much is saved or added, of other figures
// how much there is more or less of it, and whether that is better.
func (c Comparison) change(size float64) string {
	if c.Metric == (workload.Metric{}) {
		word := "added"
		if c.Better() {
			word = "saved"
		}
		return "time " + word + " +" + c.number(size)
	}
	sign, word := "−", "worse"
	if c.more {
		sign = "+"
	}
	if c.Better() {
		word = "better"
	}
	return c.Metric.Noun() + " " + sign + c.number(size) + ", " + word
}

// number prints a share in per cent or, where there is none, a difference in the
// metric's unit. All numbers of a comparison share a unit.
func (c Comparison) number(v float64) string {
	if c.NoShare {
		return c.scale().Format(v)
	}
	return chart.Percent(v)
}

// bare is number without what follows it.
func (c Comparison) bare(v float64) string {
	if c.NoShare {
		return c.scale().Number(v)
	}
	return strings.TrimSuffix(chart.Percent(v), " %")
}

func (c Comparison) scale() chart.Scale {
	return chart.ScaleFor(max(math.Abs(c.Delta), c.Visible), c.Metric.BaseUnit())
}

// Sentence is the verdict with the placement in front.
func (c Comparison) Sentence() string { return string(c.Other.Placement) + ": " + c.Verdict }

// below rounds a p value up to the usual levels.
func below(p float64) string {
	switch {
	case p < 0.001:
		return "p<0.001"
	case p < 0.01:
		return "p<0.01"
	case p < 0.05:
		return "p<0.05"
	}
	return fmt.Sprintf("p=%.2f", p)
}

// Better reports whether the other arm was found to be better than the base.
func (c Comparison) Better() bool {
	return c.Different && c.more == c.Metric.HigherIsBetter
}
