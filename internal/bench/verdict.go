package bench

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"piton/internal/chart"
	"piton/workloads/workload"
)

// Conclusive reports whether finding no difference says something where an effect of this share
// would have shown. Where only a larger one would, it does not: "no difference ±120 %" is no finding.
func Conclusive(visible float64) bool { return visible <= 0.10 }

// visibleFactor makes of half the width of a 95 % interval the effect found with
// probability 0.8: (z(0.975) + z(0.8)) / z(0.975).
const visibleFactor = (1.960 + 0.842) / 1.960

// Visible is the effect that would have shown in a study whose 95 % interval is from low to high.
func Visible(low, high float64) float64 { return (high - low) / 2 * visibleFactor }

// Why a comparison has no verdict.
const (
	nothingToCompare = "nothing to compare: no valid run"
	tooShortToJudge  = "too short to judge"
	tooFewRuns       = "too few runs"
)

// verdict puts a comparison into words, the same everywhere: "2.1 % faster (1.2 to 3.0 %,
// p = 0.002)", "no difference ±0.9 %", where ± is what the interval rules out, or
// "not enough evidence (…)". Faster by 2 % takes 2 % less time. Of other figures there is
// more or less: "12 % more messages/s (9 to 14 %, p < 0.001)".
func (c Comparison) verdict() string {
	switch {
	case c.inconclusive():
		return c.against() + " (" + Unseen(c.Visible) + ")"
	case c.Different:
		return c.against() + " " + c.evidence()
	}
	return c.against()
}

// against is the verdict without the evidence.
func (c Comparison) against() string {
	switch {
	case c.Unjudged != "":
		return c.Unjudged
	case c.inconclusive():
		return "not enough evidence"
	case !c.Different:
		return "no difference ±" + c.number(c.Bound())
	}
	return c.change() + c.rating()
}

// Unseen says what a study that found no difference would have missed, where an effect of
// this share would have shown. Above 100 % that says nothing of effects.
func Unseen(visible float64) string {
	if visible > 1 {
		return "the runs differ too much to judge: end other work, or add runs"
	}
	return "an effect under " + chart.Percent(visible) + " would not be seen"
}

// Bound is the effect that a comparison without a difference rules out: none so large is
// in its interval, and one would have shown.
func (c Comparison) Bound() float64 { return max(c.Visible, math.Abs(c.Low), math.Abs(c.High)) }

func (c Comparison) inconclusive() bool {
	return c.Unjudged == "" && !c.Different && !c.NoShare && !Conclusive(c.Visible)
}

func (c Comparison) evidence() string {
	low, high := c.Low, c.High
	if c.Delta < 0 {
		low, high = -c.High, -c.Low
	}
	if c.NoShare {
		return fmt.Sprintf("(%s to %s, %s)", c.scale().Number(low), c.number(high), probability(c.PAdjusted))
	}
	p := chart.Percents(c.Delta, low, high)
	return fmt.Sprintf("(%s to %s %%, %s)", p[1], p[2], probability(c.PAdjusted))
}

// change is what was found: "2.1 % faster", "12 % more messages/s".
func (c Comparison) change() string {
	size := c.scale().Format(math.Abs(c.Delta))
	if !c.NoShare {
		size = chart.Percents(math.Abs(c.Delta), c.Low, c.High)[0] + " %"
	}
	more, less, noun := "more", "less", " "+c.noun()
	switch {
	case c.Metric == (workload.Metric{}):
		more, less, noun = "slower", "faster", ""
	case c.ofTime():
		more, less = "longer", "shorter"
	}
	if c.more {
		less = more
	}
	return size + " " + less + noun
}

func (c Comparison) ofTime() bool {
	return slices.Contains([]string{"s", "ms", "µs", "ns"}, c.Metric.BaseUnit())
}

// noun is what there is more of: the unit where it counts things a second, else the name.
func (c Comparison) noun() string {
	if things, ok := strings.CutSuffix(c.Metric.Unit, "/s"); ok && len(things) > len("MB") {
		return c.Metric.Unit
	}
	return c.Metric.Noun()
}

// rating is ", better" or ", worse" where the figure does not say which.
func (c Comparison) rating() string {
	switch {
	case c.ofTime() && !c.Metric.HigherIsBetter, c.Metric.HigherIsBetter && strings.HasSuffix(c.Metric.Unit, "/s"):
		return ""
	case c.Better():
		return ", better"
	}
	return ", worse"
}

// number prints a share in per cent or, where there is none, a difference in the
// metric's unit. All numbers of a comparison share a unit.
func (c Comparison) number(v float64) string {
	if c.NoShare {
		return c.scale().Format(v)
	}
	return chart.Percent(v)
}

func (c Comparison) scale() chart.Scale {
	return chart.ScaleFor(max(math.Abs(c.Delta), c.Visible), c.Metric.BaseUnit())
}

func probability(p float64) string {
	if p < 0.001 {
		return "p < 0.001"
	}
	return fmt.Sprintf("p = %.3f", p)
}

// Better reports whether the other arm was found to be better than the base.
func (c Comparison) Better() bool { return c.Different && c.more == c.Metric.HigherIsBetter }

// Effect is the comparison as a row of chart.Effects.
func (c Comparison) Effect() chart.EffectRow {
	r := chart.EffectRow{Label: string(c.Other.Placement), Value: c.Delta, Low: c.Low, High: c.High, HaveInterval: c.HaveInterval}
	if c.Unjudged != "" || c.NoShare {
		r.Remark = c.against()
	}
	if !c.Metric.HigherIsBetter {
		r.Value, r.Low, r.High = -c.Delta, -c.High, -c.Low
	}
	return r
}
