// Package meters draws the first lines of the screen: the machine in figures. Which
// meters there are, what they are called and what they read is one table; the user
// chooses and orders them in the setup.
//
// Render is pure. What no sample has (network, disks, temperature, frequency) Reader
// reads beside the screen, while its meter is chosen.
//
// Start at All and Render.
package meters

import (
	"fmt"
	"math"
	"slices"
	"time"

	"piton/internal/field"
	"piton/internal/group"
	"piton/internal/model"
	"piton/internal/sample"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

// Input is what a rendering depends on.
type Input struct {
	Model  *model.Model // nil before the first sample
	Live   *Live
	Meters []string // ids in order; empty: the usual ones
	Extra  string   // what stands at the right and stays longest, as "paused"
	Width  int
	Height int // of the whole screen: a tall one has room for a second line
	Theme  *theme.Theme
}

// Meter is one of the figures.
type Meter struct {
	ID    string // in the settings file
	Title string // in the setup
	Help  string

	usual bool
	rank  int                   // the largest goes first where room is short
	read  func(*Reader) reading // what no sample has; nil: it is in the sample
	// draw returns its forms, the shortest first.
	draw func(in *Input) []string
}

// All are the meters in their usual order.
var All = []*Meter{
	{ID: "uptime", Title: "uptime", Help: "time since boot", usual: true, rank: 6, draw: uptime},
	{ID: "cpu", Title: "CPUs", Help: "load of all CPUs together, by kind", rank: 2, draw: cpus},
	{ID: "tasks", Title: "tasks", Help: "processes, threads, running threads", usual: true, rank: 4, draw: tasks},
	{ID: "load", Title: "load", Help: "load averages of 1, 5 and 15 minutes", usual: true, rank: 1, draw: load},
	{ID: "memory", Title: "memory", Help: "used (total less available) of total", usual: true, rank: 2, draw: memory},
	{ID: "swap", Title: "swap", Help: "used of total", usual: true, rank: 5, draw: swap},
	{ID: "psi", Title: "PSI", Help: "% of the last 10 s in which a task waited for cpu, io, memory", usual: true, rank: 3, draw: psi},
	{ID: "migrations", Title: "migrations", Help: "of the whole machine, and the source", usual: true, rank: 0, draw: migrations},
	{ID: "network", Title: "network", Help: "bytes received and sent a second", rank: 3, read: (*Reader).network, draw: networkRates},
	{ID: "disk", Title: "disk", Help: "bytes read and written a second", rank: 3, read: (*Reader).disks, draw: diskRates},
	{ID: "temperature", Title: "temperature", Help: "of the hottest CPU sensor", rank: 4, read: (*Reader).hottest, draw: temperature},
	{ID: "frequency", Title: "frequency", Help: "mean of the CPUs", rank: 5, read: (*Reader).frequency, draw: frequency},
}

var usual = slices.DeleteFunc(slices.Clone(All), func(m *Meter) bool { return !m.usual })

// Usual are the ids of the meters that are shown where none was chosen.
func Usual() []string { return group.Each(usual, func(m *Meter) string { return m.ID }) }

// Chosen are the meters with these ids, in their order; the usual ones for none. Ids that
// this version does not know are left out.
func Chosen(ids []string) []*Meter {
	if len(ids) == 0 {
		return usual
	}
	var out []*Meter
	for _, id := range ids {
		if i := slices.IndexFunc(All, func(m *Meter) bool { return m.ID == id }); i >= 0 {
			out = append(out, All[i])
		}
	}
	return out
}

// Needs adds what the chosen meters want of samples.
func Needs(ids []string, n *sample.Needs) {
	n.PSI = n.PSI || slices.ContainsFunc(Chosen(ids), func(m *Meter) bool { return m.ID == "psi" })
}

func uptime(in *Input) []string {
	up := in.Model.Sample.Host.Uptime
	switch {
	case up == 0:
		return []string{"up " + in.Theme.None}
	case up >= 24*time.Hour:
		return []string{fmt.Sprintf("up %dd", up/(24*time.Hour))}
	case up >= time.Hour:
		return []string{fmt.Sprintf("up %dh", up/time.Hour)}
	}
	return []string{fmt.Sprintf("up %dm", up/time.Minute)}
}

func tasks(in *Input) []string {
	c := in.Model.Counts
	return []string{fmt.Sprintf("%d tasks %d run", c.Processes, c.Running),
		fmt.Sprintf("%d tasks %d thr  %d run", c.Processes, c.Threads, c.Running)}
}

func load(in *Input) []string {
	h := &in.Model.Sample.Host
	if !h.HaveLoad {
		return []string{"load " + in.Theme.None}
	}
	return []string{fmt.Sprintf("load %.1f %.1f %.1f", h.Load1, h.Load5, h.Load15)}
}

func cpus(in *Input) []string {
	busy, parts := in.Model.Mean(in.Model.Topology.Online)
	if !model.Known(busy) {
		return []string{"cpu " + in.Theme.None}
	}
	busy = min(busy, 1)
	return barred(in, "cpu", &parts, fmt.Sprintf("%3.0f%%", busy*100), busy)
}

func memory(in *Input) []string {
	h := &in.Model.Sample.Host
	if h.MemTotalBytes == 0 || !h.HaveMemUsed {
		return []string{"mem " + in.Theme.None}
	}
	share := float32(float64(h.MemUsedBytes) / float64(h.MemTotalBytes))
	return barred(in, "mem", &widget.Parts{share}, used(h.MemUsedBytes, h.MemTotalBytes), share)
}

func swap(in *Input) []string {
	h := &in.Model.Sample.Host
	switch {
	case !h.HaveSwapUsed || h.SwapTotalBytes == 0:
		return []string{"swp " + in.Theme.None}
	case h.SwapUsedBytes < 50<<20: // it rounds to 0.0
		return []string{"swp 0"}
	}
	share := float32(float64(h.SwapUsedBytes) / float64(h.SwapTotalBytes))
	return []string{"swp " + high(in.Theme, share).Render(used(h.SwapUsedBytes, h.SwapTotalBytes))}
}

// barred is a figure of a share, behind a bar where there is room.
func barred(in *Input, name string, parts *widget.Parts, figure string, share float32) []string {
	figure = high(in.Theme, share).Render(figure)
	forms := []string{name + " " + figure}
	for _, width := range []int{14, 26} {
		forms = append(forms, name+" "+string(widget.AppendFramed(nil, in.Theme, parts, width))+figure)
	}
	return forms
}

func high(th *theme.Theme, share float32) theme.Style {
	if share < 0.85 {
		return th.Text
	}
	return th.Load(share)
}

// used writes bytes used of a total in GiB: "14.2/64G".
func used(bytes, total uint64) string {
	gib := func(n uint64, whole float64) string {
		if g := float64(n) / (1 << 30); g < whole {
			return fmt.Sprintf("%.1f", g)
		}
		return fmt.Sprintf("%.0f", float64(n)/(1<<30))
	}
	return gib(bytes, 100) + "/" + gib(total, 10) + "G"
}

func psi(in *Input) []string {
	p := in.Model.Sample.Host.PSI
	if !p.Have {
		return []string{"psi " + in.Theme.None}
	}
	percent := func(v float64) string {
		if math.IsNaN(v) {
			return in.Theme.None
		}
		style, text := in.Theme.Text, fmt.Sprintf("%.1f", v)
		if v >= 9.95 {
			style, text = in.Theme.Warn, fmt.Sprintf("%.0f", v)
		}
		return style.Render(text)
	}
	return []string{"psi cpu " + percent(p.CPU) + " io " + percent(p.IO) + " mem " + percent(p.Memory)}
}

// migrations is the machine's migration rate with the words for its source: a worse
// source is never passed off as exact. The help says what a better one needs.
func migrations(in *Input) []string {
	m, th := in.Model, in.Theme
	if m.Sample.Migrations == sample.SourceNone || !model.Known(m.MigrationsPerS) {
		return []string{"migrations " + th.None}
	}
	style := th.Text
	if m.MigrationsPerS >= 10 {
		style = th.Accent
	}
	atLeast, source := "", m.Sample.Migrations.String()
	switch m.Sample.Migrations {
	case sample.SourceSampled:
		atLeast = th.AtLeast
	case sample.SourceBPF:
		source = "exact (eBPF)"
	}
	rate := fmt.Sprintf("%6s", atLeast+fmt.Sprintf("%.0f/s", m.MigrationsPerS)) // what is before it seldom moves
	return []string{"migrations " + style.Render(rate) + th.Dim.Render(" "+source)}
}

func networkRates(in *Input) []string { return rates(in, "network", "net rx", "tx") }
func diskRates(in *Input) []string    { return rates(in, "disk", "disk r", "w") }

func rates(in *Input, id, one, other string) []string {
	bytes := func(perS float64) string {
		if math.IsNaN(perS) {
			return in.Theme.None
		}
		if perS < 999.5 {
			return fmt.Sprintf("%.0fB", perS)
		}
		return field.Bytes(uint64(perS))
	}
	a, b := in.Live.of(id)
	least := in.atLeast(id)
	first, second := one+" "+least+bytes(a), other+" "+least+bytes(b)
	return []string{first + " " + second, first + "/s " + second + "/s"}
}

func temperature(in *Input) []string {
	unit := "°C"
	if in.Theme.ASCII {
		unit = "C"
	}
	return gauge(in, "temperature", "temp", "%.0f"+unit)
}

func frequency(in *Input) []string { return gauge(in, "frequency", "freq", "%.1f GHz") }

func gauge(in *Input, id, name, format string) []string {
	v, _ := in.Live.of(id)
	if math.IsNaN(v) {
		return []string{name + " " + in.Theme.None}
	}
	return []string{name + " " + in.atLeast(id) + fmt.Sprintf(format, v)}
}

// atLeast marks a sum or a maximum that leaves something out.
func (in *Input) atLeast(id string) string {
	if in.Live.partial[id] && id != "frequency" { // a mean may be too high as well
		return in.Theme.AtLeast
	}
	return ""
}
