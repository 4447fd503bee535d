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
)

// Live is what no sample has; what is not known is NaN.
type Live struct {
	RxPerS, TxPerS      float64 // bytes
	ReadPerS, WritePerS float64 // bytes
	Celsius             float64
	GHz                 float64
}

// Unknown is Live before anything was read.
func Unknown() *Live {
	nan := math.NaN()
	return &Live{nan, nan, nan, nan, nan, nan}
}

var unknown = Unknown()

// Msg delivers what a command of Reader has read; it is given back to Take.
type Msg struct {
	live *Live
	last counters
}

// counters are those of the machine at one moment.
type counters struct {
	at                    time.Time
	rx, tx, reads, writes uint64 // bytes
	haveNet, haveDisk     bool
}

// Reader reads with gopsutil. Its commands run beside the screen, one at a time.
type Reader struct {
	proc, sys string
	ctx       context.Context

	live  *Live
	last  counters
	began time.Time // the last reading
	busy  bool
}

// NewReader reads of the host whose tree is below root.
func NewReader(root string) *Reader {
	r := &Reader{proc: filepath.Join("/", root, "proc"), sys: filepath.Join("/", root, "sys"), live: unknown}
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
	want := map[string]bool{}
	for _, m := range Chosen(ids) {
		if m.live {
			want[m.ID] = true
		}
	}
	if r == nil || len(want) == 0 || r.busy || now.Sub(r.began) < every-slack {
		return nil
	}
	r.busy, r.began = true, now
	last := r.last
	return func() tea.Msg { return r.read(want, last, now) }
}

// Take keeps what was read.
func (r *Reader) Take(m Msg) { r.live, r.last, r.busy = m.live, m.last, false }

// Live is what was read last. It is not changed by the next reading, which has its own.
func (r *Reader) Live() *Live {
	if r == nil {
		return unknown
	}
	return r.live
}

func (r *Reader) read(want map[string]bool, last counters, now time.Time) Msg {
	m := Msg{live: Unknown(), last: counters{at: now}}
	c, l := &m.last, m.live
	if want["network"] {
		c.rx, c.tx, c.haveNet = r.network()
	}
	if want["disk"] {
		c.reads, c.writes, c.haveDisk = r.disks()
	}
	seconds := now.Sub(last.at).Seconds()
	if c.haveNet && last.haveNet {
		l.RxPerS, l.TxPerS = rate(last.rx, c.rx, seconds), rate(last.tx, c.tx, seconds)
	}
	if c.haveDisk && last.haveDisk {
		l.ReadPerS, l.WritePerS = rate(last.reads, c.reads, seconds), rate(last.writes, c.writes, seconds)
	}
	if want["temperature"] {
		l.Celsius = r.hottest()
	}
	if want["frequency"] {
		l.GHz = r.frequency()
	}
	return m
}

// rate is NaN where a counter ran backwards: a device has left.
func rate(before, now uint64, seconds float64) float64 {
	if now < before || seconds <= 0 {
		return math.NaN()
	}
	return float64(now-before) / seconds
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

func (r *Reader) network() (rx, tx uint64, ok bool) {
	all, err := net.IOCountersWithContext(r.ctx, true)
	if err != nil {
		return 0, 0, false
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
			rx, tx = rx+c.BytesRecv, tx+c.BytesSent
		}
	}
	return rx, tx, true
}

func (r *Reader) disks() (reads, writes uint64, ok bool) {
	blocks, err := os.ReadDir(filepath.Join(r.sys, "block")) // partitions are not in it
	if err != nil || len(blocks) == 0 {
		return 0, 0, false
	}
	var names []string
	for _, b := range blocks {
		names = append(names, b.Name())
	}
	all, err := disk.IOCountersWithContext(r.ctx, r.physical("block", names)...)
	if err != nil {
		return 0, 0, false
	}
	for _, c := range all {
		reads, writes = reads+c.ReadBytes, writes+c.WriteBytes
	}
	return reads, writes, true
}

// cpuSensors are the drivers of CPUs' sensors.
var cpuSensors = []string{"coretemp", "k10temp", "zenpower", "cpu_thermal", "cpu-thermal", "soc_thermal", "x86_pkg_temp", "acpitz"}

// hottest is the highest figure of the first of those drivers that has any.
func (r *Reader) hottest() float64 {
	all, _ := sensors.TemperaturesWithContext(r.ctx) // what could be read; the error counts the others
	for _, driver := range cpuSensors {
		most := math.Inf(-1)
		for _, t := range all {
			if strings.HasPrefix(t.SensorKey, driver) && t.Temperature > 0 {
				most = max(most, t.Temperature)
			}
		}
		if most > 0 {
			return most
		}
	}
	return math.NaN()
}

// mostPolicies is how many CPUs' frequencies are read: reading one may interrupt its CPU.
const mostPolicies = 16

// frequency is the mean of the CPUs that share a setting (cpufreq), in GHz. gopsutil has
// the present frequency only where there is no cpufreq.
func (r *Reader) frequency() float64 {
	policies, _ := filepath.Glob(filepath.Join(r.sys, "devices/system/cpu/cpufreq/policy*/scaling_cur_freq"))
	sum, n := 0.0, 0
	for i := 0; i < len(policies); i += 1 + len(policies)/mostPolicies {
		b, err := os.ReadFile(policies[i])
		khz, parseErr := strconv.ParseFloat(strings.TrimSpace(string(b)), 64)
		if err == nil && parseErr == nil {
			sum, n = sum+khz/1e6, n+1
		}
	}
	if n > 0 {
		return sum / float64(n)
	}
	all, err := cpu.InfoWithContext(r.ctx)
	if err != nil {
		return math.NaN()
	}
	for _, c := range all {
		if c.Mhz > 0 {
			sum, n = sum+c.Mhz/1e3, n+1
		}
	}
	if n == 0 {
		return math.NaN()
	}
	return sum / float64(n)
}
