package study

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"piton/internal/bench"
	"piton/internal/chart"
	"piton/internal/group"
	"piton/internal/lab/stripnet"
	"piton/internal/paper"
	"piton/internal/report"
	stripiowork "piton/workloads/stripio"
)

var sais = Paper{
	Name: "sais", Title: "Source-aware delivery of packets (SAIs)",
	Source: "Published 2011, on a client with 2 × quad Opteron 2384 at 2.7 GHz, up to 3 network cards of 1 Gb/s and 8 to 48 PVFS servers; strips of 64 KB are merged to transfers of 1 MB.",
	claim:  "Published: source-aware delivery of packets gave 6.05 % (1 Gb/s) to 23.6 % (3 Gb/s) more bandwidth.",
	weight: 3, whole: true, rounds: 1, sizes: alternatives(saisLoads, saisCells), present: saisSection,
}

// saisLoad is the traffic of a cell: so many servers, which send as fast as they can or at
// a pace that leaves the machine idle for the most part.
type saisLoad struct {
	servers int
	pace    int // MB/s that the clients ask for together, 0 for as much as they get
}

const pacedMBs = 400

// saisLoads are those of each scale, as they are shown.
var saisLoads = [][]saisLoad{
	{{1, 0}, {2, 0}, {4, 0}, {8, 0}, {16, 0}, {1, pacedMBs}, {4, pacedMBs}, {16, pacedMBs}},
	{{1, 0}, {4, 0}, {16, 0}, {4, pacedMBs}, {16, pacedMBs}},
	{{4, 0}, {16, 0}, {4, pacedMBs}},
	{{4, 0}},
}

func (l saisLoad) load() string {
	if l.pace > 0 {
		return "paced"
	}
	return "saturated"
}

func (l saisLoad) key() string { return fmt.Sprintf("%d %s", l.servers, l.load()) }

func saisCells(_ paper.Machine, loads []saisLoad) []cell {
	arms := group.Each(deliveryArms, func(a deliveryArm) bench.Placement { return bench.Placement(a.name) })
	return group.Each(loads, func(l saisLoad) cell {
		return cell{l.key(), bench.Study{Workload: stripnet.Workload.Name, Placements: arms, Runs: leastDelivered,
			Args: args("--servers", l.servers, "--clients", deliveryClients, "--pace", l.pace)},
			leastDelivered * deliveryTime(trafficPeriods[len(trafficPeriods)-1]).Seconds()}
	})
}

type saisCell struct {
	saisLoad
	results bench.Results
	found   delivered
}

// saisMeasured are the cells that were made, as they are shown.
func saisMeasured(g *cells) (out []saisCell) {
	for _, l := range saisLoads[0] {
		r := g.of("%s", l.key())
		if found, ok := foundIn[delivered](r); ok {
			out = append(out, saisCell{l, r, found})
		}
	}
	return out
}

func (c saisCell) readings(arm string) (out []stripnet.Reading) {
	for _, run := range c.results.Of(bench.Placement(arm)) {
		var r stripnet.Reading
		if run.Valid() && json.Unmarshal(run.Detail, &r) == nil {
			out = append(out, r)
		}
	}
	return out
}

func middle(all []stripnet.Reading, of func(stripnet.Reading) float64) float64 {
	return chart.Middle(group.Each(all, of))
}

