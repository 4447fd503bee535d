package field

import (
	"slices"
	"time"

	"piton/internal/chart"
	"piton/internal/irq"
	"piton/internal/model"
)

// Flow is a flow in an interval.
type Flow struct {
	model.Flow
	Way  irq.Way
	At   time.Time // the end of the interval
	Over time.Duration
}

func (f Flow) perS(n uint64) float64 { return float64(n) / max(f.Over.Seconds(), 1e-3) }

func (f Flow) ofLine(value func(*irq.Row) any) any {
	if f.Way.Line == nil {
		return nil
	}
	return value(f.Way.Line)
}

func cpuMembers(cpus []model.CPUShare) any {
	out := []Member{}
	EachCPU(cpus, func(cpu int, of float64) { out = append(out, Member{Plain(cpu), of}) })
	return out
}

// Shares are columns of the shares of bytes that were read near the CPU that handled their packets;
// suffix ends their names, and help replaces that of the columns if given. of is nil where they
// are not known.
func Shares[R any](suffix, help string, of func(R) *model.Locality) []Column[R] {
	share := func(c Column[R], part func(*model.Locality) uint64) Column[R] {
		known := func(r R) (share float64, known bool) {
			if l := of(r); l != nil {
				return l.Share(part(l))
			}
			return 0, false
		}
		c.ID += suffix
		if help != "" {
			c.Help = help
		}
		c.Type, c.Width, c.Right = TypeNumber|TypeNull, 5, true
		c.Value = func(r R) any { return Known(known(r)) }
		c.Text = func(r R) string {
			if share, is := known(r); is {
				return chart.Percent(share)
			}
			return ""
		}
		return c
	}
	return []Column[R]{
		share(Column[R]{ID: "share_same_cpu", Title: "SAME CPU", Short: "SAME", Rank: 1,
			Help: "share of bytes, 0 to 1, that was read on the CPU that handled the flow's last packet; null: that CPU is not known"},
			func(l *model.Locality) uint64 { return l.SameCPU }),
		share(Column[R]{ID: "share_same_llc", Title: "LLC", Rank: 5, Help: "share that was read in that CPU's last-level cache"},
			func(l *model.Locality) uint64 { return l.SameLLC }),
		share(Column[R]{ID: "share_same_node", Title: "NODE", Rank: 6, Help: "share that was read on that CPU's node"},
			func(l *model.Locality) uint64 { return l.SameNode }),
	}
}

// FlowColumns are those of flows, in the order of JSON.
var FlowColumns = slices.Concat([]Column[Flow]{
	{ID: "time", Help: "when the interval ended", Type: TypeText, Value: func(f Flow) any { return Stamp(f.At) }},
	{ID: "interval_s", Help: "its length", Type: TypeNumber, Value: func(f Flow) any { return f.Over.Seconds() }},
	{ID: "pid", Title: "PID", Help: "process", Type: TypeInt, Right: true, Value: func(f Flow) any { return int(f.PID) }},
	{ID: "protocol", Title: "PROTO", Help: "tcp or udp", Type: TypeText, Width: 5, Rank: 9,
		Value: func(f Flow) any { return f.Protocol.String() }, Tone: func(Flow) Tone { return Dim }},
	{ID: "local", Title: "LOCAL", Help: "its own address", Type: TypeText, Width: 21, Tight: 17, Rank: 8, Value: func(f Flow) any { return f.Local.String() }},
	Words(Column[Flow]{ID: "remote", Title: "REMOTE", Help: "the other address; null: it is not connected", Width: 21},
		func(f Flow) string { return Address(f.Remote) }),
	Words(Column[Flow]{ID: "interface", Title: "INTERFACE", Help: "that packets come in through; null: not known, or in another network namespace",
		Width: 12, Tight: 10, Rank: 4}, func(f Flow) string { return f.Way.Interface }).As(func(f Flow) string { return f.Way.Entrance() }),
	{ID: "queue", Help: "its receive queue", Type: TypeInt | TypeNull, Value: func(f Flow) any { return NonNegative(f.Way.Queue) }},
	{ID: "other_netns", Help: "the socket is in another network namespace than piton", Type: TypeBool, Value: func(f Flow) any { return f.Way.NetNS }},
	Words(Column[Flow]{ID: "via", Title: "WAY", Help: "what decides on which CPU packets are handled: rfs, rps, irq or sender", Tight: 8, Rank: 3},
		func(f Flow) string { return string(f.Way.Via) }).As(func(f Flow) string { return f.Way.String() }).Toned(func(Flow) Tone { return Accent }),
	{ID: "irq", Help: "the queue's interrupt line", Type: TypeInt | TypeNull,
		Value: func(f Flow) any { return f.ofLine(func(r *irq.Row) any { return r.Number }) }},
	{ID: "irq_cpus", Help: "CPUs in use for that, a cpulist", Type: TypeText | TypeNull,
		Value: func(f Flow) any { return f.ofLine(func(r *irq.Row) any { return Mask(r.Effective) }) }},
	{ID: "rps_cpus", Help: "the queue's RPS CPUs, empty for none", Type: TypeText | TypeNull, Value: func(f Flow) any { return Mask(f.Way.RPS) }},
	{ID: "handled", Title: "HANDLED ON", Help: "share of bytes by the CPU that handled the flow's last packet before the read", Type: TypeNumbers,
		Width: 18, Tight: 11, Rank: 1, Value: func(f Flow) any { return cpuMembers(f.Handled) }, Text: func(f Flow) string { return FlowCPUs(f.Handled) }},
	{ID: "consumed", Title: "READ ON", Help: "share of bytes by the CPU that read", Type: TypeNumbers,
		Width: 18, Tight: 11, Rank: 1, Value: func(f Flow) any { return cpuMembers(f.Consumed) }, Text: func(f Flow) string { return FlowCPUs(f.Consumed) }},
}, Shares("", "", func(f Flow) *model.Locality { return &f.Locality }), []Column[Flow]{
	{ID: "bytes", Help: "bytes read", Type: TypeInt, Value: func(f Flow) any { return f.Bytes }},
	{ID: "bytes_per_s", Title: "RATE", Help: "bytes read a second", Type: TypeNumber, Width: 9, Rank: 2, Right: true,
		Value: func(f Flow) any { return f.perS(f.Bytes) }, Text: func(f Flow) string { return chart.Quantity(f.perS(f.Bytes), "B/s") }},
	{ID: "packets", Help: "packets that came", Type: TypeInt, Value: func(f Flow) any { return f.Packets }},
	{ID: "packets_per_s", Title: "PACKETS/s", Help: "packets that came a second", Type: TypeNumber, Width: 9, Rank: 7, Right: true,
		Value: func(f Flow) any { return f.perS(f.Packets) }, Text: func(f Flow) string { return chart.Digits(f.perS(f.Packets)) }},
	{ID: "reads", Help: "reads of the process; before Linux 6.3 packets that they copied", Type: TypeInt, Value: func(f Flow) any { return f.Reads }},
})
