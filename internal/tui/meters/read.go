package meters

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"piton/internal/kernel/tree"
	"piton/internal/procfs"
)

// text returns a file below the root, "" if it cannot be read. What the kernel answers is no
// fault: there is no such file, its driver has nothing now.
func (r *Reader) text(path string, g *reading) string {
	b, err := procfs.ReadFile(filepath.Join(r.root, path))
	if _, answer := errors.AsType[syscall.Errno](err); err != nil && !answer {
		g.partial, g.fault = true, cmp.Or(g.fault, err.Error())
	}
	return strings.TrimSpace(string(b))
}

// odd leaves something out.
func (g *reading) odd(path, what, meter string) {
	g.partial = true
	g.fault = cmp.Or(g.fault, fmt.Sprintf("/%s: %s cut or malformed: the %s meter leaves out what is", path, what, meter))
}

// physical keeps the names of a class of devices that stand for hardware. What is made of
// them (bridges, veth, loop, dm) would count the same bytes twice. Where none does, as in
// a container, all are kept.
func (r *Reader) physical(class string, names []string) []string {
	var real []string
	for _, name := range names {
		if _, err := tree.Stat(filepath.Join(r.root, "sys", class, name, "device")); err == nil {
			real = append(real, name)
		}
	}
	if real == nil {
		return names
	}
	return real
}

// line is a device's line of a file: its name, "" if it cannot be told, and both counters,
// where they are sound.
type line struct {
	name  string
	value [2]float64
	sound bool
}

// counters reads the fields of a device's line that are in these places.
func (l *line) counters(fields []string, places [2]int) {
	l.sound = true
	for i, place := range places {
		n, err := strconv.ParseUint(strings.Join(fields[min(place, len(fields)):min(place+1, len(fields))], ""), 10, 64)
		l.value[i], l.sound = float64(n), l.sound && err == nil
	}
}

// sum takes in the lines of the devices that count.
func (g *reading) sum(lines []line, devicesOf func(names []string) []string, path, meter string) {
	var names []string
	for _, l := range lines {
		if l.name != "" {
			names = append(names, l.name)
		}
	}
	counted := devicesOf(names)
	g.counters = devices{}
	for i, l := range lines {
		switch {
		case l.name == "":
			g.odd(path, fmt.Sprintf("line %d is", i+1), meter)
		case !slices.Contains(counted, l.name):
		case !l.sound:
			g.odd(path, l.name+" is", meter)
		default:
			g.counters[l.name] = l.value
		}
	}
}

// network is the bytes received and sent (proc_pid_net(5), dev): two lines of headings, then
// "eth0: " and 16 numbers.
func (r *Reader) network() (g reading) {
	const path = "proc/net/dev"
	var lines []line
	for i, text := range strings.Split(r.text(path, &g), "\n") {
		if i < 2 {
			lines = append(lines, line{name: "lo"})
			continue
		}
		var l line
		if colon := strings.LastIndexByte(text, ':'); colon > 0 { // an alias has one in its name
			l.name = strings.TrimSpace(text[:colon])
			l.counters(strings.Fields(text[colon+1:]), [2]int{0, 8})
		}
		lines = append(lines, l)
	}
	if len(lines) < 2 {
		return g
	}
	g.sum(lines, func(names []string) []string {
		return r.physical("class/net", slices.DeleteFunc(names, func(name string) bool { return name == "lo" }))
	}, path, "network")
	return g
}

// sectorBytes is the unit of diskstats, whatever the disk's own sectors are.
const sectorBytes = 512

// disks is the bytes read and written (Documentation/admin-guide/iostats.rst).
func (r *Reader) disks() (g reading) {
	const path = "proc/diskstats"
	blocks, err := tree.Names(filepath.Join(r.root, "sys/block")) // partitions are not in it
	text := r.text(path, &g)
	if err != nil || len(blocks) == 0 || text == "" {
		return g
	}
	var lines []line
	for text := range strings.SplitSeq(text, "\n") {
		var l line
		if fields := strings.Fields(text); len(fields) > 2 {
			l.name = fields[2]
			l.counters(fields, [2]int{5, 9})
			l.value[0], l.value[1] = l.value[0]*sectorBytes, l.value[1]*sectorBytes
		}
		lines = append(lines, l)
	}
	g.sum(lines, func([]string) []string { return r.physical("block", blocks) }, path, "disk")
	return g
}

