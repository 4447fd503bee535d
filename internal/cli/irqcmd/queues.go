package irqcmd

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"piton/internal/cli/app"
	"piton/internal/cli/output"
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

With -o json, one object a line; what is not known is null:
  {"type":"queue"}  v, interface, driver, node, flow (rx, tx), index, irq, affinity, effective, rps_cpus,
                    rps_flow_cnt, xps_cpus
  {"type":"end"}    queues, rps_sock_flow_entries (0: RFS is off whatever the queues say)`,
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
			if o.apply.Output.JSON() {
				found.json(a)
			} else {
				found.table(a, o.apply.Output)
			}
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

func (q queues) table(a *app.App, o output.Format) {
	out := output.NewTable("INTERFACE", "DRIVER", ">NODE", "QUEUE", ">IRQ", "AFFINITY", "EFFECTIVE", "RPS", ">FLOWS", "XPS")
	for _, one := range q.list {
		number, affinity, effective := "-", "-", "-"
		if one.line != nil {
			number, affinity, effective = strconv.Itoa(one.line.Number), maskText(one.line.Requested), maskText(one.line.Effective)
		}
		rps := maskText(one.rps)
		if one.rps.OK && one.rps.Empty() {
			rps = "off"
		}
		out.Add(one.nic.Name, output.Dash(one.nic.Driver), output.NumberOrDash(one.nic.Node), fmt.Sprintf("%s %d", one.flow, one.index),
			number, affinity, effective, rps, output.NumberOrDash(one.flows), maskText(one.xps))
	}
	out.WriteAs(a, o)
	if o.Value == output.AsCSV || q.entries < 0 {
		return
	}
	state := "RFS is off"
	if q.entries > 0 {
		state = "RFS steers flows of queues with FLOWS above 0"
	}
	fmt.Fprintf(a, "\nrps_sock_flow_entries %d: %s\n", q.entries, state)
}

func (q queues) json(a *app.App) {
	var l output.Line
	for _, one := range q.list {
		l.Start("queue").Add("interface", one.nic.Name).Text("driver", one.nic.Driver).
			Number("node", one.nic.Node).Add("flow", one.flow.String()).Add("index", one.index)
		if one.line == nil {
			l.Add("irq", nil).Add("affinity", nil).Add("effective", nil)
		} else {
			l.Add("irq", one.line.Number).Add("affinity", maskOrNull(one.line.Requested)).Add("effective", maskOrNull(one.line.Effective))
		}
		l.Add("rps_cpus", maskOrNull(one.rps)).Number("rps_flow_cnt", one.flows).Add("xps_cpus", maskOrNull(one.xps))
		l.Write(a)
	}
	l.Start("end").Add("queues", len(q.list)).Number("rps_sock_flow_entries", q.entries).Write(a)
}
