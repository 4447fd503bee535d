package paper

import (
	"fmt"
	"slices"
	"strings"

	"piton/internal/bench"
	"piton/internal/chart"
	"piton/internal/report"
	stripiowork "piton/workloads/stripio"
	"piton/workloads/stripnet"
)

// pooled is the ratio of the bandwidths of two arms over the pairs of several cells.
func pooled(measured []saisCell, arm, base string) finding {
	var logs []float64
	for _, c := range measured {
		logs = append(logs, c.logRatios(arm, base)...)
	}
	return ratioOf("", logs)
}

// The policies of the study that have an arm: those that follow the consumer, and those that
// do not. A policy is measured by the first arm that there are periods of.
var (
	sourceAware = []policy{{"request", "request"}, {"current", "current"}, {"current", "rfs"}}
	balanced    = []policy{{"least-loaded", "least-loaded"}, {"least-loaded", "rps-least-loaded"}, {"dedicated", "dedicated"}, {"dedicated", "rps-dedicated"}}
)

// policy is one of the study's, and an arm that has it.
type policy struct{ name, arm string }

// policies are the arms that were measured of policies, the first of each.
func policies(measured []saisCell, of []policy) (out []policy) {
	for _, p := range of {
		known := slices.ContainsFunc(out, func(o policy) bool { return o.name == p.name })
		if !known && slices.ContainsFunc(measured, func(c saisCell) bool { return len(c.readings(p.arm)) > 0 }) {
			out = append(out, p)
		}
	}
	return out
}

// String is "current core (rfs)".
func (p policy) String() string { return fmt.Sprintf("%s core (%s)", p.name, p.arm) }

// saturated are the cells without a pace.
func saturated(measured []saisCell) []saisCell {
	return slices.DeleteFunc(slices.Clone(measured), func(c saisCell) bool { return c.paced })
}

// saisOrder says whether the study's order shows: request and current core before least-loaded
// and dedicated.
func saisOrder(measured []saisCell) string {
	busy := saturated(measured)
	aware, others := policies(busy, sourceAware), policies(busy, balanced)
	if len(aware) == 0 || len(others) == 0 {
		return "The study's order of its policies is not judged: too few of their arms were measured."
	}
	var all []string
	above, below := 0, 0
	for _, a := range aware {
		for _, o := range others {
			r := pooled(busy, a.arm, o.arm)
			all = append(all, fmt.Sprintf("%s against %s %s", a, o, r.cell()))
			switch r.kind {
			case better:
				above++
			case worse:
				below++
			}
		}
	}
	verdict := "not reproduced"
	switch {
	case above == len(all):
		verdict = "reproduced"
	case below == len(all):
		verdict = "reversed"
	case above > 0 && below == 0:
		verdict = "reproduced in part"
	}
	return fmt.Sprintf("The study's order, request and current core before least-loaded and dedicated, is %s in bandwidth when saturated: %s.", verdict, strings.Join(all, "; "))
}

// saisComparison is source-aware delivery beside balanced one, both made in the same way. The
// study compared with irqbalance: its least-loaded core, and one CPU for each interface today.
type saisComparison struct{ way, aware, balanced string }

var saisComparisons = []saisComparison{{"by XDP", "request", "least-loaded"}, {"by the kernel", "rfs", "fixed"}}

func (c saisComparison) ratio(measured []saisCell) finding {
	return pooled(measured, c.aware, c.balanced)
}

// saisPublished are the study's figures beside those of today.
func saisPublished(measured []saisCell) report.Table {
	t := report.Table{Title: "Published and today", Head: []string{"source-aware against irqbalance", "published"}}
	busy := saturated(measured)
	most := slices.DeleteFunc(slices.Clone(busy), func(c saisCell) bool { return c.servers < stripnet.MaxServers })
	t.Rows = [][]string{
		{"bandwidth, 1 Gb/s", "+6.05 %"},
		{"bandwidth, 3 Gb/s, most servers (48; 16 today)", "+23.57 %"},
		{"bandwidth, 8 clients", "at most +20.46 %"},
		{"bandwidth, all saturated loads", bench.None},
		{"misses of the last cache (L2)", "about −40 %"},
		{"CPU time (unhalted cycles), 1 Gb/s and 3 Gb/s", "−27 % and −48.57 %"},
	}
	for _, c := range saisComparisons {
		t.Head = append(t.Head, fmt.Sprintf("today %s, %s against %s", c.way, c.aware, c.balanced))
		now := []string{bench.None, c.ratio(most).cell(), bench.None, c.ratio(busy).cell(), saisLess(busy, c, missesPerKB), saisLess(busy, c, cpuPerKB)}
		for i := range t.Rows {
			t.Rows[i] = append(t.Rows[i], now[i])
		}
	}
	return t
}

