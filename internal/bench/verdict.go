package bench

import (
	"fmt"
	"math"
	"strings"
)

// verdict puts a comparison into words: "3.1% faster (1.9–4.2%), p<0.01" or "no
// difference found (±0.8%)", where ± is the effect that would have shown. Where
// there are no shares: "12.5 /s better (9.0–14.0 /s), p<0.01".
func (c Comparison) verdict() string {
	switch {
	case !c.Comparable:
		return "nothing to compare: no valid run"
	case !c.Different && c.HaveInterval:
		return "no difference found (±" + c.number(c.Visible) + c.unit() + ")"
	case !c.Different:
		return "no difference found, too few runs to find one"
	}
	delta, from, to := c.Delta, c.Low, c.High
	if delta < 0 {
		delta, from, to = -delta, -c.High, -c.Low
	}
	text := c.number(delta) + c.unit() + " " + c.word()
	if c.HaveInterval {
		text += " (" + c.number(from) + "–" + c.number(to) + c.unit() + ")"
	}
	return text + ", " + below(c.PAdjusted)
}

// number prints a share in per cent or, where there is none, a difference in the
// metric's unit; unit is what follows it.
func (c Comparison) number(v float64) string {
	if c.NoShare {
		return fixed(v, decimals(max(math.Abs(c.Delta), c.Visible)))
	}
	return strings.TrimSuffix(percent(v), "%")
}

func (c Comparison) unit() string {
	if c.NoShare {
		return strings.TrimRight(" "+c.Metric.unit(), " ") // a command's figure may have none
	}
	return "%"
}

// Sentence is the verdict with the placement in front.
func (c Comparison) Sentence() string { return string(c.Other.Placement) + " " + c.Verdict }

// Short is the verdict for a narrow column.
func (c Comparison) Short() string {
	if c.Different {
		return c.word() + ", " + below(c.PAdjusted)
	}
	return c.Verdict
}

// percent prints a share with one decimal, with two below 0.1 %.
func percent(share float64) string {
	if p := share * 100; p > -0.095 && p < 0.095 {
		return fmt.Sprintf("%.2f%%", p)
	}
	return fmt.Sprintf("%.1f%%", share*100)
}

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
