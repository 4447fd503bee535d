package procfs

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"time"
)

// CPULimit is how much CPU time the tasks of a cgroup get in a period
// (Documentation/scheduler/sched-bwc.rst). Quota 0 is no limit.
type CPULimit struct{ Quota, Period, Burst time.Duration }

// CPUs is the limit in CPUs, 0 for none.
func (l CPULimit) CPUs() float64 {
	if l.Quota <= 0 || l.Period <= 0 {
		return 0
	}
	return float64(l.Quota) / float64(l.Period)
}

// CPULimit reads cpu.max and cpu.max.burst of a cgroup, of version 1 cpu.cfs_*_us. A group without
// the files has no limit of its own; the burst came with Linux 5.14.
func (m CgroupMount) CPULimit(path string) (CPULimit, error) {
	names := []string{"cpu.max", "cpu.max.burst"}
	if !m.Unified {
		names = []string{"cpu.cfs_quota_us", "cpu.cfs_period_us", "cpu.cfs_burst_us"}
	}
	var words []string
	for i, name := range names {
		b, err := readFile(m.File(path, name))
		if err != nil && i < len(names)-1 {
			return CPULimit{}, err
		}
		words = append(words, strings.Fields(string(b))...)
	}
	return ParseCPULimit(strings.Join(words, " "))
}

// ParseCPULimit parses quota, period and burst in µs. The quota is "max", or -1, for no limit; the
// burst may be left out.
func ParseCPULimit(text string) (l CPULimit, err error) {
	words := strings.Fields(text)
	if len(words) < 2 || len(words) > 3 {
		return l, malformed("cpu.max", []byte(text))
	}
	for i, to := range []*time.Duration{&l.Quota, &l.Period, &l.Burst}[:len(words)] {
		if i == 0 && words[i] == "max" {
			continue
		}
		us, err := strconv.ParseInt(words[i], 10, 64)
		if err != nil || us > int64(1<<62/time.Microsecond) {
			return CPULimit{}, malformed("cpu.max", []byte(text))
		}
		*to = time.Duration(max(us, 0)) * time.Microsecond
	}
	return l, nil
}

// CPUStat is what the tasks of a cgroup have used since it was made, and how its limit kept them.
type CPUStat struct {
	Used          time.Duration
	Periods       uint64        // in which the group had something to run, 0 without a limit of its own
	Throttled     uint64        // of them
	ThrottledTime time.Duration // summed over run queues, not over tasks
}

// Since is what has come since an earlier reading.
func (st CPUStat) Since(before CPUStat) CPUStat {
	return CPUStat{Used: max(st.Used-before.Used, 0), Periods: st.Periods - min(before.Periods, st.Periods),
		Throttled: st.Throttled - min(before.Throttled, st.Throttled), ThrottledTime: max(st.ThrottledTime-before.ThrottledTime, 0)}
}

// Plus is the sum of what came in two spans of time.
func (st CPUStat) Plus(more CPUStat) CPUStat {
	return CPUStat{Used: st.Used + more.Used, Periods: st.Periods + more.Periods, Throttled: st.Throttled + more.Throttled,
		ThrottledTime: st.ThrottledTime + more.ThrottledTime}
}

// CPUStat reads cpu.stat of a cgroup, of version 1 with cpuacct.usage where that is mounted together.
func (m CgroupMount) CPUStat(path string) (CPUStat, error) {
	b, err := readFile(m.File(path, "cpu.stat"))
	if err != nil {
		return CPUStat{}, err
	}
	st := ParseCPUStat(b)
	if used, err := m.Number(path, "cpuacct.usage"); err == nil && !m.Unified {
		st.Used = time.Duration(used)
	}
	return st, nil
}

// ParseCPUStat parses cpu.stat of either version; version 1 has ns.
func ParseCPUStat(b []byte) (st CPUStat) {
	for line := range bytes.Lines(b) {
		s := scan(line)
		key := string(s.word())
		n := s.uint()
		switch {
		case !s.ok:
		case key == "usage_usec":
			st.Used = time.Duration(n) * time.Microsecond
		case key == "nr_periods":
			st.Periods = n
		case key == "nr_throttled":
			st.Throttled = n
		case key == "throttled_usec":
			st.ThrottledTime = time.Duration(n) * time.Microsecond
		case key == "throttled_time":
			st.ThrottledTime = time.Duration(n)
		}
	}
	return st
}

// CPUStalled reads how long some task of a cgroup has waited for a CPU, from its cpu.pressure
// (Documentation/accounting/psi.rst); version 1 has none.
func (m CgroupMount) CPUStalled(path string) (time.Duration, error) {
	b, err := readFile(m.File(path, "cpu.pressure"))
	if err != nil {
		return 0, err
	}
	return ParseStalled(b)
}

var errNoStall = errors.New("pressure file without a total of some")

// ParseStalled parses the total of the line "some" of a pressure file.
func ParseStalled(b []byte) (time.Duration, error) {
	for line := range bytes.Lines(b) {
		text, some := bytes.CutPrefix(line, []byte("some "))
		_, total, found := bytes.Cut(text, []byte("total="))
		if us, err := strconv.ParseInt(string(bytes.TrimSpace(total)), 10, 64); some && found && err == nil && us >= 0 {
			return time.Duration(us) * time.Microsecond, nil
		}
	}
	return 0, errNoStall
}
