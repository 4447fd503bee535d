package irqcmd

import (
	"bytes"
	"cmp"
	"fmt"
	"time"

	"piton/internal/chart"
	"piton/internal/cli/output"
	"piton/internal/field"
	"piton/internal/irq"
	"piton/internal/model"
	"piton/internal/watch"
)

// mostFlows is how many flows a table has; JSON has all.
const mostFlows = 20

// take adds the flows of an interval to the sums.
func (l *flowLog) take(now watch.Flows) (rows []flowRow, all model.Locality, err error) {
	table, err := l.a.Interrupts()
	if err != nil {
		return nil, all, err
	}
	ways, at := irq.NewWays(l.fs, &table), time.Now()
	flows := model.Flows(now.List, l.topo)
	rows = make([]flowRow, len(flows))
	for i, f := range flows {
		rows[i] = flowRow{f, ways.Of(f.NetNS, f.Interface, f.Queue), at, now.Over}
		all.Join(f.Locality)
		l.sockets[f.Cookie] = true
		l.byVia[rows[i].way.Via] += f.Bytes
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
		for _, r := range rows {
			flowList.JSON(&out, r)
		}
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
		if len(rows) > 0 {
			flowList.Table(rows[:min(mostFlows, len(rows))]).Write(&out)
		}
		if more := len(rows) - mostFlows; more > 0 {
			fmt.Fprintf(&out, "and %s more\n", chart.Plural(more, "flow"))
		}
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
	fmt.Fprintf(l.a, "\n%s of %s in %s", field.Bytes(l.all.Bytes), chart.Plural(len(l.sockets), "flow"), chart.Quantity(l.took.Seconds(), "s"))
	if l.all.Placed > 0 {
		fmt.Fprintf(l.a, ": %s read on the CPU that handled the packets, %s in its last-level cache, %s on its node",
			shareText(&l.all, l.all.SameCPU), shareText(&l.all, l.all.SameLLC), shareText(&l.all, l.all.SameNode))
	}
	fmt.Fprintln(l.a)
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

func (l *flowLog) listPIDs() []any {
	out := make([]any, len(l.pids))
	for i, pid := range l.pids {
		out[i] = int(pid)
	}
	return out
}

// flowRow is a flow in an interval.
type flowRow struct {
	model.Flow
	way  irq.Way
	at   time.Time
	over time.Duration
}

func (r flowRow) perS(n uint64) float64 { return float64(n) / r.over.Seconds() }

func (r flowRow) remote() any { return output.Known(r.Remote.String(), r.Remote.IsValid()) }

func cpuMembers(cpus []model.CPUShare) any {
	out := []field.Member{}
	field.EachCPU(cpus, func(cpu int, of float64) { out = append(out, field.Member{Name: fmt.Sprint(cpu), Value: of}) })
	return out
}

func shareOrNull(l *model.Locality, part uint64) any {
	share, ok := l.Share(part)
	return output.Known(share, ok)
}

func shareText(l *model.Locality, part uint64) string {
	share, ok := l.Share(part)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%s %%", chart.Digits(100*share))
}

// flowShare is a column of flow lines.
func flowShare(name, title, help string, part func(*model.Locality) uint64) output.Column[flowRow] {
	return output.Col(name, title, output.MaybeNumber, help, func(r flowRow) any { return shareOrNull(&r.Locality, part(&r.Locality)) }).
		As(func(r flowRow) string { return shareText(&r.Locality, part(&r.Locality)) })
}

func followShare(name, help string, part func(*model.Locality) uint64) output.Column[*flowLog] {
	return output.Col(name, "", output.MaybeNumber, help, func(l *flowLog) any { return shareOrNull(&l.all, part(&l.all)) })
}

func beforeShare(name string, part func(*model.Locality) uint64) output.Column[*flowLog] {
	return output.Col(name, "", output.MaybeNumber, "before packets were steered; null: they were not", func(l *flowLog) any {
		if !l.steered.did() {
			return nil
		}
		before := &l.steered.steering.Before.Locality
		return shareOrNull(before, part(before))
	})
}

func sameCPU(l *model.Locality) uint64  { return l.SameCPU }
func sameLLC(l *model.Locality) uint64  { return l.SameLLC }
func sameNode(l *model.Locality) uint64 { return l.SameNode }

const (
	sameCPUHelp  = "share of bytes, 0 to 1, that was read on the CPU that handled the flow's last packet; null: that CPU is not known"
	sameLLCHelp  = "share that was read in that CPU's last-level cache"
	sameNodeHelp = "share that was read on that CPU's node"
)

var (
	flowList = output.NewList("follow", "flow", "what a process read of a socket in an interval",
		output.Col("time", "", output.Text, "when the interval ended", func(r flowRow) any { return output.Stamp(r.at) }),
		output.Col("interval_s", "", output.Number, "its length", func(r flowRow) any { return r.over.Seconds() }),
		output.Col("pid", ">PID", output.Int, "process", func(r flowRow) any { return int(r.PID) }),
		output.Col("protocol", "PROTO", output.Text, "tcp or udp", func(r flowRow) any { return r.Protocol.String() }),
		output.Col("local", "LOCAL", output.Text, "its own address", func(r flowRow) any { return r.Local.String() }),
		output.Col("remote", "REMOTE", output.MaybeText, "the other address; null: it is not connected", flowRow.remote).
			As(func(r flowRow) string { return field.Address(r.Remote) }),
		output.Col("interface", "INTERFACE", output.MaybeText, "that packets come in through; null: not known, or in another network namespace",
			func(r flowRow) any { return output.NonEmpty(r.way.Interface) }).As(func(r flowRow) string { return r.way.Entrance() }),
		output.Col("queue", "", output.MaybeInt, "its receive queue", func(r flowRow) any { return output.NonNegative(r.way.Queue) }),
		output.Col("other_netns", "", output.Bool, "the socket is in another network namespace than piton",
			func(r flowRow) any { return r.way.NetNS }),
		output.Col("via", "WAY", output.MaybeText, "what decides on which CPU packets are handled: rfs, rps, irq or sender",
			func(r flowRow) any { return output.NonEmpty(string(r.way.Via)) }).As(func(r flowRow) string { return r.way.String() }),
		output.Col("irq", "", output.MaybeInt, "the queue's interrupt line", func(r flowRow) any {
			if r.way.Line == nil {
				return nil
			}
			return r.way.Line.Number
		}),
		output.Col("irq_cpus", "", output.MaybeText, "CPUs in use for that, a cpulist", func(r flowRow) any {
			if r.way.Line == nil {
				return nil
			}
			return maskOrNull(r.way.Line.Effective)
		}),
		output.Col("rps_cpus", "", output.MaybeText, "the queue's RPS CPUs, empty for none", func(r flowRow) any { return maskOrNull(r.way.RPS) }),
		output.Col("handled", "HANDLED ON", output.Numbers, "share of bytes by the CPU that handled the flow's last packet before the read",
			func(r flowRow) any { return cpuMembers(r.Handled) }).As(func(r flowRow) string { return field.FlowCPUs(r.Handled) }),
		output.Col("consumed", "READ ON", output.Numbers, "share of bytes by the CPU that read",
			func(r flowRow) any { return cpuMembers(r.Consumed) }).As(func(r flowRow) string { return field.FlowCPUs(r.Consumed) }),
		flowShare("share_same_cpu", ">SAME CPU", sameCPUHelp, sameCPU),
		flowShare("share_same_llc", ">LLC", sameLLCHelp, sameLLC),
		flowShare("share_same_node", ">NODE", sameNodeHelp, sameNode),
		output.Col("bytes", "", output.Int, "bytes read", func(r flowRow) any { return r.Bytes }),
		output.Col("bytes_per_s", ">RATE", output.Number, "bytes read a second", func(r flowRow) any { return r.perS(r.Bytes) }).
			As(func(r flowRow) string { return chart.Quantity(r.perS(r.Bytes), "B/s") }),
		output.Col("packets", "", output.Int, "packets that came", func(r flowRow) any { return r.Packets }),
		output.Col("packets_per_s", ">PACKETS/s", output.Number, "packets that came a second", func(r flowRow) any { return r.perS(r.Packets) }).
			As(func(r flowRow) string { return chart.Digits(r.perS(r.Packets)) }),
		output.Col("reads", "", output.Int, "reads of the process; before Linux 6.3 packets that they copied", func(r flowRow) any { return r.Reads }))
	followList = output.NewList("follow", "follow", "the end of a look at flows",
		output.Col("pid", "", output.Int, "process, the first of several", func(l *flowLog) any { return int(l.pids[0]) }),
		output.Col("pids", "", output.Ints, "processes when it began", func(l *flowLog) any { return l.listPIDs() }),
		output.Col("via", "", output.MaybeText, "the way by which packets were steered, else what decided on which CPU they were handled, for most bytes",
			func(l *flowLog) any { return output.NonEmpty(cmp.Or(string(l.steered.way()), string(l.via()))) }),
		output.Col("policy", "", output.Text, "kernel: nothing was steered, or was to be; else current, request, least-loaded, dedicated or apart",
			func(l *flowLog) any { return l.steered.policy() }),
		output.Col("duration_s", "", output.Number, "time counted", func(l *flowLog) any { return l.took.Seconds() }),
		output.Col("intervals", "", output.Int, "intervals that were printed", func(l *flowLog) any { return l.intervals }),
		output.Col("flows", "", output.Int, "flows that were read from", func(l *flowLog) any { return len(l.sockets) }),
		output.Col("bytes", "", output.Int, "bytes read", func(l *flowLog) any { return l.all.Bytes }),
		output.Col("packets", "", output.Int, "packets that came", func(l *flowLog) any { return l.all.Packets }),
		output.Col("reads", "", output.Int, "reads", func(l *flowLog) any { return l.all.Reads }),
		output.Col("lost", "", output.Int, "reads that were not counted: there were too many flows", func(l *flowLog) any { return l.lost }),
		followShare("share_same_cpu", sameCPUHelp, sameCPU),
		followShare("share_same_llc", sameLLCHelp, sameLLC),
		followShare("share_same_node", sameNodeHelp, sameNode),
		output.Col("steered", "", output.Bool, "packets were steered, and the shares are those then", func(l *flowLog) any { return l.steered.did() }),
		beforeShare("share_same_cpu_before", sameCPU), beforeShare("share_same_llc_before", sameLLC), beforeShare("share_same_node_before", sameNode),
		output.Col("why", "", output.Texts, "why better ways are not to be had, or why nothing was set", func(l *flowLog) any { return output.Values(l.steered.why()) }),
		output.Col("cost", "", output.MaybeText, "of the way, in words", func(l *flowLog) any { return output.NonEmpty(l.steered.cost()) }),
		output.Col("verdict", "", output.MaybeText, "of --try, in words", func(l *flowLog) any { return output.NonEmpty(l.steered.text()) }),
		output.Col("rate_off", "", output.MaybeNumber, "bytes a second without steering, a median of --try", func(l *flowLog) any { return l.steered.rate(0) }),
		output.Col("rate_on", "", output.MaybeNumber, "bytes a second with it", func(l *flowLog) any { return l.steered.rate(1) }),
		output.Col("error", "", output.MaybeText, "why steering ended early", func(l *flowLog) any { return output.NonEmpty(l.steered.failure()) }),
		output.Col("exit_code", "", output.Int, "of the run", func(l *flowLog) any { return l.code }))
)
