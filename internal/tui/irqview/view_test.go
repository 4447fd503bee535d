package irqview

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/irq"
	"piton/internal/tui/theme"
	"piton/internal/tuitest/golden"
)

var plain = theme.New(theme.Options{})

// fake reads the interrupts of a server with n CPUs, which come a little more
// often each second.
type fake struct {
	cpus  int
	reads int
	last  *irq.Snapshot
	err   error
}

func known(cpus ...cpuset.CPU) irq.Mask { return irq.Mask{Set: cpuset.Of(cpus...), OK: true} }

func (f *fake) all() irq.Mask {
	var b cpuset.Builder
	b.AddRange(0, cpuset.CPU(f.cpus-1))
	return irq.Mask{Set: b.Set(), OK: true}
}

// counts are those after the reads so far, perS a second on one CPU and a tenth
// of it on the next.
func (f *fake) counts(cpu, perS int) []uint64 {
	out := make([]uint64, f.cpus)
	out[cpu%f.cpus] = uint64(perS * f.reads)
	out[(cpu+1)%f.cpus] += uint64(perS / 10 * f.reads)
	return out
}

func (f *fake) line(n, cpu, perS int, text string, facts irq.Facts) irq.IRQ {
	facts.Text = text
	facts.Actions = []string{text}
	facts.Queue = irq.ParseQueue(text)
	c := cpuset.CPU(cpu % f.cpus)
	return irq.IRQ{Number: n, Counts: f.counts(cpu, perS), Facts: facts, Requested: f.all(), Effective: known(c)}
}

func (f *fake) read() (irq.Table, error) {
	if f.err != nil {
		return irq.Table{}, f.err
	}
	f.reads++
	s := &irq.Snapshot{At: time.Duration(f.reads) * time.Second, Default: f.all()}
	for c := range f.cpus {
		s.CPUs = append(s.CPUs, cpuset.CPU(c))
	}
	nic := irq.Device{Address: "0000:11:00.0", Driver: "virtio_net", Names: []string{"eth0"}}
	disk := irq.Device{Address: "0000:19:00.0", Driver: "nvme", Names: []string{"nvme0"}}
	s.IRQs = []irq.IRQ{
		f.line(0, 0, 0, "timer", irq.Facts{Control: irq.Fixed, Node: 0}),
		f.line(4, 0, 0, "ttyS0", irq.Facts{Control: irq.Settable, Node: 0}),
		f.line(24, 1, 0, "PCIe PME", irq.Facts{Control: irq.Settable, Node: 0, Threads: []irq.Thread{{TID: 81, Comm: "irq/24-PCIe PME"}}}),
		f.line(29, 1, 16, "nvme0q0", irq.Facts{Control: irq.Settable, Device: disk, Node: 0}),
	}
	for q := range 4 {
		s.IRQs = append(s.IRQs,
			f.line(30+q, q, 900-300*q, fmt.Sprintf("nvme0q%d", q+1), irq.Facts{Control: irq.Managed, Device: disk, Node: q / 2}),
			f.line(40+2*q, q, 21000-7000*q, fmt.Sprintf("virtio1-input.%d", q), irq.Facts{Control: irq.Settable, Device: nic, Node: 0, Hint: known(cpuset.CPU(q))}),
			f.line(41+2*q, q+1, 40-10*q, fmt.Sprintf("virtio1-output.%d", q), irq.Facts{Control: irq.Settable, Device: nic, Node: 0}))
	}
	s.IRQs[5].Requested = known(cpuset.CPU(f.cpus - 1)) // moved, and no interrupt since
	s.IRQs = append(s.IRQs, f.line(60, 0, 0, "acpi", irq.Facts{Node: -1}))
	s.IRQs[len(s.IRQs)-1].Requested, s.IRQs[len(s.IRQs)-1].Effective = irq.Mask{}, irq.Mask{}
	s.Named = []irq.Named{{Name: "LOC", Counts: f.counts(0, 250), Text: "Local timer interrupts"}, {Name: "RES", Counts: f.counts(1, 70)},
		{Name: "MCE", Counts: make([]uint64, f.cpus)}, {Name: "ERR", Counts: []uint64{3}}}
	s.SoftIRQs = []irq.Named{{Name: "NET_RX", Counts: f.counts(2, 5000)}}
	t := irq.Next(f.last, s)
	f.last = s
	return t, nil
}

func (f *fake) view(reads int) *View {
	v := New(Options{Read: f.read})
	for range reads {
		tick(v)
	}
	return v
}

func tick(v *View) { v.Tick()().(func() tea.Cmd)() }

// press does what the keys of the action table do.
func press(v *View, keys ...string) {
	for _, key := range keys {
		switch key {
		case "down":
			v.Move(1)
		case "n":
			v.ToggleNamed()
		case "I":
			v.Invert()
		case "<", ">":
			v.StepSort(key == ">")
		case " ":
			v.ToggleTag()
		}
	}
}

func text(v *View, w, h int) string { return ansi.Strip(v.Render(w, h, plain)) }

