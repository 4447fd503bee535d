package meters

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/shirou/gopsutil/v4/common"
	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/disk"
	"github.com/shirou/gopsutil/v4/net"
	"github.com/shirou/gopsutil/v4/sensors"

	"piton/internal/procfs"
)

// Live is what no sample has, as read at one moment.
type Live struct {
	at time.Time
	// By meter: its counters, and its figures (bytes a second, °C, GHz); what is not known
	// is missing or NaN.
	counters, figures map[string][2]float64
}

// of is what a meter shows.
func (l *Live) of(id string) (a, b float64) {
	if f, ok := l.figures[id]; ok {
		return f[0], f[1]
	}
	return math.NaN(), math.NaN()
}

// Msg delivers what a command of Reader has read; it is given back to Take.
type Msg struct{ live *Live }

// Reader reads with gopsutil. Its commands run beside the screen, one at a time.
type Reader struct {
	proc, sys string
	ctx       context.Context

	live  *Live
	began time.Time // the last reading
	busy  bool
}

// NewReader reads of the host whose tree is below root.
func NewReader(root string) *Reader {
	r := &Reader{proc: filepath.Join("/", root, "proc"), sys: filepath.Join("/", root, "sys"), live: &unknown}
	r.ctx = context.WithValue(context.Background(), common.EnvKey,
		common.EnvMap{common.HostProcEnvKey: r.proc, common.HostSysEnvKey: r.sys})
	return r
}

// every is the time between two readings. What they are about changes slowly, and some
// sensors take milliseconds to answer.
const every = time.Second

// slack lets a tick that comes a little early read all the same.
const slack = 100 * time.Millisecond

// Read returns a command that reads what the chosen meters show; nil where that is
// nothing, where it is under way, and where it is too early.
func (r *Reader) Read(ids []string, now time.Time) tea.Cmd {
	want := slices.DeleteFunc(slices.Clone(Chosen(ids)), func(m *Meter) bool { return m.read == nil })
	if r == nil || len(want) == 0 || r.busy || now.Sub(r.began) < every-slack {
		return nil
	}
	r.busy, r.began = true, now
	last := r.live
	return func() tea.Msg { return Msg{r.read(want, last, now)} }
}

// Take keeps what was read.
func (r *Reader) Take(m Msg) { r.live, r.busy = m.live, false }

// unknown is Live before anything was read.
var unknown Live

// Live is what was read last. It is not changed by the next reading, which has its own.
func (r *Reader) Live() *Live {
	if r == nil {
		return &unknown
	}
	return r.live
}

func (r *Reader) read(want []*Meter, last *Live, now time.Time) *Live {
	l := &Live{now, map[string][2]float64{}, map[string][2]float64{}}
	seconds := now.Sub(last.at).Seconds()
	for _, m := range want {
		got, ok := m.read(r)
		before, had := last.counters[m.ID]
		switch {
		case !ok:
		case !m.counts:
			l.figures[m.ID] = got
		case had:
			l.figures[m.ID] = [2]float64{rate(before[0], got[0], seconds), rate(before[1], got[1], seconds)}
			fallthrough
		default:
			l.counters[m.ID] = got
		}
	}
	return l
}

// rate is NaN where a counter ran backwards: a device has left.
func rate(before, now, seconds float64) float64 {
	if now < before || seconds <= 0 {
		return math.NaN()
	}
	return (now - before) / seconds
}

// physical keeps the names of a class of devices that stand for hardware. What is made of
// them (bridges, veth, loop, dm) would count the same bytes twice. Where none does, as in
// a container, all are kept.
func (r *Reader) physical(class string, names []string) []string {
	var real []string
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(r.sys, class, name, "device")); err == nil {
			real = append(real, name)
		}
	}
	if real == nil {
		return names
	}
	return real
}

// network is the bytes received and sent.
func (r *Reader) network() (bytes [2]float64, ok bool) {
	all, err := net.IOCountersWithContext(r.ctx, true)
	if err != nil {
		return bytes, false
	}
	var names []string
	for _, c := range all {
		if c.Name != "lo" {
			names = append(names, c.Name)
		}
	}
	names = r.physical("class/net", names)
	for _, c := range all {
		if slices.Contains(names, c.Name) {
			bytes[0] += float64(c.BytesRecv)
			bytes[1] += float64(c.BytesSent)
		}
	}
	return bytes, true
}

// disks is the bytes read and written.
func (r *Reader) disks() (bytes [2]float64, ok bool) {
	blocks, err := os.ReadDir(filepath.Join(r.sys, "block")) // partitions are not in it
	if err != nil || len(blocks) == 0 {
		return bytes, false
	}
	var names []string
	for _, b := range blocks {
		names = append(names, b.Name())
	}
	all, err := disk.IOCountersWithContext(r.ctx, r.physical("block", names)...)
	if err != nil {
		return bytes, false
	}
	for _, c := range all {
		bytes[0] += float64(c.ReadBytes)
		bytes[1] += float64(c.WriteBytes)
	}
	return bytes, true
}

// cpuSensors are the drivers of CPUs' sensors.
var cpuSensors = []string{"coretemp", "k10temp", "zenpower", "cpu_thermal", "cpu-thermal", "soc_thermal", "x86_pkg_temp", "acpitz"}

// hottest is the highest figure of the first of those drivers that has any.
func (r *Reader) hottest() (celsius [2]float64, ok bool) {
	all, _ := sensors.TemperaturesWithContext(r.ctx) // what could be read; the error counts the others
	for _, driver := range cpuSensors {
		for _, t := range all {
			if strings.HasPrefix(t.SensorKey, driver) {
				celsius[0] = max(celsius[0], t.Temperature)
			}
		}
		if celsius[0] > 0 {
			return celsius, true
		}
	}
	return celsius, false
}

// mostPolicies is how many CPUs' frequencies are read: reading one may interrupt its CPU.
const mostPolicies = 16

// frequency is the mean of the CPUs that share a setting (cpufreq), in GHz. gopsutil has
// the present frequency only where there is no cpufreq.
func (r *Reader) frequency() (ghz [2]float64, ok bool) {
	policies, _ := filepath.Glob(filepath.Join(r.sys, "devices/system/cpu/cpufreq/policy*/scaling_cur_freq"))
	var all []float64
	for i := 0; i < len(policies); i += 1 + len(policies)/mostPolicies {
		b, err := procfs.ReadFile(policies[i])
		khz, parseErr := strconv.ParseFloat(strings.TrimSpace(string(b)), 64)
		if err == nil && parseErr == nil {
			all = append(all, khz/1e6)
		}
	}
	if len(all) == 0 {
		cpus, _ := cpu.InfoWithContext(r.ctx)
		for _, c := range cpus {
			if c.Mhz > 0 {
				all = append(all, c.Mhz/1e3)
			}
		}
	}
	for _, f := range all {
		ghz[0] += f / float64(len(all))
	}
	return ghz, len(all) > 0
}
