package irqcmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"piton/internal/cli/app"
	"piton/internal/cli/output"
	"piton/internal/field"
	"piton/internal/irq"
)

func newIRQQueues(a *app.App) *cobra.Command {
	var o queueOptions
	cmd := &cobra.Command{
		Use:   "queues [INTERFACE…]",
		Short: "list or set the RPS, RFS and XPS settings of network interfaces' queues",
		Long: `Show the queues of network interfaces: the interrupt of each with its CPUs, the CPUs over which received packets are
spread (RPS; none: packets are processed on the CPU of the interrupt), the flows that are steered to their readers (RFS),
and the CPUs that send through a queue (XPS).

With --rps, --xps or --rps-flows, set these for the queues of the interfaces, or for those of --queue alone.
"off" is no CPU. RFS also needs a table that all interfaces share: --rfs-entries.

With -o json: queue lines, then an end line (see piton schema). In CSV, "off" is no CPU, and an empty cell is not known.`,
		Example: "  piton irq queues\n  piton irq queues eth0 -o json\n  piton irq queues eth0 --rps 0-3,^isolated\n" +
			"  piton irq queues eth0 --rps-flows 4096 --rfs-entries 32768\n  piton irq queues eth0 --queue 0,2 --xps 1",
		RunE: func(cmd *cobra.Command, names []string) error {
			if o.sets() {
				return setQueues(a, cmd, names, o)
			}
			found, err := readQueues(a, names)
			if err != nil {
				return err
			}
			found.print(a, o.apply.Output)
			return nil
		},
	}
	o.addFlags(cmd)
	return cmd
}

// queue is one queue with its interrupt, nil if that is not known.
type queue struct {
	nic   *irq.NIC
	flow  irq.Flow
	index int
	line  *irq.Row
	rps   irq.Mask
	flows int
	xps   irq.Mask
}

// queues are all that there are.
type queues struct {
	list    []queue
	entries int // of RFS's table, -1 unknown
}

// readQueues reads the queues of the interfaces, or of all.
func readQueues(a *app.App, names []string) (queues, error) {
	t, err := a.Interrupts()
	if err != nil {
		return queues{}, err
	}
	fs := irq.New(a.HostRoot)
	found := queues{entries: fs.FlowEntries()}
	nics, err := nicsNamed(fs.NICs(), names)
	if err != nil {
		return queues{}, err
	}
	for _, n := range nics {
		for _, rx := range n.Rx {
			found.list = append(found.list, queue{nic: &n, flow: irq.QueueRx, index: rx.Index,
				line: t.QueueIRQ(n.Name, true, rx.Index), rps: rx.RPS, flows: rx.Flows})
		}
		for _, tx := range n.Tx {
			found.list = append(found.list, queue{nic: &n, flow: irq.QueueTx, index: tx.Index,
				line: t.QueueIRQ(n.Name, false, tx.Index), flows: -1, xps: tx.XPS})
		}
	}
	return found, nil
}

func (q queues) print(a *app.App, o output.Format) {
	queueList.Write(a, q.list, o)
	switch {
	case o.JSON():
		queueEndList.JSON(a, q)
	case o.Value == output.AsTable && q.entries >= 0:
		state := "RFS is off"
		if q.entries > 0 {
			state = "RFS steers flows of queues with FLOWS above 0"
		}
		fmt.Fprintf(a, "\nrps_sock_flow_entries %d: %s\n", q.entries, state)
	}
}

// ofLine is a value of the queue's interrupt line, nil where that is not known.
func ofLine(value func(r *irq.Row) any) func(queue) any {
	return func(q queue) any {
		if q.line == nil {
			return nil
		}
		return value(q.line)
	}
}

// maskOrOff is a queue's mask in tables and CSV, where one without CPUs must differ from one that is not known.
func maskOrOff(m irq.Mask) string {
	if m.OK && m.Empty() {
		return "off"
	}
	return m.String()
}

var (
	queueList = output.NewList("queues", "queue", "a queue of a network interface",
		output.Col("interface", "INTERFACE", output.Text, "its interface", func(q queue) any { return q.nic.Name }),
		output.Col("driver", "DRIVER", output.MaybeText, "the interface's driver", func(q queue) any { return field.NonEmpty(q.nic.Driver) }),
		output.Col("node", ">NODE", output.MaybeInt, "NUMA node of the device", func(q queue) any { return field.NonNegative(q.nic.Node) }),
		output.Col("flow", "QUEUE", output.Text, "rx or tx", func(q queue) any { return q.flow.String() }).
			As(func(q queue) string { return fmt.Sprintf("%s %d", q.flow, q.index) }),
		output.Col("index", "", output.Int, "its number", func(q queue) any { return q.index }),
		output.Col("irq", ">IRQ", output.MaybeInt, "its interrupt line", ofLine(func(r *irq.Row) any { return r.Number })),
		output.Col("affinity", "AFFINITY", output.MaybeText, "CPUs requested for that",
			ofLine(func(r *irq.Row) any { return field.Mask(r.Requested) })),
		output.Col("effective", "EFFECTIVE", output.MaybeText, "CPUs in use for that",
			ofLine(func(r *irq.Row) any { return field.Mask(r.Effective) })),
		output.Col("rps_cpus", "RPS", output.MaybeText, "CPUs that process what comes in, empty for none", func(q queue) any { return field.Mask(q.rps) }).
			As(func(q queue) string { return maskOrOff(q.rps) }).InCSV(func(q queue) string { return maskOrOff(q.rps) }),
		output.Col("rps_flow_cnt", ">FLOWS", output.MaybeInt, "flows that RFS steers", func(q queue) any { return field.NonNegative(q.flows) }),
		output.Col("xps_cpus", "XPS", output.MaybeText, "CPUs that send through it, empty for none", func(q queue) any { return field.Mask(q.xps) }).
			As(func(q queue) string { return maskOrOff(q.xps) }).InCSV(func(q queue) string { return maskOrOff(q.xps) }))
	queueEndList = output.NewList("queues", "end", "the end of the list",
		output.Col("queues", "", output.Int, "queues in it", func(q queues) any { return len(q.list) }),
		output.Col("rps_sock_flow_entries", "", output.MaybeInt, "entries of RFS's table; 0: RFS is off whatever the queues say",
			func(q queues) any { return field.NonNegative(q.entries) }))
)
