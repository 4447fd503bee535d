package procfs

import (
	"bytes"
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

// Counters is what piton uses of /proc/stat.
type Counters struct {
	CPUs     []CPUTimes // in the file's order; offline CPUs are absent
	Switches uint64     // "ctxt"
	BootTime uint64     // "btime", seconds since 1970
	Forks    uint64     // "processes": tasks created since boot, threads included
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

// ParseCounters parses /proc/stat into c, reusing the memory of c.CPUs.
func ParseCounters(b []byte, c *Counters) error {
	*c = Counters{CPUs: c.CPUs[:0]}
	for len(b) > 0 {
		end := bytes.IndexByte(b, '\n') + 1
		if end == 0 {
			end = len(b)
		}
		s := scan(b[:end])
		b = b[end:]
		switch key := s.word(); {
		case strings.HasPrefix(string(key), "cpu"):
			if len(key) > len("cpu") {
				c.CPUs = append(c.CPUs, s.cpuTimes(key))
			}
		case string(key) == "ctxt":
			c.Switches = s.uint()
		case string(key) == "btime":
			c.BootTime = s.uint()
		case string(key) == "processes":
			c.Forks = s.uint()
		}
		if !s.ok {
			return malformed("/proc/stat", s.b)
		}
	}
	if len(c.CPUs) == 0 {
		return malformed("/proc/stat", b)
	}
	return nil
}

func (s *scanner) cpuTimes(key []byte) CPUTimes {
	id := scan(key[len("cpu"):])
	t := CPUTimes{CPU: cpuset.CPU(id.between(0, int64(cpuset.MaxCPU)))}
	s.ok = s.ok && id.ok
	for _, v := range []*uint64{&t.User, &t.Nice, &t.System, &t.Idle, &t.IOWait,
		&t.IRQ, &t.SoftIRQ, &t.Steal, &t.Guest, &t.GuestNice} {
		if s.more() { // the later columns came with later kernels
			*v = s.uint()
		}
	}
	return t
}
