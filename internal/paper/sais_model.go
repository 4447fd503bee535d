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
func pooled(measured []saisCell, arm, base string) ratio {
	var logs []float64
	for _, c := range measured {
		logs = append(logs, logRatios(c.pairs(arm, base, rate))...)
	}
	return ratioOf(logs)
}

// The policies of the study that have an arm: those that follow the consumer, and those that
// do not. A policy is measured by the first arm that there are periods of.
var (
	sourceAware = []policy{{"current", "rfs"}}
	balanced    = []policy{{"least-loaded", "rps-least-loaded"}, {"dedicated", "rps-dedicated"}}
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
func saturated(measured []saisCell) (out []saisCell) {
	for _, c := range measured {
		if !c.paced {
			out = append(out, c)
		}
	}
	return out
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
			if all = append(all, fmt.Sprintf("%s against %s %s", a, o, r.words())); r.more() {
				above++
			} else if r.less() {
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

// against are the arms of the source-aware and of the balanced side that the model and the
// published gain are compared with: irqbalance is fixed today.
func against(measured []saisCell) (aware, fixed string) {
	arms := policies(measured, sourceAware)
	if len(arms) == 0 {
		return "", "fixed"
	}
	return arms[0].arm, "fixed"
}

// saisPublished are the study's figures beside those of today.
func saisPublished(measured []saisCell) report.Table {
	aware, fixed := against(measured)
	t := report.Table{Title: "Published and today", Head: []string{"source-aware against irqbalance", "published", "today"}}
	add := func(what, then, now string) { t.Rows = append(t.Rows, []string{what, then, now}) }
	gains := func(of []saisCell) string {
		if aware == "" {
			return bench.None
		}
		return pooled(of, aware, fixed).words()
	}
	only := func(servers int) (out []saisCell) {
		for _, c := range saturated(measured) {
			if c.servers == servers {
				out = append(out, c)
			}
		}
		return out
	}
	add("bandwidth, 1 Gb/s", "+6.05 %", bench.None)
	add("bandwidth, 3 Gb/s, most servers (48; 16 today)", "+23.57 %", gains(only(16)))
	add("bandwidth, 8 clients", "at most +20.46 %", bench.None)
	add("bandwidth, all saturated loads", bench.None, gains(saturated(measured)))
	add("misses of the last cache (L2)", "about −40 %", saisLess(saturated(measured), aware, fixed, missesPerKB))
	add("CPU time (unhalted cycles), 1 Gb/s and 3 Gb/s", "−27 % and −48.57 %", saisLess(saturated(measured), aware, fixed, func(r stripnet.Reading) float64 { return r.CPUNsPerKB }))
	return t
}

// saisLess is by which share the medians of a figure differ, in the middle of the cells.
func saisLess(measured []saisCell, arm, base string, of func(stripnet.Reading) float64) string {
	var shares []float64
	for _, c := range measured {
		a, b := middle(c.readings(arm), of), middle(c.readings(base), of)
		if a > 0 && b > 0 {
			shares = append(shares, a/b-1)
		}
	}
	if len(shares) == 0 {
		return bench.None
	}
	return signed(chart.Middle(shares))
}

// saisCost is the study's model with the costs that were measured.
type saisCost struct {
	stripiowork.Costs
	stripiowork.Shape
	stripiowork.Prediction
}

// model asks the study's model for a second of a cell's traffic in a source-aware arm. Costs
// are the medians of all cells.
func (c saisCell) model(costs stripiowork.Costs, aware string) saisCost {
	shape := stripiowork.Shape{Servers: stripnet.MaxServers, Cores: c.found.CPUs, Programs: deliveryClients,
		Requests: int(middle(c.readings(aware), func(r stripnet.Reading) float64 { return r.MBs }) * 1e6 / stripnet.TransferBytes)}
	return saisCost{costs, shape, stripiowork.Predict(costs, shape)}
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

// saisModelTable is the model beside what was measured.
func saisModelTable(measured []saisCell) report.Table {
	t := report.Table{Title: "The study's cost model, with P and M measured here", Head: []string{"servers", "P", "M", "CPUs (N_C)", "strips/CPU (α)", "requests/s (N_R)", "saved per s by the model, at least", "measured, per s"}}
	aware, fixed := against(measured)
	costs, ok, _ := saisCosts(measured)
	if !ok || aware == "" {
		return t
	}
	for _, c := range saturated(measured) {
		m := c.model(costs, aware)
		r := pooled([]saisCell{c}, aware, fixed)
		saved := bench.None
		if r.pairs > 0 {
			saved = perSecond(r.center - 1)
			if r.have {
				saved += fmt.Sprintf(" (%s to %s)", perSecond(r.low-1), perSecond(r.high-1))
			}
		}
		t.Rows = append(t.Rows, []string{fmt.Sprint(c.servers), chart.Quantity(costs.Strip, "s"), chart.Quantity(costs.Move, "s"), fmt.Sprint(m.Cores),
			chart.Digits(float64(m.Servers) / float64(max(m.Cores, 1))), fmt.Sprint(m.Requests), perSecond(m.Saving), saved})
	}
	return t
}

// perSecond is a time that is saved in each second.
func perSecond(v float64) string {
	if v < 0 {
		return "−" + chart.Quantity(-v, "s")
	}
	return chart.Quantity(v, "s")
}

// saisWords say when source-aware delivery wins.
func saisWords(measured []saisCell) string {
	costs, ok, why := saisCosts(measured)
	aware, fixed := against(measured)
	switch {
	case aware == "":
		return "The cost model is not compared: no source-aware arm was measured."
	case !ok:
		return fmt.Sprintf("The cost model is not compared: %s.", why)
	}
	text := fmt.Sprintf("Model: T differs by at least (N_C−1)·N_R·α·(M−P). Here P, to process a strip, is %s and M, to move one between caches, %s", chart.Quantity(costs.Strip, "s"), chart.Quantity(costs.Move, "s"))
	if costs.Move > costs.Strip {
		text += ", so it has source-aware delivery win while requests keep the CPUs busy"
	} else {
		text += ", so it promises source-aware delivery nothing: the study has M ≫ P, between caches that share nothing"
	}
	r := pooled(saturated(measured), aware, fixed)
	switch {
	case r.more():
		text += fmt.Sprintf(". Measured, %s has more bandwidth than %s: %s", aware, fixed, r.words())
	case r.less():
		text += fmt.Sprintf(". Measured, %s has less bandwidth than %s: %s", aware, fixed, r.words())
	default:
		text += fmt.Sprintf(". Measured, the bandwidth of %s and %s does not differ reliably: %s", aware, fixed, r.words())
	}
	base := pooled(saturated(measured), aware, deliveryArms[0].Name)
	return text + fmt.Sprintf("; against the kernel's own delivery: %s.", base.words())
}