// saisLess is by which share the medians of a figure differ, in the middle of the cells.
func saisLess(measured []saisCell, between saisComparison, of func(stripnet.Reading) float64) string {
	var shares []float64
	for _, c := range measured {
		a, b := middle(c.readings(between.aware), of), middle(c.readings(between.balanced), of)
		if a > 0 && b > 0 {
			shares = append(shares, a/b-1)
		}
	}
	return orNone(len(shares) > 0, chart.Middle(shares), signed)
}

// saisCosts are the medians of P and M over the cells.
func saisCosts(measured []saisCell) (costs stripiowork.Costs, ok bool, why string) {
	var strip, move []float64
	for _, c := range measured {
		if c.found.Costs == nil {
			why = c.found.CostsWhy
			continue
		}
		strip, move = append(strip, c.found.Costs.Strip), append(move, c.found.Costs.Move)
	}
	return stripiowork.Costs{Strip: chart.Middle(strip), Move: chart.Middle(move)}, len(strip) > 0, why
}

// saisModelTable is the model, asked for a second of each saturated cell's traffic, beside what
// was measured.
func saisModelTable(measured []saisCell) report.Table {
	t := report.Table{Title: "The study's cost model, with P and M measured here",
		Head: []string{"servers", "P", "M", "CPUs (N_C)", "strips/CPU (α)", "requests/s (N_R)", "saved per s by the model, at least"}}
	for _, b := range saisComparisons {
		t.Head = append(t.Head, "measured "+b.way+", per s")
	}
	costs, ok, _ := saisCosts(measured)
	if !ok {
		return t
	}
	for _, c := range saturated(measured) {
		mbs := middle(c.readings(deliveryArms[0].name), func(r stripnet.Reading) float64 { return r.MBs })
		shape := stripiowork.Shape{Servers: stripnet.TransferBytes / stripnet.StripBytes, Cores: c.found.CPUs, Programs: deliveryClients,
			Requests: int(mbs * 1e6 / stripnet.TransferBytes)}
		row := []string{fmt.Sprint(c.servers), chart.Quantity(costs.Strip, "s"), chart.Quantity(costs.Move, "s"), fmt.Sprint(shape.Cores),
			chart.Digits(float64(shape.Servers) / float64(max(shape.Cores, 1))), fmt.Sprint(shape.Requests), savedTime(stripiowork.Predict(costs, shape).Saving)}
		for _, b := range saisComparisons {
			row = append(row, savedPerSecond(b.ratio([]saisCell{c})))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// savedPerSecond is how much longer than a second the balanced arm takes for what the
// source-aware one transfers in one.
func savedPerSecond(f finding) string {
	if f.kind == missing {
		return bench.None
	}
	text := savedTime(f.Value)
	if f.HaveInterval {
		text += fmt.Sprintf(" (%s to %s)", savedTime(f.Low), savedTime(f.High))
	}
	return text
}

// savedTime is a time; below 0 it is lost.
func savedTime(v float64) string {
	if v < 0 {
		return "−" + chart.Quantity(-v, "s")
	}
	return chart.Quantity(v, "s")
}

// saisWords say what the model has source-aware delivery do.
func saisWords(measured []saisCell) string {
	text := "Model: T differs by at least (N_C−1)·N_R·α·(M−P). "
	costs, ok, why := saisCosts(measured)
	here := fmt.Sprintf("Here P, to process a strip, is %s and M, to move one between caches, %s", chart.Quantity(costs.Strip, "s"), chart.Quantity(costs.Move, "s"))
	switch {
	case !ok:
		return text + fmt.Sprintf("P and M were not measured: %s.", why)
	case costs.Move > costs.Strip:
		return text + here + ", so it has source-aware delivery win while requests keep the CPUs busy."
	}
	return text + here + ", so it promises source-aware delivery nothing: the study has M ≫ P, between caches that share nothing."
}
