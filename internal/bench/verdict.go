package bench

import (
	"fmt"
	"strings"
)

// verdict puts a comparison into words: "3.1% faster (1.9–4.2%), p<0.01" or "no
// difference found (±0.8%)", where ± is the effect that would have shown.
func (c Comparison) verdict() string {
	switch {
	case !c.Comparable:
		return "nothing to compare: no valid run"
	case !c.Different && c.HaveInterval:
		return fmt.Sprintf("no difference found (±%s)", percent(c.Visible))
	case !c.Different:
		return "no difference found, too few runs to find one"
	}
	word := c.word()
	delta, from, to := c.Delta, c.Low, c.High
	if delta < 0 {
		delta, from, to = -delta, -c.High, -c.Low
	}
	if !c.HaveInterval {
		return fmt.Sprintf("%s %s, %s", percent(delta), word, below(c.PAdjusted))
	}
	low := strings.TrimSuffix(percent(from), "%")
	return fmt.Sprintf("%s %s (%s–%s), %s", percent(delta), word, low, percent(to), below(c.PAdjusted))
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
