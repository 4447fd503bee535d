package tui

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	tea "charm.land/bubbletea/v2"

	"piton/internal/action"
	"piton/internal/change"
	"piton/internal/cpuset"
	"piton/internal/irq"
	"piton/internal/topology"
	"piton/internal/tui/dialog"
	"piton/internal/tui/irqview"
)

// interrupts is the view of the interrupts, with what sends them elsewhere.
type interrupts struct {
	*shared
	*irqview.View
	chooser *chooser
}

// linesName is some interrupts as messages name them: "irq 24 (virtio1-input.0)".
func linesName(lines []*irq.Row) string {
	if len(lines) == 1 {
		return lines[0].Title()
	}
	return fmt.Sprintf("%d IRQs", len(lines))
}

// requested is a request for settings, with the reason for the journal.
func requested(what, subject, reason string, requests []change.Request) request {
	for i := range requests {
		requests[i].Reason = reason
	}
	return ordered(what, subject, change.Order{Requests: requests})
}

// sendLines asks for lines to go to the CPUs, and the threads of their handlers
// with them.
func (v *interrupts) sendLines(lines []*irq.Row, cpus cpuset.Set, reason string) tea.Cmd {
	return v.chooser.changes.begin(requested("move", linesName(lines), reason, action.MoveIRQs(lines, cpus)))
}

func (v *interrupts) spread(lines []*irq.Row, cpus cpuset.Set) tea.Cmd {
	w := requested("spread", linesName(lines), "spread", action.SpreadIRQs(lines, v.deps.Topology, cpus))
	w.whole = len(lines) > v.Count() // none is tagged: all that are shown
	return v.chooser.changes.begin(w)
}

func (v *interrupts) grabLines(lines []*irq.Row) *grabbed {
	if len(lines) == 0 {
		return nil
	}
	return &grabbed{subject: linesName(lines), send: func(cpus cpuset.Set, reason string) tea.Cmd { return v.sendLines(lines, cpus, reason) },
		spread: func(cpus cpuset.Set) tea.Cmd { return v.spread(lines, cpus) }}
}

// pressed is what the mouse would grab: the line under it, or all tagged
// ones when it is one of them.
func (v *interrupts) pressed() *grabbed {
	if v.Tagged() {
		return v.grabLines(v.Targets())
	}
	if row := v.Selected(); row != nil {
		return v.grabLines([]*irq.Row{row})
	}
	return nil
}

func (v *interrupts) askAffinity() tea.Cmd {
	lines := v.Targets()
	o := dialog.AffinityOptions{Subject: linesName(lines), Topology: v.deps.Topology, Load: v.load(), LeastLoaded: v.newest.LeastLoaded}
	for i, l := range lines {
		if l.Requested.OK {
			o.Mixed = o.Mixed || i > 0 && !o.Current.Equal(l.Requested.Set)
			o.Current = o.Current.Or(l.Requested.Set)
		}
	}
	return v.dialogs.Push(dialog.NewAffinity(o), dialog.Answered(func(cpus cpuset.Set) tea.Cmd { return v.sendLines(lines, cpus, "") }))
}

// spreadShown spreads the tagged lines over the CPUs, or all that are shown.
func (v *interrupts) spreadShown() tea.Cmd {
	lines := v.TagsShown()
	if len(lines) == 0 {
		lines = v.Shown()
	}
	if len(lines) == 0 {
		return v.say(bad, "spread: no interrupt with a number is shown")
	}
	return v.spread(lines, v.deps.Topology.Ordinary())
}

func (v *interrupts) reset() tea.Cmd {
	return v.sendLines(v.Targets(), v.newCPUs(), "to where new interrupts go")
}

func (v *interrupts) newCPUs() cpuset.Set { return v.deps.Topology.OnlineAmong(v.Default().Set) }

// askPlace offers where the lines could go, each with why.
func (v *interrupts) askPlace() tea.Cmd {
	lines, ordinary := v.Targets(), v.deps.Topology.Ordinary()
	g := v.grabLines(lines)
	items := []dialog.Item{{Label: "spread", Detail: "one CPU each, over " + ordinary.String(), Value: func() tea.Cmd { return g.spread(ordinary) },
		More: "The queues of a device go to different cores as long as there are, on its own node first; both ways of a queue share a CPU."}}
	if best := v.newest.LeastLoaded; best >= 0 {
		items = append(items, g.item("least-loaded", cpuset.Of(best),
			fmt.Sprintf("All of them to the CPU that is least loaded: %s.", busyWords(v.newest, cpuset.Of(best)))))
	}
	items = append(items, v.deviceItems(g, lines)...)
	return v.chooser.openPlaces(g, append(items, g.item("reset", v.newCPUs(), "Where interrupts go that are set up from now on: default_smp_affinity.")))
}

