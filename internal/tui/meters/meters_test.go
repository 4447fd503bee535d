package meters

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/kernel/kernelfake"
	"piton/internal/sample"
	"piton/internal/topology/topologytest"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
	"piton/internal/tuitest"
	"piton/internal/tuitest/golden"
)

var th = theme.New(theme.Options{Depth: theme.Colors256})

func input(w, h int, ids ...string) Input {
	m := tuitest.New(topologytest.Sized(8)).Model(5)
	host := &m.Sample.Host
	host.PSI = sample.PSI{CPU: 4.1, IO: 12.3, Have: true}
	host.SwapTotalBytes, host.SwapUsedBytes = 8<<30, 1200<<20
	return Input{Model: m, Live: &Live{figures: map[string][2]float64{
		"network": {1.24e6, 310}, "disk": {0, 54e6}, "temperature": {61.2}, "frequency": {3.41}}},
		Meters: ids, Width: w, Height: h, Theme: th}
}

func idsOf(list []*Meter) (ids []string) {
	for _, m := range list {
		ids = append(ids, m.ID)
	}
	return ids
}

func TestGolden(t *testing.T) {
	var frame []string
	show := func(title string, in Input) {
		frame = append(frame, fmt.Sprintf("-- %d×%d %s", in.Width, in.Height, title))
		frame = append(frame, Render(in)...)
	}
	for _, size := range [][2]int{{300, 80}, {200, 50}, {120, 40}, {80, 24}, {60, 24}, {40, 24}, {20, 10}} {
		show("usual", input(size[0], size[1]))
		all := input(size[0], size[1], idsOf(All)...)
		show("all", all)
		paused := input(size[0], size[1])
		paused.Extra = "paused, Z resumes"
		show("paused", paused)
	}
	show("in the user's order", input(120, 40, "temperature", "cpu", "load", "gone"))
	unknown := input(200, 50, idsOf(All)...)
	unknown.Live, unknown.Model = &Live{}, tuitest.New(topologytest.Sized(2)).Model(1)
	show("first sample", unknown)
	ascii := input(200, 50, idsOf(All)...)
	ascii.Theme = theme.New(theme.Options{ASCII: true})
	show("ascii", ascii)
	golden.Check(t, "header", strings.Join(frame, "\n"), 300, 200)
}

func TestLinesFit(t *testing.T) {
	for w := 1; w < 320; w++ {
		for _, ids := range [][]string{nil, idsOf(All), {"migrations"}, {"gone"}} {
			for _, extra := range []string{"", "paused, Z resumes"} {
				in := input(w, 60, ids...)
				in.Extra = extra
				lines := Render(in)
				assert.LessOrEqual(t, len(lines), 3)
				for _, l := range lines {
					assert.Equal(t, w, widget.Width(l), "%d %v: %q", w, ids, l)
				}
				if w >= 40 {
					assert.Contains(t, ansi.Strip(lines[0]), extra)
				}
			}
		}
	}
	in := input(80, 24)
	in.Model = nil
	assert.Contains(t, Render(in)[0], "reading the machine")
}

func TestHeaderIsKept(t *testing.T) {
	var h Header
	in := input(120, 40)
	first := h.Render(in)
	assert.Same(t, &first[0], &h.Render(in)[0])
	in.Meters = []string{"load"}
	assert.NotEqual(t, first, h.Render(in))
}

func TestASCII(t *testing.T) {
	in := input(300, 60, idsOf(All)...)
	in.Theme = theme.New(theme.Options{ASCII: true})
	for _, r := range strings.Join(Render(in), "") {
		require.Less(t, r, rune(128))
	}
}

func TestOnlyWhatIsChosenIsRead(t *testing.T) {
	var n sample.Needs
	Needs([]string{"load"}, &n)
	assert.False(t, n.PSI)
	Needs(nil, &n)
	assert.True(t, n.PSI)
	now := time.Unix(1000, 0)
	r := NewReader(t.TempDir())
	assert.Nil(t, r.Read(nil, now), "the usual meters are in the sample")
	assert.NotNil(t, r.Read([]string{"disk"}, now))
	assert.Nil(t, r.Read([]string{"disk"}, now.Add(time.Hour)), "the first one is not back yet")
	r.Take(Msg{&Live{}})
	assert.Nil(t, r.Read([]string{"disk"}, now.Add(time.Millisecond)), "it is too early")
	assert.NotNil(t, r.Read([]string{"disk"}, now.Add(time.Second)))
	assert.Nil(t, (*Reader)(nil).Read([]string{"disk"}, now))
}

// TestReader reads a host tree with a bridge, a partition and two sensors.
func TestReader(t *testing.T) {
	root := t.TempDir()
	write := func(path, content string) {
		require.NoError(t, kernelfake.WriteFiles(root, map[string]string{path: content}))
	}
	counts := func(rx, tx, read, written int) {
		dev := "Inter-|   Receive                |  Transmit\n face |bytes    packets\n"
		for _, name := range []string{"lo", "eth0", "docker0"} {
			dev += fmt.Sprintf("%s: %d 1 0 0 0 0 0 0 %d 1 0 0 0 0 0 0\n", name, rx, tx)
		}
		write("proc/net/dev", dev)
		stats := ""
		for _, name := range []string{"sda", "sda1", "loop0"} {
			stats += fmt.Sprintf("8 0 %s 1 0 %d 0 1 0 %d 0 0 0 0\n", name, read/512, written/512)
		}
		write("proc/diskstats", stats)
	}
	write("sys/class/net/eth0/device/vendor", "")
	write("sys/class/net/docker0/mtu", "")
	write("sys/block/sda/device/vendor", "")
	write("sys/block/loop0/size", "")
	for i, s := range []struct{ name, milli string }{{"coretemp", "61000"}, {"nvme", "75000"}} {
		dir := fmt.Sprintf("sys/class/hwmon/hwmon%d/", i)
		write(dir+"name", s.name+"\n")
		write(dir+"temp1_input", s.milli+"\n")
		write(dir+"temp1_label", "one\n")
	}
	write("sys/devices/system/cpu/cpufreq/policy0/scaling_cur_freq", "3000000\n")
	write("sys/devices/system/cpu/cpufreq/policy1/scaling_cur_freq", "2000000\n")

	r, now := NewReader(root), time.Unix(1000, 0)
	read := func() *Live {
		cmd := r.Read([]string{"network", "disk", "temperature", "frequency"}, now)
		now = now.Add(2 * time.Second)
		r.Take(cmd().(Msg))
		return r.Live()
	}
	counts(1000, 2000, 512, 1024)
	first := read()
	assert.NotContains(t, first.figures, "network", "rates need two readings")
	assert.Equal(t, 61.0, first.figures["temperature"][0])
	assert.InDelta(t, 2.5, first.figures["frequency"][0], 1e-9)
	counts(3000, 2000, 512+5120, 1024+10240)
	assert.Equal(t, map[string][2]float64{"network": {1000, 0}, "disk": {2560, 5120}, "temperature": {61}, "frequency": {2.5}}, read().figures)
	counts(0, 2000, 0, 0)
	rx, _ := read().of("network")
	assert.True(t, math.IsNaN(rx), "a counter ran backwards")
}
