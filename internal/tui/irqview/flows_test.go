package irqview

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/irq"
	"piton/internal/kernel"
	"piton/internal/sample"
	"piton/internal/topology/topologytest"
	"piton/internal/tui/theme"
	"piton/internal/tuitest/golden"
)

// flowing is a view whose process, a web server, receives by n connections.
func flowing(t *testing.T, pid *kernel.TID) *View {
	t.Helper()
	f := &fake{cpus: 4}
	v := New(Options{Read: f.read, Process: func() (kernel.TID, string) { return *pid, "nginx" },
		Ways: func(table *irq.Table) WayOf {
			return func(_ uint32, _, queue int) irq.Way {
				return irq.Way{Interface: "eth0", Device: "eth0", Via: irq.ViaIRQ, Queue: queue, Line: table.QueueIRQ("eth0", true, queue)}
			}
		}})
	tick(v)
	tick(v)
	return v
}

func received(of kernel.TID, n int) *sample.Sample {
	s := &sample.Sample{Flows: sample.Flows{Of: of, Over: time.Second}}
	for i := range n {
		one := sample.Flow{Flow: sample.Socket{Cookie: uint64(i + 1), PID: of, Protocol: 6,
			Local:  netip.MustParseAddrPort("192.0.2.10:443"),
			Remote: netip.MustParseAddrPort(fmt.Sprintf("198.51.100.%d:%d", 20+i, 51_000+577*i))},
			Handled: 1, Consumed: 1, Bytes: 40e6 >> i, Reads: 2000, Packets: 25_000 >> i, Interface: 2, Queue: i % 4}
		far := one
		far.Consumed, far.Bytes, far.Packets = 2, far.Bytes/50*uint64(i), 0
		if s.Flows.List = append(s.Flows.List, one); far.Bytes > 0 {
			s.Flows.List = append(s.Flows.List, far)
		}
	}
	return s
}

var flowTopology = topologytest.Synthetic(topologytest.Spec{CoresPerLLC: 2, LLCsPerNode: 2})

func TestFlowsGolden(t *testing.T) {
	pid := kernel.TID(3641)
	v := flowing(t, &pid)
	toggle(v)
	for range 2 { // ways are read with the interrupts
		v.Follow(received(pid, 5), flowTopology)
		tick(v)
		v.Follow(received(pid, 5), flowTopology)
	}
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 50}} {
		w, h := size[0], size[1]-6
		golden.Check(t, fmt.Sprintf("flows-%dx%d", size[0], size[1]), v.Render(w, h, plain), w, h)
	}
	golden.Check(t, "flows-ascii", v.Render(80, 18, theme.New(theme.Options{ASCII: true})), 80, 18)
}

func toggle(v *View) {
	if cmd := v.ToggleFlows(); cmd != nil {
		cmd().(func() tea.Cmd)()
	}
}

// TestFlowsAreReadWhileShown is that nothing is asked for before and after.
func TestFlowsAreReadWhileShown(t *testing.T) {
	pid := kernel.TID(3641)
	v := flowing(t, &pid)
	needs := func() (n sample.Needs) { v.Needs(&n); return n }
	assert.Zero(t, needs())
	v.Follow(received(pid, 1), flowTopology)
	assert.NotContains(t, text(v, 120, 18), "Flows")
	toggle(v)
	assert.Equal(t, sample.Needs{Flows: pid}, needs())
	assert.Contains(t, text(v, 120, 18), "Flows of nginx 3641  reading")
	v.Follow(received(pid, 1), flowTopology)
	assert.Contains(t, text(v, 120, 18), "198.51.100.20:51000")
	v.Follow(received(7, 1), flowTopology)
	assert.Contains(t, text(v, 120, 18), "198.51.100.20:51000", "those of another process are not taken")
	v.Follow(received(pid, 0), flowTopology)
	assert.Contains(t, text(v, 120, 18), "received nothing")
	v.Follow(&sample.Sample{Collectors: []sample.Collector{{Name: "flows", Err: errors.New("flows: it takes CAP_BPF")}}}, flowTopology)
	assert.Contains(t, text(v, 120, 18), "Flows of nginx 3641  it takes CAP_BPF")

	pid = 7
	v.Open()
	assert.Equal(t, sample.Needs{Flows: 7}, needs(), "the view is shown again")
	pid = 0
	v.Open()
	assert.Zero(t, needs())
	assert.Contains(t, text(v, 120, 18), "no process is selected")
	toggle(v)
	assert.NotContains(t, text(v, 120, 18), "Flows")
}

// TestFlowsFit is that the list keeps its half, and that more than there is room for is said.
func TestFlowsFit(t *testing.T) {
	pid := kernel.TID(3641)
	v := flowing(t, &pid)
	toggle(v)
	v.Follow(received(pid, 20), flowTopology)
	for w := range 130 {
		for h := range 30 {
			lines := strings.Split(v.Render(w, h, plain), "\n")
			require.LessOrEqual(t, len(lines), max(h, 1))
			for _, line := range lines {
				require.LessOrEqual(t, ansi.StringWidth(line), w, "%dx%d", w, h)
			}
		}
	}
	assert.Contains(t, text(v, 120, 34), "; 10 more")
	assert.Contains(t, text(v, 120, 34), "virtio1-input.0")
}
