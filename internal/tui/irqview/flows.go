package irqview

import (
	"cmp"
	"fmt"

	tea "charm.land/bubbletea/v2"

	"piton/internal/action"
	"piton/internal/chart"
	"piton/internal/field"
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
	*list.List[uint64, flow]
	on   bool
	pid  kernel.TID // 0: none
	name string
	seen sample.Flows
	why  string               // why they are not known
	ways map[entrance]irq.Way // as last read
	topo *topology.Topology
}

// flow is a flow with what brings its packets to a CPU.
type flow struct {
	model.Flow
	irq.Way
	perS func(n uint64) float64
}

// entrance is where packets come in.
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
	f := flows{List: list.New(func(f flow) uint64 { return f.Cookie }, "", flowColumns()...)}
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

// list chooses the rows anew.
func (f *flows) list() {
	var shown []flow
	over := max(f.seen.Over.Seconds(), 1e-3)
	perS := func(n uint64) float64 { return float64(n) / over }
	for _, one := range model.Flows(f.seen.List, f.topo) {
		shown = append(shown, flow{one, f.ways[entranceOf(&one)], perS})
	}
	f.Load(shown, true)
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

func flowColumns() []list.Column[flow] {
	text := func(style func(*theme.Theme) theme.Style, of func(flow) string) func(flow, *theme.Theme, int) (string, theme.Style) {
		return func(f flow, th *theme.Theme, _ int) (string, theme.Style) { return cmp.Or(of(f), th.None), style(th) }
	}
	usual := func(th *theme.Theme) theme.Style { return th.Text }
	share := func(part func(*model.Locality) uint64) func(flow, *theme.Theme, int) (string, theme.Style) {
		return func(f flow, th *theme.Theme, _ int) (string, theme.Style) {
			of, ok := f.Share(part(&f.Locality))
			switch {
			case !ok:
				return th.None, th.Dim
			case of < action.NearEnough: // piton irq follow would steer
				return chart.Percent(of), th.Warn
			}
			return chart.Percent(of), th.Text
		}
	}
	return []list.Column[flow]{
		{ID: "protocol", Title: "", Width: 3, Rank: 9, Cell: text(func(th *theme.Theme) theme.Style { return th.Dim }, func(f flow) string { return f.Protocol.String() })},
		{ID: "local", Title: "LOCAL", Width: 21, Tight: 17, Rank: 8, Cell: text(usual, func(f flow) string { return f.Local.String() })},
		{ID: "remote", Title: "REMOTE", Width: 21, Cell: text(usual, func(f flow) string { return field.Address(f.Remote) })},
		{ID: "rate", Title: "RATE", Width: 9, Right: true, Rank: 2, Cell: text(usual, func(f flow) string { return chart.Quantity(f.perS(f.Bytes), "B/s") })},
		{ID: "packets", Title: "PACKETS/s", Width: 9, Right: true, Rank: 7, Cell: text(usual, func(f flow) string { return chart.Digits(f.perS(f.Packets)) })},
		{ID: "handled", Title: "HANDLED ON", Width: 18, Tight: 11, Rank: 1, Cell: text(usual, func(f flow) string { return field.FlowCPUs(f.Handled) })},
		{ID: "read", Title: "READ ON", Width: 18, Tight: 11, Rank: 1, Cell: text(usual, func(f flow) string { return field.FlowCPUs(f.Consumed) })},
		{ID: "same", Title: "SAME", Width: 5, Right: true, Rank: 1, Cell: share(func(l *model.Locality) uint64 { return l.SameCPU })},
		{ID: "llc", Title: "LLC", Width: 5, Right: true, Rank: 5, Cell: share(func(l *model.Locality) uint64 { return l.SameLLC })},
		{ID: "node", Title: "NODE", Width: 5, Right: true, Rank: 6, Cell: share(func(l *model.Locality) uint64 { return l.SameNode })},
		{ID: "queue", Title: "QUEUE", Width: 12, Tight: 10, Rank: 4, Cell: text(usual, func(f flow) string { return f.Entrance() })},
		{ID: "way", Title: "BY", Tight: 8, Rank: 3, Cell: text(func(th *theme.Theme) theme.Style { return th.Accent }, func(f flow) string { return f.Way.String() })},
	}
}
