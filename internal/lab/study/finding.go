package study

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"piton/internal/bench"
	"piton/internal/bench/stats"
	"piton/internal/chart"
	"piton/internal/group"
	"piton/internal/report"
	"piton/internal/search"
	"piton/workloads/workload"
)

type kind uint8

const (
	missing  kind = iota // it was not made
	unjudged             // the Remark of the finding says why
	unclear              // not enough evidence
	same
	better
	worse
)

// finding is one comparison of today's, with what was published. Its shares are better above 0.
type finding struct {
	chart.EffectRow
	kind  kind
	bound float64 // the effect that it rules out where there is no difference
}

// found puts a comparison beside what was published, which may be nil.
func found(c bench.Comparison, label string, published *float64) finding {
	f := finding{EffectRow: c.Effect(), bound: c.Bound()}
	f.Label, f.Published = label, published
	switch {
	case !c.Comparable:
		f.kind = missing
	case c.Unjudged != "":
		f.kind = unjudged
	case c.Different && f.Value > 0:
		f.kind = better
	case c.Different:
		f.kind = worse
	case bench.Conclusive(c.Visible):
		f.kind = same
	default:
		f.kind = unclear
	}
	return f
}

// pair is two cells that are compared, with what was published of it, nil for nothing.
type pair struct {
	base, mine bench.Results
	label      string
	published  *float64
}

func (g *cells) compare(pairs []pair) (out []finding) {
	results := group.Each(pairs, func(p pair) [2]bench.Results { return [2]bench.Results{p.base, p.mine} })
	for i, c := range bench.CompareAll(results) {
		out = append(out, found(c, pairs[i].label, pairs[i].published))
		if base, mine := pairs[i].base.ID, pairs[i].mine; c.Comparable && base != mine.ID {
			g.compared = append(g.compared, report.Compared{Base: base, Study: mine.ID, Workload: mine.Study.Workload, Comparison: c})
		}
	}
	return out
}

// compareWithFirst compares cells with that of the first pair, which itself is not compared.
func (g *cells) compareWithFirst(pairs []pair) []finding {
	for i := range pairs[1:] {
		pairs[i+1].base = pairs[0].mine
	}
	return g.compare(pairs)
}

// roundRatios are the log ratios of a placement's figures to another's, of the rounds in which both
// were measured.
func roundRatios(r bench.Results, p, base bench.Placement) (out []float64) {
	for _, run := range r.Of(p) {
		for _, b := range r.Of(base) {
			if b.Index == run.Index && b.Valid() && run.Valid() {
				out = append(out, search.LogRatio(run.Metric, b.Metric))
			}
		}
	}
	return out
}

// ratioOf is the ratio that the log ratios of pairs have which were measured together: a finding
// that is better above 1.
func ratioOf(label string, logs []float64) finding {
	center, low, high, have := stats.Center(logs, 0.95)
	return gained(label, math.Exp(center)-1, math.Exp(low)-1, math.Exp(high)-1, have)
}

// gained is a share that is gained, NaN where nothing was measured, with its interval where there
// are enough pairs for one.
func gained(label string, share, low, high float64, have bool) finding {
	c := bench.Comparison{Metric: workload.Metric{HigherIsBetter: true}, Comparable: !math.IsNaN(share), Delta: share, Low: low, High: high,
		HaveInterval: have, Different: have && (low > 0 || high < 0)}
	if c.Visible = bench.Visible(low, high); !have {
		c.Unjudged = "too few runs"
	}
	return found(c, label, nil)
}

func (f finding) cell() string {
	if f.kind == missing {
		return bench.None
	}
	return f.Numbers()
}

// brief is the finding in a table without its interval.
func (f finding) brief() string {
	switch f.kind {
	case better, worse:
		return signed(f.Value)
	case same:
		return "no difference"
	case unclear:
		return "not enough evidence"
	}
	return f.cell()
}

