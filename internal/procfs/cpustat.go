package procfs

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"piton/internal/cpuset"
)

// CPUTimes is one cpuN line of /proc/stat in USER_HZ ticks since boot
// (proc_stat(5)); User contains Guest, and Nice contains GuestNice.
type CPUTimes struct {
	CPU                                            cpuset.CPU
	User, Nice, System, Idle, IOWait, IRQ, SoftIRQ uint64
	Steal, Guest, GuestNice                        uint64
}

// Counters is what piton uses of /proc/stat. A line that is not as the kernel writes
// it takes nothing else with it.
type Counters struct {
	CPUs     []CPUTimes   // in the file's order, of whole rows; offline CPUs are absent
	Lost     []cpuset.CPU // whose row is not whole
	Switches uint64       // "ctxt"; 0 unknown
	BootTime uint64       // "btime", seconds since 1970; 0 unknown
	Forks    uint64       // "processes": tasks created since boot, threads included; 0 unknown
	Odd      error        // the first line that could not be used
}

// Counters reads /proc/stat.
func (f FS) Counters() (Counters, error) {
	var c Counters
	b, err := f.File("stat")
	if err != nil {
		return c, err
	}
	return c, ParseCounters(b, &c)
}

// ParseCounters parses /proc/stat into c, reusing the memory of its slices. It is an
// error if there is no row of a CPU at all.
func ParseCounters(b []byte, c *Counters) error {
	*c = Counters{CPUs: c.CPUs[:0], Lost: c.Lost[:0]}
	rows := cpuRows{width: minCPUColumns}
	for line := range bytes.Lines(b) {
		s := scan(line)
		switch key := s.word(); {
		case string(key) == "cpu":
			rows.sum = len(bytes.Fields(line)) - 1
		case strings.HasPrefix(string(key), "cpu"):
			s.ok = rows.add(c, &s, key)
		case string(key) == "ctxt":
			c.Switches = s.last()
		case string(key) == "btime":
			c.BootTime = s.last()
		case string(key) == "processes":
			c.Forks = s.last() // negative where an old kernel counted beyond 2^31
		default:
			continue
		}
		if !s.ok && c.Odd == nil {
			c.Odd = malformed("/proc/stat", line)
		}
	}
	rows.cut(c)
	if len(c.CPUs)+len(c.Lost) == 0 {
		return malformed("/proc/stat", b)
	}
	return nil
}

// A row has 4 columns on the oldest kernels and 10 since 2.6.33 (proc_stat(5)); lxcfs
// writes 8 or 10.
const minCPUColumns, maxCPUColumns = 4, 10

// cpuRows are the rows of CPUs so far. All rows of a file have as many columns.
type cpuRows struct {
	widths []int // of c.CPUs
	width  int   // of the longest
	sum    int   // of the row for all CPUs
}

func (r *cpuRows) add(c *Counters, s *scanner, key []byte) bool {
	id := scan(key[len("cpu"):])
	t := CPUTimes{CPU: cpuset.CPU(id.between(0, int64(cpuset.MaxCPU)))}
	if !id.ended() || c.has(t.CPU) {
		return false // of no CPU, or one too many: the first one is taken
	}
	n := 0
	for _, v := range []*uint64{&t.User, &t.Nice, &t.System, &t.Idle, &t.IOWait,
		&t.IRQ, &t.SoftIRQ, &t.Steal, &t.Guest, &t.GuestNice} {
		if s.more() {
			*v = s.uint()
			n++
		}
	}
	if !s.ended() || s.i == len(s.b) { // without its newline the last number may be cut
		c.Lost = append(c.Lost, t.CPU)
		return false
	}
	r.width = max(r.width, n)
	c.CPUs, r.widths = append(c.CPUs, t), append(r.widths, n)
	return true
}

// has reports whether there was a row of the CPU; the rows are in rising order.
func (c *Counters) has(id cpuset.CPU) bool {
	n := len(c.CPUs)
	return slices.Contains(c.Lost, id) || n > 0 && id <= c.CPUs[n-1].CPU &&
		slices.ContainsFunc(c.CPUs, func(t CPUTimes) bool { return t.CPU == id })
}

// cut takes out the rows that are shorter than others.
func (r *cpuRows) cut(c *Counters) {
	if len(c.CPUs) == 1 { // which has only the sum beside it
		r.width = max(r.width, min(r.sum, maxCPUColumns))
	}
	whole := c.CPUs[:0]
	for i, t := range c.CPUs {
		if r.widths[i] == r.width {
			whole = append(whole, t)
			continue
		}
		c.Lost = append(c.Lost, t.CPU)
		if c.Odd == nil {
			c.Odd = fmt.Errorf("malformed /proc/stat: the row of cpu%d is cut", t.CPU)
		}
	}
	c.CPUs = whole
}
