package bench

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"piton/internal/chart"
	"piton/workloads/workload"
)

// Answer is what a study found, in one or two sentences.
func (rep Report) Answer() string {
	if len(rep.Arms) == 0 {
		return ""
	}
	base := rep.Arms[0]
	switch {
	case base.Runs == 0 && base.Failed > 0:
		return fmt.Sprintf("Every run of %s failed, so there is nothing to compare with.", base.Placement)
	case base.Runs == 0:
		return fmt.Sprintf("There is no run of %s to compare with.", base.Placement)
	case len(rep.Comparisons) == 0:
		return rep.alone(base)
	}
	better, worse, same, unclear, unjudged := rep.sorted()
	if len(unjudged) == len(rep.Comparisons) {
		return rep.unjudged(unjudged)
	}
	out, found := []string{sentence(better), ""}, len(better)+len(worse) > 0
	if len(better) > 0 {
		out[1] = list(worse, Comparison.short)
	} else {
		out[1] = sentence(worse)
	}
	if len(unclear) > 0 {
		out = append(out, rep.unclear(unclear, found))
	} else if len(same) > 0 {
		out = append(out, rep.same(same, found))
	}
	out = append(out, list(unjudged, func(c Comparison) string { return string(c.Other.Placement) + ": " + c.Verdict }))
	return strings.Join(slices.DeleteFunc(out, func(text string) bool { return text == "" }), ". ") + "."
}

// sorted are the comparisons by what they found, the largest effect first.
func (rep Report) sorted() (better, worse, same, unclear, unjudged []Comparison) {
	for _, c := range rep.Comparisons {
		to := &same
		switch {
		case c.Unjudged != "":
			to = &unjudged
		case c.Better():
			to = &better
		case c.Different:
			to = &worse
		case c.inconclusive():
			to = &unclear
		}
		*to = append(*to, c)
	}
	size := func(a, b Comparison) int { return cmp.Compare(math.Abs(b.Delta), math.Abs(a.Delta)) }
	slices.SortStableFunc(better, size)
	slices.SortStableFunc(worse, size)
	return better, worse, same, unclear, unjudged
}

// sentence says what the first of some comparisons found with its evidence, and the others
// in short.
func sentence(cs []Comparison) string {
	if len(cs) == 0 {
		return ""
	}
	text := fmt.Sprintf("%s than %s%s %s", cs[0].short(), cs[0].Base.Placement, cs[0].rating(), cs[0].evidence())
	if len(cs) > 1 {
		text += "; " + list(cs[1:], Comparison.short)
	}
	return text
}

// short is the placement with what was found of it.
func (c Comparison) short() string {
	verb := " gives "
	switch {
	case c.Metric == (workload.Metric{}):
		verb = " is "
	case c.ofTime():
		verb = ": "
	}
	return string(c.Other.Placement) + verb + c.change()
}

func list(cs []Comparison, part func(Comparison) string) (text string) {
	for _, c := range cs {
		text += ", " + part(c)
	}
	return strings.TrimPrefix(text, ", ")
}

// widest is the comparison that rules out the least.
func widest(cs []Comparison) Comparison {
	return slices.MaxFunc(cs, func(a, b Comparison) int { return cmp.Compare(a.Bound(), b.Bound()) })
}

// same is about placements that do not differ.
func (rep Report) same(cs []Comparison, found bool) string {
	base, limit := string(rep.Arms[0].Placement), widest(cs).number(widest(cs).Bound())
	switch {
	case len(cs) == 1:
		return fmt.Sprintf("%s does not differ from %s by more than %s", cs[0].Other.Placement, base, limit)
	case found:
		return "No other placement differs by more than " + limit
	case len(cs) < len(rep.Comparisons):
		return fmt.Sprintf("No placement that could be judged differs from %s by more than %s", base, limit)
	}
	return fmt.Sprintf("No placement differs from %s by more than %s", base, limit)
}