// effects are findings on one axis, without those that were not made; there is nothing to draw where
// none could be judged.
func effects(title string, all []finding, worse, better string) chart.Figure {
	e := chart.Effects{Worse: worse, Better: better}
	if slices.ContainsFunc(all, func(f finding) bool { return f.kind > unjudged }) {
		e.Rows = group.Each(only(all, finding.made), func(f finding) chart.EffectRow { return f.EffectRow })
	}
	return chart.Figure{Title: title, Plot: e}
}

// words are of better and worse findings: "2.1 % " and then one of them.
type words struct{ better, worse string }

// sum is what findings come to in a part of a sentence: "2.1 to 3.4 % saved", "no difference
// (±0.8 %)". Where they come to several things, it says which do, by what labels have before their
// last comma, or how many.
func (w words) sum(all []finding) string {
	if all = only(all, finding.made); len(all) == 0 {
		return "not measured"
	}
	var parts, groups []string
	for _, f := range all {
		if group := f.group(); !slices.Contains(groups, group) {
			groups = append(groups, group)
			parts = append(parts, group+": "+w.kinds(only(all, func(o finding) bool { return o.group() == group })))
		}
	}
	if are(all, all[0].kind) || len(groups) == 1 || len(groups) > 3 { // too many to tell apart in a sentence
		return w.kinds(all)
	}
	return strings.Join(parts, "; ")
}

func (w words) kinds(all []finding) string {
	var parts []string
	for _, k := range []kind{better, worse, same, unclear, unjudged} {
		of := only(all, func(f finding) bool { return f.kind == k })
		if len(of) == 0 {
			continue
		}
		text := w.of(k, of)
		switch {
		case len(of) == len(all):
		case len(of) <= 2:
			text += " for " + join(group.Each(of, finding.name))
		default:
			text += fmt.Sprintf(" in %d of %d comparisons", len(of), len(all))
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// group and name are the label's parts: "16 queens" and "piton RR".
func (f finding) group() string { return f.Label[:max(strings.LastIndex(f.Label, ", "), 0)] }
func (f finding) name() string  { return strings.TrimPrefix(f.Label[len(f.group()):], ", ") }

func (f finding) made() bool { return f.kind != missing }

func (w words) of(k kind, all []finding) string {
	least := 0.0
	var values []float64
	for _, f := range all {
		least, values = max(least, f.bound), append(values, f.Value)
	}
	switch k {
	case better:
		return shares(values) + " " + w.better
	case worse:
		return shares(values) + " " + w.worse
	case same:
		if all[0].Remark != "" && least == 0 {
			return all[0].Remark // nothing was compared
		}
		return "no difference (±" + chart.Percent(least) + ")"
	case unclear:
		return "not enough evidence (" + bench.Unseen(least) + ")"
	}
	return all[0].Remark
}

// are reports whether some findings were made and all of them are of a kind.
func are(all []finding, k kind) bool {
	return has(all, k) && !slices.ContainsFunc(all, func(f finding) bool { return f.made() && f.kind != k })
}

func has(all []finding, k kind) bool {
	return slices.ContainsFunc(all, func(f finding) bool { return f.kind == k })
}

// published are the published values of findings that were made, or of all where none was.
func published(all []finding) []float64 {
	of := reproduced(all)
	if made := only(of, finding.made); len(made) > 0 {
		of = made
	}
	return group.Each(of, func(f finding) float64 { return *f.Published })
}

func reproduced(all []finding) []finding {
	return only(all, func(f finding) bool { return f.Published != nil })
}

// shares is the range of shares without their signs: "2.1 to 3.4 %", "5 %".
func shares(values []float64) string {
	if len(values) == 0 {
		return bench.None
	}
	sizes := group.Each(values, math.Abs)
	return strings.Join(slices.Compact(chart.Percents(slices.Min(sizes), slices.Max(sizes))), " to ") + " %"
}

// join lists words: "13, 14 and 16".
func join(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}
