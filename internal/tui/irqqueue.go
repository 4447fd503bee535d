package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"piton/internal/action"
	"piton/internal/cpuset"
	"piton/internal/irq"
	"piton/internal/topology"
	"piton/internal/tui/dialog"
)

// askQueue reads the settings of the network queue that the selected line serves.
func (m *Model) askQueue() tea.Cmd {
	row, read := m.irqs.Selected(), m.deps.IRQs.NICs
	if row == nil {
		return m.say(info, "only interrupts with a number serve a queue")
	}
	none := row.Title() + " is not of a network interface"
	if read == nil {
		return m.say(info, none)
	}
	return func() tea.Msg {
		for _, n := range read() {
			if slices.Contains(row.Device.Names, n.Name) || n.Address != "" && n.Address == row.Device.Address {
				return resume(func(m *Model) tea.Cmd { return m.openQueue(n, row.Queue) })
			}
		}
		return saying(info, none)
	}
}

// queueSetting is one setting of one queue.
type queueSetting struct {
	label, now string
	cpus       bool // a list of CPUs, which may be none
	set        func(*action.QueueSettings, cpuset.Set, int)
	nic        irq.NIC
	queue      int
}

// openQueue offers the settings of the line's own queues, or of all queues of the
// interface when the line does not say which it serves.
func (m *Model) openQueue(nic irq.NIC, queue irq.Queue) tea.Cmd {
	var items []dialog.Item
	for _, s := range queueSettings(nic, queue) {
		items = append(items, dialog.Item{Label: s.label, Detail: cmp.Or(s.now, "none"), Value: s, More: queueHelp(s)})
	}
	if len(items) == 0 {
		return m.say(info, nic.Name+" has no queue with settings")
	}
	return m.dialogs.Push(dialog.NewMenu("Queues of "+nic.Name, items, 0), dialog.Answered(m.askQueueValue))
}

func queueHelp(s queueSetting) string {
	switch {
	case strings.Contains(s.label, "RPS"):
		return "RPS: the CPUs that process packets of the queue; none: the CPU that takes the interrupt does."
	case strings.Contains(s.label, "XPS"):
		return "XPS: the CPUs whose packets are sent through this queue."
	}
	return "RFS: how many flows of the queue are steered to the CPU of the task that reads them; needs rps_sock_flow_entries."
}

func queueSettings(n irq.NIC, of irq.Queue) []queueSetting {
	only := func(index int, ours bool) bool { return of.Flow == irq.NoQueue || ours && index == of.Index }
	var out []queueSetting
	for _, q := range n.Rx {
		if !only(q.Index, of.Flow.Receives()) {
			continue
		}
		out = append(out, queueSetting{label: fmt.Sprintf("rx-%d RPS", q.Index), now: q.RPS.String(), cpus: true, nic: n, queue: q.Index,
			set: func(s *action.QueueSettings, cpus cpuset.Set, _ int) { s.RPS = &cpus }})
		if q.Flows >= 0 {
			out = append(out, queueSetting{label: fmt.Sprintf("rx-%d RFS flows", q.Index), now: strconv.Itoa(q.Flows), nic: n, queue: q.Index,
				set: func(s *action.QueueSettings, _ cpuset.Set, flows int) { s.Flows = &flows }})
		}
	}
	for _, q := range n.Tx {
		if q.XPS.OK && only(q.Index, of.Flow.Sends()) {
			out = append(out, queueSetting{label: fmt.Sprintf("tx-%d XPS", q.Index), now: q.XPS.String(), cpus: true, nic: n, queue: q.Index,
				set: func(s *action.QueueSettings, cpus cpuset.Set, _ int) { s.XPS = &cpus }})
		}
	}
	return out
}

// askQueueValue asks for the new value on the last line.
func (m *Model) askQueueValue(s queueSetting) tea.Cmd {
	what := s.nic.Name + " " + s.label
	check := func(text string) error { _, _, err := s.parse(text, m.deps.Topology); return err }
	return m.dialogs.Push(dialog.NewPrompt(what, s.now, check), dialog.Answered(func(text string) tea.Cmd {
		cpus, flows, err := s.parse(text, m.deps.Topology)
		if err != nil {
			return m.say(bad, what+": "+err.Error())
		}
		want := action.QueueSettings{Only: cpuset.Of(cpuset.CPU(s.queue))}
		s.set(&want, cpus, flows)
		return m.begin(requested("set", what, "", action.SetQueues([]irq.NIC{s.nic}, want)))
	}))
}

// parse reads a typed value: CPUs, nothing for none; or a count of flows.
func (s *queueSetting) parse(text string, t *topology.Topology) (cpus cpuset.Set, flows int, err error) {
	text = strings.TrimSpace(text)
	switch {
	case !s.cpus:
		flows, err = strconv.Atoi(text)
		if err != nil || flows < 0 {
			err = fmt.Errorf("%q is not a number of flows", text)
		}
	case text != "" && text != "none":
		cpus, err = topology.ParseCPUs(text, t)
	}
	return cpus, flows, err
}