// unclear is about placements of which there is not enough evidence.
func (rep Report) unclear(cs []Comparison, found bool) string {
	if found {
		return fmt.Sprintf("For %s there is not enough evidence: %s", list(cs, func(c Comparison) string { return string(c.Other.Placement) }), Unseen(widest(cs).Visible))
	}
	return fmt.Sprintf("Not enough evidence of a difference from %s: %s", rep.Arms[0].Placement, Unseen(widest(cs).Visible))
}

// unjudged says why there is no verdict, and what to do.
func (rep Report) unjudged(cs []Comparison) string {
	if slices.ContainsFunc(cs, func(c Comparison) bool { return c.Unjudged == tooShortToJudge }) {
		return rep.Short
	}
	if i := slices.IndexFunc(cs, func(c Comparison) bool { return c.Unjudged == tooFewRuns }); i >= 0 {
		return fmt.Sprintf("Too few runs to judge (%d and %d): use %d or more.", cs[i].Base.Runs, cs[i].Other.Runs, needed(len(rep.Comparisons)))
	}
	return fmt.Sprintf("No placement has a run to compare with %s.", rep.Arms[0].Placement)
}

func (rep Report) alone(a Arm) string {
	text := fmt.Sprintf("%s: %s %s", a.Placement, rep.Metric.Noun(), rep.Metric.Format(a.Median))
	if a.HaveInterval {
		text += fmt.Sprintf(" (%s)", Rows(rep)[0].Interval)
	}
	return text + "."
}

// Brief is the answer in a few words, for a list: "fifo:10 2.1 % faster".
func (rep Report) Brief() string {
	if len(rep.Arms) == 0 || rep.Arms[0].Runs == 0 {
		return "no run"
	}
	if len(rep.Comparisons) == 0 {
		return rep.Metric.Format(rep.Arms[0].Median)
	}
	if best, ok := rep.Best(); ok {
		return string(best.Other.Placement) + " " + best.against()
	}
	_, _, same, unclear, unjudged := rep.sorted()
	if len(unclear) > 0 || len(same) > 0 {
		return widest(append(unclear, same...)).against()
	}
	return unjudged[0].Verdict
}

// Best is the comparison that the Brief is of; ok is false where none found a difference.
func (rep Report) Best() (c Comparison, ok bool) {
	better, worse, _, _, _ := rep.sorted()
	if found := append(better, worse...); len(found) > 0 {
		return found[0], true
	}
	return c, false
}

// What others take is said from as much on as the effects that studies look for.
const (
	noticeableSteal = 0.01 // of the CPUs' time
	quietCPU        = 0.05 // of a CPU: spread over two, it is less than those
)

// mean is that of a figure over all measured runs that have it, long ones weighing more.
func mean(runs []RunResult, of func(RunResult) (float64, bool)) (v float64, ok bool) {
	var sum, wall float64
	for _, r := range runs {
		if v, have := of(r); have && r.Index >= 0 {
			sum += v * r.Wall.Seconds()
			wall += r.Wall.Seconds()
		}
	}
	if wall == 0 {
		return 0, false
	}
	return sum / wall, true
}

// IsQuiet reports whether it is known that others used next to nothing during the runs.
func (rep Report) IsQuiet() bool { return rep.HaveOthers && rep.Noise == 0 && rep.Others < quietCPU }

// Quiet says how busy others were during the runs, "" where that was not measured.
func (rep Report) Quiet() string {
	used := chart.Percent(rep.Others) + " of a CPU"
	if rep.Others >= 0.995 {
		used = fmt.Sprintf("%.1f CPUs", rep.Others)
	}
	switch {
	case !rep.HaveOthers:
		return ""
	case rep.Noise > 0:
		return fmt.Sprintf("%s of background load; others than the runs used %s", chart.Plural(rep.Noise, "process"), used)
	case rep.IsQuiet():
		return fmt.Sprintf("quiet (others used %s)", used)
	}
	return "not quiet: others used " + used
}