func saisSection(_ paper.Machine, g *cells) report.Section {
	measured := saisMeasured(g)
	if len(measured) == 0 {
		return report.Section{}
	}
	arms := report.Table{Title: "Arms", Head: []string{"arm", "packets are processed on"}, Below: true,
		Rows: group.Each(deliveryArms, func(a deliveryArm) []string { return []string{a.name, a.meaning} })}
	ways := group.Each(saisComparisons, func(c saisComparison) string {
		return c.way + " " + words{"more", "less"}.sum([]finding{pooled(saturated(measured), c.aware, c.balanced)})
	})
	return report.Section{Answer: fmt.Sprintf("%s, saturated: %s.", g.today(), strings.Join(ways, ", ")), Figures: saisFigures(measured), Notes: saisNotes(measured),
		Tables: []report.Table{saisPublished(measured), saisToday(measured), saisModelTable(measured), arms}, Lead: []string{
			"Today: each server in a network namespace, joined with the clients by a veth pair set up like a network card (TSO, GSO and checksum offload off at the server, GRO on at the client).",
			fmt.Sprintf("%d client processes, which the scheduler may move, read 16 strips of 64 KiB from all servers by TCP, one of each server at a time, and merge them to 1 MiB. Paced: %d MB/s for both together.", deliveryClients, pacedMBs),
			"All arms are measured in each round, in random order, with new connections and processes. Intervals are of 95 %, of the pairs of one round.",
			saisOrder(measured), saisWords(measured)}}
}

func saisToday(measured []saisCell) report.Table {
	t := report.Table{Title: "Today", Keys: 3, Head: []string{"servers", "load", "arm", "bandwidth", "against default", "CPU per KB", "p50", "p99", "on the consumer's CPU", "migrations", "cache misses"}}
	for _, c := range measured {
		for _, arm := range c.results.Study.Placements {
			t.Rows = append(t.Rows, append([]string{fmt.Sprint(c.servers), c.load(), string(arm)}, c.row(string(arm))...))
		}
	}
	return t
}

// row is an arm in figures: medians of its periods; migrations a second and misses for a KB.
func (c saisCell) row(arm string) []string {
	all := c.readings(arm)
	if len(all) == 0 {
		return slices.Repeat([]string{bench.None}, 8)
	}
	against := "base"
	if base := deliveryArms[0].name; arm != base {
		against = pooled([]saisCell{c}, arm, base).cell()
	}
	in := func(unit string, of func(stripnet.Reading) float64) string {
		return chart.Quantity(middle(all, of), unit)
	}
	moved := in("/s", func(r stripnet.Reading) float64 { return float64(r.Migrations) / r.Seconds })
	return []string{in("MB/s", func(r stripnet.Reading) float64 { return r.MBs }), against, in("ns", cpuPerKB),
		in("s", func(r stripnet.Reading) float64 { return r.P50 / 1e6 }), in("s", func(r stripnet.Reading) float64 { return r.P99 / 1e6 }),
		chart.Percent(middle(all, sameCPU)), orNone(all[0].HaveMigrations, moved), orNone(all[0].Misses != nil, in("/KB", missesPerKB))}
}

func cpuPerKB(r stripnet.Reading) float64 { return r.CPUNsPerKB }
func sameCPU(r stripnet.Reading) float64  { return r.SameCPU }

func missesPerKB(r stripnet.Reading) float64 {
	if r.Misses == nil || r.Transfers == 0 {
		return 0
	}
	return float64(*r.Misses) / (float64(r.Transfers) * stripnet.TransferBytes / 1000)
}

// saisFigures are source-aware delivery beside balanced one, and where packets are processed in the
// last cell that has periods.
func saisFigures(measured []saisCell) []chart.Figure {
	busy, shares := saturated(measured), chart.Bars{Unit: "%"}
	var all []finding
	for _, c := range saisComparisons {
		for _, of := range busy {
			f := pooled([]saisCell{of}, c.aware, c.balanced)
			if f.Label = fmt.Sprintf("%s, %s", c.way, chart.Plural(of.servers, "server")); of.servers == stripnet.MaxServers {
				f.Published = new(0.2357) // with 3 Gb/s
			}
			all = append(all, f)
		}
	}
	var last saisCell
	for _, c := range busy {
		if len(c.readings(deliveryArms[0].name)) > 0 {
			last = c
		}
	}
	for i, a := range deliveryArms {
		if all := last.readings(a.name); len(all) > 0 {
			shares.Bars = append(shares.Bars, chart.Bar{Label: a.name, Colour: i, Value: 100 * middle(all, sameCPU)})
		}
	}
	return []chart.Figure{effects("Bandwidth of source-aware delivery compared with balanced one, saturated", all, "less", "more"),
		{Title: fmt.Sprintf("Bytes processed on the consumer's CPU, %d servers, saturated", last.servers), Plot: shares}}
}