// cpuSensors are the drivers of CPUs' sensors.
var cpuSensors = []string{"coretemp", "k10temp", "zenpower", "cpu_thermal", "cpu-thermal", "soc_thermal", "x86_pkg_temp", "acpitz"}

// mostCelsius is more than any CPU survives.
const mostCelsius = 250

// hottest is the highest figure of the first of those drivers that has any
// (Documentation/hwmon/sysfs-interface.rst; without hwmon, thermal/sysfs-api.rst).
func (r *Reader) hottest() (g reading) {
	sensors := r.sensors("sys/class/hwmon/hwmon*", "name", "temp*_input", "device/temp*_input")
	if len(sensors) == 0 {
		sensors = r.sensors("sys/class/thermal/thermal_zone*", "type", "temp")
	}
	for _, driver := range cpuSensors {
		for _, s := range sensors {
			if !strings.HasPrefix(s.driver, driver) {
				continue
			}
			text := r.text(s.path, &g)
			if text == "" {
				continue
			}
			milli, err := strconv.ParseInt(text, 10, 64)
			if celsius := float64(milli) / 1000; err == nil && celsius <= mostCelsius {
				g.figure[0], g.known = max(g.figure[0], celsius), g.known || celsius > 0
			} else {
				g.odd(s.path, "it is", "temperature")
			}
		}
		if g.known {
			break
		}
	}
	return g
}

// sensor is a file with a temperature, below the root.
type sensor struct{ driver, path string }

// sensors lists those of the directories that a pattern means; the first pattern of files that
// fits any counts.
func (r *Reader) sensors(dirs, name string, files ...string) (out []sensor) {
	for _, pattern := range files {
		for _, path := range tree.Glob(r.root, dirs+"/"+pattern) {
			path, _ = filepath.Rel(r.root, path)
			dir := filepath.Join(strings.Split(path, "/")[:strings.Count(dirs, "/")+1]...)
			out = append(out, sensor{r.text(dir+"/"+name, &reading{}), path})
		}
		if len(out) > 0 {
			break
		}
	}
	return out
}

// mostPolicies is how many CPUs' frequencies are read: reading one may interrupt its CPU.
const mostPolicies = 16

// frequency is the mean of the CPUs that share a setting (cpufreq), in GHz; where there is no
// cpufreq, of the CPUs in /proc/cpuinfo.
func (r *Reader) frequency() (g reading) {
	var all []float64
	add := func(path, what, text string, perGHz float64) {
		f, err := strconv.ParseFloat(text, 64)
		if err == nil && f > 0 && !math.IsInf(f, 0) {
			all = append(all, f/perGHz)
		} else if text != "" {
			g.odd(path, what+" is", "frequency")
		}
	}
	policies := tree.Glob(r.root, "sys/devices/system/cpu/cpufreq/policy*/scaling_cur_freq")
	for i := 0; i < len(policies); i += 1 + len(policies)/mostPolicies {
		path, _ := filepath.Rel(r.root, policies[i])
		add(path, "it", r.text(path, &g), 1e6) // kHz
	}
	if len(all) == 0 {
		const path = "proc/cpuinfo"
		for text := range strings.SplitSeq(r.text(path, &g), "\n") {
			name, value, _ := strings.Cut(text, ":")
			switch name = strings.TrimSpace(name); name {
			case "cpu MHz", "cpu MHz dynamic", "clock": // x86, s390, powerpc
				add(path, name, strings.TrimSuffix(strings.TrimSpace(value), "MHz"), 1e3)
			}
		}
	}
	for _, f := range all {
		g.figure[0] += f / float64(len(all))
	}
	g.known = len(all) > 0
	return g
}
