package irqcmd

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"time"

	"piton/internal/chart"
	"piton/internal/cli/output"
	"piton/internal/field"
	"piton/internal/irq"
	"piton/internal/model"
	"piton/internal/watch"
)

// take adds the flows of an interval to the sums.
func (l *flowLog) take(now watch.Flows) (rows []field.Flow, all model.Locality, err error) {
	table, err := l.a.Interrupts()
	if err != nil {
		return nil, all, err
	}
	ways, at := irq.NewWays(l.fs, &table), time.Now()
	flows := model.Flows(now.List, l.topo)
	rows = make([]field.Flow, len(flows))
	for i, f := range flows {
		rows[i] = field.Flow{Flow: f, Way: ways.Of(f.NetNS, f.Interface, f.Queue), At: at, Over: now.Over}
		all.Join(f.Locality)
		l.sockets[f.Cookie] = true
		l.byVia[rows[i].Way.Via] += f.Bytes
	}
	l.intervals++
	l.took += now.Over
	l.lost += now.Lost
	l.all.Join(all)
	return rows, all, nil
}

// interval prints the flows of an interval, the one with most bytes first.
func (l *flowLog) interval(now watch.Flows) error {
	rows, all, err := l.take(now)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if l.json {
		flowList.JSON(&out, rows...)
	} else {
		if l.intervals > 1 {
			out.WriteByte('\n')
		}
		fmt.Fprintf(&out, "%s  %s, %s, %s packets/s, over %s\n", time.Now().Format(time.TimeOnly), chart.Plural(len(rows), "flow"),
			chart.Quantity(float64(all.Bytes)/now.Over.Seconds(), "B/s"), chart.Digits(float64(all.Packets)/now.Over.Seconds()),
			chart.Quantity(now.Over.Seconds(), "s"))
		if now.Lost > 0 {
			fmt.Fprintf(&out, "%s not counted: there were too many flows\n", chart.Plural(int(now.Lost), "read"))
		}
		flowList.First(&out, rows, "flow")
	}
	_, err = l.a.Write(out.Bytes())
	return err
}

// end prints the sums.
func (l *flowLog) end() {
	if l.json {
		followList.JSON(l.a, l)
		return
	}
	fmt.Fprintf(l.a, "\n%s of %s in %s%s\n", field.Bytes(l.all.Bytes), chart.Plural(len(l.sockets), "flow"),
		chart.Quantity(l.took.Seconds(), "s"), near(&l.all))
}

// via is what decided for most bytes.
func (l *flowLog) via() (via irq.Via) {
	for _, one := range []irq.Via{irq.ViaRFS, irq.ViaRPS, irq.ViaIRQ, irq.ViaSender} {
		if l.byVia[one] > l.byVia[via] {
			via = one
		}
	}
	return via
}

// near are the shares of bytes that were read near the CPU that handled their packets, in words;
// "" where they are not known.
func near(l *model.Locality) string {
	if l.Placed == 0 {
		return ""
	}
	share := func(part uint64) string {
		of, _ := l.Share(part)
		return chart.Percent(of)
	}
	return fmt.Sprintf(": %s on the CPU that handled the packets, %s in its last-level cache, %s on its node",
		share(l.SameCPU), share(l.SameLLC), share(l.SameNode))
}

// before is what was read near before packets were steered, nil: they were not.
func (l *flowLog) before() *model.Locality {
	if !l.steered.did() {
		return nil
	}
	return &l.steered.steering.Before.Locality
}

var (
	flowList   = output.NewList("follow", "flow", "what a process read of a socket in an interval", field.FlowColumns...)
	followList = output.NewList("follow", "follow", "the end of a look at flows", slices.Concat([]field.Column[*flowLog]{
		output.Col("pid", "", output.Int, "process, the first of several", func(l *flowLog) any { return int(l.pids[0]) }),
		output.Col("pids", "", output.Ints, "processes when it began", func(l *flowLog) any { return field.Ints(l.pids) }),
		output.Col("via", "", output.MaybeText, "the way by which packets were steered, else what decided on which CPU they were handled, for most bytes",
			func(l *flowLog) any { return field.NonEmpty(cmp.Or(string(l.steered.steering.Way), string(l.via()))) }),
		output.Col("policy", "", output.Text, "kernel: nothing was steered, or was to be; else current, request, least-loaded, dedicated or apart",
			func(l *flowLog) any { return string(l.steered.steering.Policy) }),
		output.Col("duration_s", "", output.Number, "time counted", func(l *flowLog) any { return l.took.Seconds() }),
		output.Col("intervals", "", output.Int, "intervals that were printed", func(l *flowLog) any { return l.intervals }),
		output.Col("flows", "", output.Int, "flows that were read from", func(l *flowLog) any { return len(l.sockets) }),
		output.Col("bytes", "", output.Int, "bytes read", func(l *flowLog) any { return l.all.Bytes }),
		output.Col("packets", "", output.Int, "packets that came", func(l *flowLog) any { return l.all.Packets }),
		output.Col("reads", "", output.Int, "reads", func(l *flowLog) any { return l.all.Reads }),
		output.Col("lost", "", output.Int, "reads that were not counted: there were too many flows", func(l *flowLog) any { return l.lost }),
	}, field.Shares("", "", func(l *flowLog) *model.Locality { return &l.all }), []field.Column[*flowLog]{
		output.Col("steered", "", output.Bool, "packets were steered, and the shares are those then", func(l *flowLog) any { return l.steered.did() }),
	}, field.Shares("_before", "before packets were steered; null: they were not", (*flowLog).before), []field.Column[*flowLog]{
		output.Col("why", "", output.Texts, "why better ways are not to be had, or why nothing was set", func(l *flowLog) any { return field.Values(l.steered.steering.Reasons()) }),
		output.Col("cost", "", output.MaybeText, "of the way, in words", func(l *flowLog) any { return field.NonEmpty(l.steered.steering.Cost) }),
		output.Col("verdict", "", output.MaybeText, "of --try, in words", func(l *flowLog) any { return field.NonEmpty(l.steered.text()) }),
		output.Col("rate_off", "", output.MaybeNumber, "bytes a second without steering, a median of --try", func(l *flowLog) any { return l.steered.rate(0) }),
		output.Col("rate_on", "", output.MaybeNumber, "bytes a second with it", func(l *flowLog) any { return l.steered.rate(1) }),
		output.Col("error", "", output.MaybeText, "why steering ended early", func(l *flowLog) any { return field.NonEmpty(l.steered.failure()) }),
		output.Col("exit_code", "", output.Int, "of the run", func(l *flowLog) any { return l.code }),
	})...)
)
