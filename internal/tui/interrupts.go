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
)

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

// sendIRQs asks for lines to go to the CPUs, and the threads of their handlers
// with them.
func (m *Model) sendIRQs(lines []*irq.Row, cpus cpuset.Set, reason string) tea.Cmd {
	return m.changes.begin(requested("move", linesName(lines), reason, action.MoveIRQs(lines, cpus)))
}

func (m *Model) spread(lines []*irq.Row, cpus cpuset.Set) tea.Cmd {
	w := requested("spread", linesName(lines), "spread", action.SpreadIRQs(lines, m.deps.Topology, cpus))
	w.whole = len(lines) > m.irqs.Count() // none is tagged: all that are shown
	return m.changes.begin(w)
}

func (m *Model) grabIRQs(lines []*irq.Row) *grabbed {
	if len(lines) == 0 {
		return nil
	}
	return &grabbed{subject: linesName(lines), send: func(cpus cpuset.Set, reason string) tea.Cmd { return m.sendIRQs(lines, cpus, reason) },
		spread: func(cpus cpuset.Set) tea.Cmd { return m.spread(lines, cpus) }}
}

// pressedIRQs is what the mouse would grab: the line under it, or all tagged
// ones when it is one of them.
func (m *Model) pressedIRQs() *grabbed {
	if m.irqs.Tagged() {
		return m.grabIRQs(m.irqs.Targets())
	}
	if row := m.irqs.Selected(); row != nil {
		return m.grabIRQs([]*irq.Row{row})
	}
	return nil
}

func (m *Model) askIRQAffinity() tea.Cmd {
	lines := m.irqs.Targets()
	o := dialog.AffinityOptions{Subject: linesName(lines), Topology: m.deps.Topology, Load: m.load(), LeastLoaded: m.newest.LeastLoaded}
	for i, l := range lines {
		if l.Requested.OK {
			o.Mixed = o.Mixed || i > 0 && !o.Current.Equal(l.Requested.Set)
			o.Current = o.Current.Or(l.Requested.Set)
		}
	}
	return m.dialogs.Push(dialog.NewAffinity(o), dialog.Answered(func(cpus cpuset.Set) tea.Cmd { return m.sendIRQs(lines, cpus, "") }))
}

// spreadIRQs spreads the tagged lines over the CPUs, or all that are shown.
func (m *Model) spreadIRQs() tea.Cmd {
	lines := m.irqs.TagsShown()
	if len(lines) == 0 {
		lines = m.irqs.Shown()
	}
	if len(lines) == 0 {
		return m.say(bad, "spread: no interrupt with a number is shown")
	}
	return m.spread(lines, m.deps.Topology.Ordinary())
}

func (m *Model) resetIRQs() tea.Cmd {
	return m.sendIRQs(m.irqs.Targets(), m.newIRQCPUs(), "to where new interrupts go")
}

func (m *Model) newIRQCPUs() cpuset.Set { return m.deps.Topology.OnlineAmong(m.irqs.Default().Set) }

// askIRQPlace offers where the lines could go, each with why.
func (m *Model) askIRQPlace() tea.Cmd {
	lines, ordinary := m.irqs.Targets(), m.deps.Topology.Ordinary()
	g := m.grabIRQs(lines)
	items := []dialog.Item{{Label: "spread", Detail: "one CPU each, over " + ordinary.String(), Value: func() tea.Cmd { return g.spread(ordinary) },
		More: "The queues of a device go to different cores as long as there are, on its own node first; both ways of a queue share a CPU."}}
	if best := m.newest.LeastLoaded; best >= 0 {
		items = append(items, g.item("least-loaded", cpuset.Of(best),
			fmt.Sprintf("All of them to the CPU that is least loaded: %s.", busyWords(m.newest, cpuset.Of(best)))))
	}
	items = append(items, m.deviceItems(g, lines)...)
	return m.openPlaces(g, append(items, g.item("reset", m.newIRQCPUs(), "Where interrupts go that are set up from now on: default_smp_affinity.")))
}

// deviceItems are the node of the lines' device, if they have one and the same,
// and the cores around the CPU that most of the first one's interrupts come to.
func (m *Model) deviceItems(g *grabbed, lines []*irq.Row) []dialog.Item {
	var items []dialog.Item
	node := lines[0].Node
	for _, l := range lines {
		if l.Node != node {
			node = -1
		}
	}
	if n, ok := m.deps.Topology.Node(topology.NodeID(node)); ok && len(m.deps.Topology.Nodes) > 1 {
		cpus := n.CPUs.And(m.deps.Topology.Online)
		items = append(items, g.item(fmt.Sprintf("node %d", node), cpus, "The node that the device is attached to: "+busyWords(m.newest, cpus)+"."))
	}
	top := lines[0].Rate.Top
	if top < 0 {
		return items
	}
	around := m.hereItems(g, top, fmt.Sprintf("Around cpu %d, which takes most of its interrupts now", top))
	return append(items, around[:max(len(around)-1, 0)]...) // not anywhere
}

// askQueue reads the settings of the network queue that the selected line serves.
func (m *Model) askQueue() tea.Cmd {
	row, read := m.irqs.Selected(), m.deps.IRQs.NICs
	if row == nil {
		return m.say(info, "only interrupts with a number serve a queue")
	}
	return func() tea.Msg {
		for _, n := range read() {
			if slices.Contains(row.Device.Names, n.Name) || n.Address != "" && n.Address == row.Device.Address {
				return func() tea.Cmd { return m.openQueue(n, row.Queue) }
			}
		}
		return m.saying(info, row.Title()+" is not of a network interface")
	}
}

// openQueue asks for the settings of the line's own queues, or of all queues of the
// interface when the line does not say which it serves.
func (m *Model) openQueue(nic irq.NIC, of irq.Queue) tea.Cmd {
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
				cpus, err = topology.ParseCPUs(text, m.deps.Topology)
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
		return m.say(info, nic.Name+" has no queue with settings")
	}
	return m.dialogs.Push(form, dialog.Answered(func(requests []change.Request) tea.Cmd {
		return m.changes.begin(requested("set", "queues of "+nic.Name, "", requests))
	}))
}
