package irqview

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"piton/internal/action"
	"piton/internal/field"
	"piton/internal/group"
	"piton/internal/irq"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/sample"
	"piton/internal/topology"
	"piton/internal/tui/list"
	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
)

// WayOf is how packets get to a CPU that come in through a queue of an interface of a network
// namespace (irq.Ways.Of).
type WayOf = func(netns uint32, index, queue int) irq.Way

// flows are what one process reads of the network, below the list while they are shown.
type flows struct {
	*list.List[uint64, field.Flow]
	on   bool
	pid  kernel.TID // 0: none
	name string
	seen sample.Flows
	why  string               // why they are not known
	ways map[entrance]irq.Way // as last read
	topo *topology.Topology
}

type entrance struct {
	netns        uint32
	index, queue int
}

func entranceOf(f *model.Flow) entrance { return entrance{f.NetNS, f.Interface, f.Queue} }

// least and most are the lines of flows below a list: the title and the headings are two.
const (
	leastFlows = 3
	mostFlows  = 12
)

func newFlows() flows {
	f := flows{List: list.New(func(f field.Flow) uint64 { return f.Cookie }, "", flowColumns()...)}
	f.Bare = true
	return f
}

// ToggleFlows shows or hides the flows of the process under the process list's cursor.
func (v *View) ToggleFlows() tea.Cmd {
	v.flows.on = !v.flows.on
	v.follow()
	return v.Tick()
}

// follow takes the process whose flows are shown.
func (v *View) follow() {
	f := &v.flows
	f.pid, f.name, f.seen, f.why = 0, "", sample.Flows{}, ""
	if f.on && v.o.Process != nil {
		f.pid, f.name = v.o.Process()
	}
	f.list()
}

// Needs asks for the flows while they are shown.
func (v *View) Needs(n *sample.Needs) {
	if v.flows.on {
		n.Flows = v.flows.pid
	}
}

// Follow takes in the flows of the newest sample.
func (v *View) Follow(s *sample.Sample, topo *topology.Topology) {
	f := &v.flows
	if !f.on {
		return
	}
	f.topo = topo
	if f.why = s.WhyNot("flows"); f.why != "" {
		f.seen = sample.Flows{}
	} else if s.Flows.Of == f.pid {
		f.seen = s.Flows
	}
	f.list()
}

func (f *flows) list() {
	f.Load(group.Each(model.Flows(f.seen.List, f.topo), func(one model.Flow) field.Flow {
		return field.Flow{Flow: one, Way: f.ways[entranceOf(&one)], Over: f.seen.Over}
	}), true)
}

// look reads the ways of the flows that are shown; it runs in a command.
func (f *flows) look(of func(*irq.Table) WayOf) func(*irq.Table) map[entrance]irq.Way {
	out := map[entrance]irq.Way{}
	for _, one := range f.Rows() {
		out[entranceOf(&one.Flow)] = irq.Way{}
	}
	return func(t *irq.Table) map[entrance]irq.Way {
		if of == nil || len(out) == 0 {
			return nil
		}
		way := of(t)
		for at := range out {
			out[at] = way(at.netns, at.index, at.queue)
		}
		return out
	}
}

// render draws the flows in height lines at most.
func (f *flows) render(width, height int, th *theme.Theme) []string {
	if !f.on || height < leastFlows {
		return nil
	}
	var r rows.Row
	r.Add(th.Title, " Flows")
	say := func(style theme.Style, text string) []string {
		r.Add(style, "  "+text)
		return []string{r.Render(th, width)}
	}
	if f.pid == 0 {
		return say(th.Dim, "no process is selected among the processes")
	}
	r.Add(th.Strong, fmt.Sprintf(" of %s %d", f.name, f.pid))
	switch {
	case f.why != "":
		return say(th.Warn, f.why)
	case f.seen.Over <= 0:
		return say(th.Dim, "reading")
	case f.Len() == 0:
		return say(th.Dim, "it has received nothing in the last interval")
	}
	r.Add(th.Text, "  "+field.Received(&f.seen, f.topo))
	height = min(height, mostFlows)
	if more := f.Len() - (height - 2); more > 0 {
		r.Add(th.Dim, fmt.Sprintf("; %d more", more))
	}
	return append([]string{r.Render(th, width)}, f.Render(width, min(height-1, f.Len()+1), th)...)
}

// flowColumns are those of flows; shares are marked with which piton irq follow would steer.
func flowColumns() []field.Column[field.Flow] {
	out := field.Pick(field.FlowColumns, "protocol", "local", "remote", "bytes_per_s", "packets_per_s", "handled", "consumed",
		"share_same_cpu", "share_same_llc", "share_same_node", "interface", "via")
	for i, c := range out {
		if strings.HasPrefix(c.ID, "share_") {
			out[i].Tone = func(f field.Flow) field.Tone {
				if share, _ := c.Value(f).(float64); share < action.NearEnough {
					return field.Warn
				}
				return field.Normal
			}
		}
	}
	return out
}