// deviceItems are the node of the lines' device, if they have one and the same,
// and the cores around the CPU that most of the first one's interrupts come to.
func (v *interrupts) deviceItems(g *grabbed, lines []*irq.Row) []dialog.Item {
	var items []dialog.Item
	node := lines[0].Node
	for _, l := range lines {
		if l.Node != node {
			node = -1
		}
	}
	if n, ok := v.deps.Topology.Node(topology.NodeID(node)); ok && len(v.deps.Topology.Nodes) > 1 {
		cpus := n.CPUs.And(v.deps.Topology.Online)
		items = append(items, g.item(fmt.Sprintf("node %d", node), cpus, "The node that the device is attached to: "+busyWords(v.newest, cpus)+"."))
	}
	top := lines[0].Rate.Top
	if top < 0 {
		return items
	}
	around := v.chooser.hereItems(g, top, fmt.Sprintf("Around cpu %d, which takes most of its interrupts now", top))
	return append(items, around[:max(len(around)-1, 0)]...) // not anywhere
}

// askQueue reads the settings of the network queue that the selected line serves.
func (v *interrupts) askQueue() tea.Cmd {
	row, read := v.Selected(), v.deps.IRQs.NICs
	if row == nil {
		return v.say(info, "only interrupts with a number serve a queue")
	}
	return func() tea.Msg {
		for _, n := range read() {
			if slices.Contains(row.Device.Names, n.Name) || n.Address != "" && n.Address == row.Device.Address {
				return func() tea.Cmd { return v.openQueue(n, row.Queue) }
			}
		}
		return v.saying(info, row.Title()+" is not of a network interface")
	}
}

// openQueue asks for the settings of the line's own queues, or of all queues of the
// interface when the line does not say which it serves.
func (v *interrupts) openQueue(nic irq.NIC, of irq.Queue) tea.Cmd {
	var requests [][]change.Request // of each field; none where it is as it was
	form := &dialog.Form{Titled: dialog.Titled("Queues of " + nic.Name), Enter: "apply",
		Answer: func() (any, error) { return slices.Concat(requests...), nil }}
	ask := func(queue int, fd dialog.Field, set func(want *action.QueueSettings, cpus *cpuset.Set, flows *int)) {
		i, now := len(requests), fd.Value
		fd.Empty, fd.Set = "none", func(text string) (err error) {
			var cpus cpuset.Set
			var flows int
			switch {
			case fd.Kind == dialog.Number:
				flows, err = strconv.Atoi(text)
			case text != "" && text != "none":
				cpus, err = topology.ParseCPUs(text, v.deps.Topology)
			}
			if requests[i] = nil; text != now {
				want := action.QueueSettings{Only: cpuset.Of(cpuset.CPU(queue))}
				set(&want, &cpus, &flows)
				requests[i] = action.SetQueues([]irq.NIC{nic}, want)
			}
			return err
		}
		form.Fields, requests = append(form.Fields, fd), append(requests, nil)
	}
	only := func(index int, ours bool) bool { return of.Flow == irq.NoQueue || ours && index == of.Index }
	for _, q := range nic.Rx {
		if !only(q.Index, of.Flow.Receives()) {
			continue
		}
		ask(q.Index, dialog.Field{Kind: dialog.Text, Label: fmt.Sprintf("rx-%d RPS", q.Index), Value: q.RPS.String(),
			Help: "the CPUs that process its packets; none: the CPU that takes the interrupt"},
			func(want *action.QueueSettings, cpus *cpuset.Set, _ *int) { want.RPS = cpus })
		if q.Flows >= 0 {
			ask(q.Index, dialog.Field{Kind: dialog.Number, Label: fmt.Sprintf("rx-%d RFS flows", q.Index), Value: strconv.Itoa(q.Flows), Most: math.MaxInt32,
				Help: "how many flows are steered to the CPU of the task that reads them; needs rps_sock_flow_entries"},
				func(want *action.QueueSettings, _ *cpuset.Set, flows *int) { want.Flows = flows })
		}
	}
	for _, q := range nic.Tx {
		if q.XPS.OK && only(q.Index, of.Flow.Sends()) {
			ask(q.Index, dialog.Field{Kind: dialog.Text, Label: fmt.Sprintf("tx-%d XPS", q.Index), Value: q.XPS.String(),
				Help: "the CPUs whose packets are sent through it"},
				func(want *action.QueueSettings, cpus *cpuset.Set, _ *int) { want.XPS = cpus })
		}
	}
	if len(form.Fields) == 0 {
		return v.say(info, nic.Name+" has no queue with settings")
	}
	return v.dialogs.Push(form, dialog.Answered(func(requests []change.Request) tea.Cmd {
		return v.chooser.changes.begin(requested("set", "queues of "+nic.Name, "", requests))
	}))
}