func names(v *View) (out []string) {
	for _, e := range v.Rows() {
		out = append(out, e.Name())
	}
	return out
}

func TestGolden(t *testing.T) {
	for _, cpus := range []int{1, 4, 64, 512} {
		v := (&fake{cpus: cpus}).view(2)
		for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 50}} {
			w, h := size[0], size[1]-6 // what the owner keeps for itself
			golden.Check(t, fmt.Sprintf("%dcpus-%dx%d", cpus, size[0], size[1]), v.Render(w, h, plain), w, h)
		}
	}
	v := (&fake{cpus: 4}).view(2)
	press(v, "n", ">")
	golden.Check(t, "named-by-number", v.Render(120, 34, plain), 120, 34)
	v = (&fake{cpus: 4}).view(1)
	v.SetFilter("eth0")
	golden.Check(t, "filter-first-reading", v.Render(80, 18, theme.New(theme.Options{ASCII: true})), 80, 18)
}

func TestSanity(t *testing.T) {
	for _, v := range []*View{(&fake{cpus: 4}).view(0), (&fake{cpus: 4}).view(2), (&fake{err: errors.New("read /proc/interrupts: permission denied")}).view(1)} {
		for w := range 45 {
			for h := range 12 {
				drawn := v.Render(w, h, plain)
				for line := range strings.SplitSeq(drawn, "\n") {
					require.LessOrEqual(t, ansi.StringWidth(line), w, "%dx%d", w, h)
				}
			}
		}
	}
	assert.Contains(t, text((&fake{cpus: 4}).view(0), 80, 18), "reading")
	assert.Contains(t, text((&fake{err: errors.New("permission denied")}).view(1), 80, 18), "permission denied")
}

func TestSortAndFollow(t *testing.T) {
	f := &fake{cpus: 4}
	v := f.view(2)
	assert.Equal(t, []string{"40", "42", "44", "30"}, names(v)[:4], "by rate")
	press(v, "down", "down") // on 44
	f.reads += 5             // a longer step: the same rates
	tick(v)
	assert.Equal(t, "44", v.At(), "the cursor stays on its line")
	press(v, "I")
	assert.Equal(t, names(v)[0], v.At(), "a new order begins at its top")
	assert.Equal(t, "40", names(v)[v.Len()-1])
	press(v, "<")
	assert.Equal(t, []string{"0", "4", "24", "29"}, names(v)[:4], "by number")
	press(v, "<")
	assert.Equal(t, "eth0", v.Rows()[0].Row.Device.Name())
	assert.Empty(t, v.Rows()[v.Len()-1].Row.Device.Name())
	press(v, ">", ">")
	sorted, _ := v.Sorted()
	assert.Equal(t, "per_s", sorted)
	press(v, "n")
	assert.Contains(t, names(v), "LOC")
	assert.Contains(t, names(v), "NET_RX")
	assert.NotContains(t, names(v), "MCE", "it never happened")
	press(v, "n")
	assert.NotContains(t, names(v), "LOC")
}

func TestFilter(t *testing.T) {
	f := &fake{cpus: 4}
	v := f.view(2)
	v.SetFilter("nvme managed")
	assert.Equal(t, []string{"30", "31", "32", "33"}, names(v))
	assert.Contains(t, text(v, 80, 18), "filter nvme managed")
	v.SetFilter("nosuch")
	assert.Contains(t, text(v, 80, 18), "no IRQ matches nosuch")
}

func TestTargetsAreShown(t *testing.T) {
	v := (&fake{cpus: 4}).view(2)
	v.SetFilter("nvme managed")
	press(v, " ", " ")
	assert.Len(t, v.Targets(), 2)
	v.SetFilter("irq/24")
	assert.Empty(t, v.TagsShown())
	assert.Equal(t, []*irq.Row{v.Selected()}, v.Targets(), "as no tagged one is on the list")
	assert.Equal(t, 2, v.Tags())
}

func TestHandler(t *testing.T) {
	v := (&fake{cpus: 4}).view(2)
	assert.NotContains(t, text(v, 120, 18), "handler's task")
	v.SetFilter("irq/24")
	assert.Contains(t, text(v, 120, 18), "handler's task")
}

func TestOneReadingAtATime(t *testing.T) {
	v := (&fake{cpus: 2}).view(0)
	first := v.Open()
	require.NotNil(t, first)
	assert.Nil(t, v.Tick(), "the first is under way")
	msg := first()
	assert.True(t, v.reading)
	msg.(func() tea.Cmd)()
	assert.NotNil(t, v.Tick())
}

func TestAnErrorKeepsTheLastTable(t *testing.T) {
	f := &fake{cpus: 2}
	v := f.view(2)
	n := v.Len()
	f.err = errors.New("gone")
	tick(v)
	assert.Equal(t, n, v.Len())
	assert.Contains(t, text(v, 80, 18), "gone")
	f.err = nil
	tick(v)
	assert.NotContains(t, text(v, 80, 18), "gone")
}

func BenchmarkRender512(b *testing.B) {
	v := (&fake{cpus: 512}).view(2)
	for b.Loop() {
		v.Render(200, 50, plain)
	}
}