// saisNotes say which arms this machine does not have.
func saisNotes(measured []saisCell) (out []string) {
	for _, a := range deliveryArms {
		if i := slices.IndexFunc(measured, func(c saisCell) bool { return c.found.LeftOut[a.name] != "" }); i >= 0 {
			out = append(out, fmt.Sprintf("%s was left out: %s", a.name, measured[i].found.LeftOut[a.name]))
		}
	}
	for _, c := range measured {
		for _, r := range c.readings(deliveryArms[0].name) {
			if r.MissesWhy != "" {
				return append(out, "cache misses were not counted: "+r.MissesWhy)
			}
		}
	}
	return out
}

// pooled is the ratio of the bandwidths of two arms over the pairs of several cells.
func pooled(measured []saisCell, arm, base string) finding {
	var logs []float64
	for _, c := range measured {
		logs = append(logs, roundRatios(c.results, bench.Placement(arm), bench.Placement(base))...)
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

func saturated(measured []saisCell) []saisCell {
	return only(measured, func(c saisCell) bool { return c.pace == 0 })
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
	var found []finding
	for _, a := range aware {
		for _, o := range others {
			r := pooled(busy, a.arm, o.arm)
			all, found = append(all, fmt.Sprintf("%s against %s %s", a, o, r.cell())), append(found, r)
		}
	}
	verdict := "not reproduced"
	switch {
	case are(found, better) && !has(found, missing):
		verdict = "reproduced"
	case are(found, worse) && !has(found, missing):
		verdict = "reversed"
	case has(found, better) && !has(found, worse):
		verdict = "reproduced in part"
	}
	return fmt.Sprintf("The study's order, request and current core before least-loaded and dedicated, is %s in bandwidth when saturated: %s.", verdict, strings.Join(all, "; "))
}

// saisComparison is source-aware delivery beside balanced one, both made in the same way. The
// study compared with irqbalance: its least-loaded core, and one CPU for each interface today.
type saisComparison struct{ way, aware, balanced string }

var saisComparisons = []saisComparison{{"by XDP", "request", "least-loaded"}, {"by the kernel", "rfs", "fixed"}}

func saisPublished(measured []saisCell) report.Table {
	t := report.Table{Title: "Published and today", Head: []string{"source-aware against irqbalance", "published"}, Rows: [][]string{
		{"bandwidth, 1 Gb/s", "+6.05 %"}, {"bandwidth, 3 Gb/s, most servers (48; 16 today)", "+23.57 %"}, {"bandwidth, 8 clients", "at most +20.46 %"},
		{"bandwidth, all saturated loads", bench.None}, {"misses of the last cache (L2)", "about −40 %"},
		{"CPU time (unhalted cycles), 1 Gb/s and 3 Gb/s", "−27 % and −48.57 %"}}}
	busy := saturated(measured)
	most := only(busy, func(c saisCell) bool { return c.servers == stripnet.MaxServers })
	for _, c := range saisComparisons {
		t.Head = append(t.Head, fmt.Sprintf("today %s, %s against %s", c.way, c.aware, c.balanced))
		now := []string{bench.None, pooled(most, c.aware, c.balanced).cell(), bench.None, pooled(busy, c.aware, c.balanced).cell(), saisLess(busy, c, missesPerKB), saisLess(busy, c, cpuPerKB)}
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
	return orNone(len(shares) > 0, signed(chart.Middle(shares)))
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
		t.Rows = append(t.Rows, append(row, group.Each(saisComparisons, func(b saisComparison) string {
			return savedPerSecond(pooled([]saisCell{c}, b.aware, b.balanced))
		})...))
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
	return strings.Replace(chart.Quantity(v, "s"), "-", "−", 1)
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
