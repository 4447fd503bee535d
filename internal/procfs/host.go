package procfs

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"time"

	"piton/internal/kernel"
)

// LoadAvg is /proc/loadavg (proc_loadavg(5)).
type LoadAvg struct {
	Load1, Load5, Load15 float64
	Running, Tasks       uint64     // scheduling entities runnable now, and in all
	LastPID              kernel.TID // the number given out last in this PID namespace
}

// ReleaseAtLeast reports whether the kernel's release, in /proc/sys/kernel/osrelease, is
// known and this one or newer.
func ReleaseAtLeast(fs interface {
	File(elem ...string) ([]byte, error)
}, major, minor int) bool {
	release, err := fs.File("sys", "kernel", "osrelease")
	order, known := kernel.CompareRelease(string(release), major, minor)
	return err == nil && known && order >= 0
}

// LoadAvg reads /proc/loadavg.
func (f FS) LoadAvg() (LoadAvg, error) {
	b, err := f.File("loadavg")
	if err != nil {
		return LoadAvg{}, err
	}
	return ParseLoadAvg(b)
}

// ParseLoadAvg parses /proc/loadavg.
func ParseLoadAvg(b []byte) (LoadAvg, error) {
	var l LoadAvg
	s := scan(b)
	for _, load := range []*float64{&l.Load1, &l.Load5, &l.Load15} {
		*load = float64(s.hundredths()) / 100
	}
	l.Running = s.uint()
	s.expect('/')
	l.Tasks = s.uint()
	l.LastPID = s.tid()
	if !s.ok {
		return LoadAvg{}, malformed("loadavg", b)
	}
	return l, nil
}

// ParsePressure parses /proc/pressure/cpu, io or memory (Documentation/accounting/psi.rst)
// into the share of the last 10 s in which some task waited for it, in percent.
func ParsePressure(b []byte) (float64, error) {
	s := scan(b)
	ok := string(s.word()) == "some"
	s.spaces()
	for _, c := range []byte("avg10=") {
		s.expect(c)
	}
	avg := s.hundredths()
	if !s.ok || !ok {
		return 0, malformed("pressure", b)
	}
	return float64(avg) / 100, nil
}

// hundredths reads a number with two decimals, in units of the last.
func (s *scanner) hundredths() uint64 {
	const most = 1 << 50
	whole := s.uint()
	s.expect('.')
	start := s.i
	if !s.ok || whole > most {
		s.ok = false
		return 0
	}
	part := s.uint()
	s.ok = s.ok && s.i-start == 2
	return whole*100 + part
}

func (s *scanner) expect(c byte) {
	if s.i >= len(s.b) || s.b[s.i] != c {
		s.ok = false
		return
	}
	s.i++
}

// BootID reads /proc/sys/kernel/random/boot_id, which is new at every boot.
func (f FS) BootID() (string, error) {
	b, err := f.File("sys", "kernel", "random", "boot_id")
	return strings.TrimSpace(string(b)), err
}

// ParseUptime parses /proc/uptime, the time since boot.
func ParseUptime(b []byte) (time.Duration, error) {
	s := scan(b)
	up := s.hundredths()
	if !s.ok || up > uint64(math.MaxInt64/(10*time.Millisecond)) {
		return 0, malformed("uptime", b)
	}
	return time.Duration(up) * 10 * time.Millisecond, nil
}

// ParseUptimeTicks parses /proc/uptime in the unit of Stat.StartTicks.
func ParseUptimeTicks(b []byte) (uint64, error) {
	const tick = 10 * time.Millisecond // USER_HZ is 100 on all machines that Go has Linux for
	up, err := ParseUptime(b)
	return uint64(up / tick), err
}

// Sysctl reads a file of /proc/sys that holds one number, such as
// "kernel/perf_event_paranoid".
func (f FS) Sysctl(name string) (int64, error) {
	b, err := f.File("sys", name)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(string(bytes.TrimSpace(b)), 10, 64)
	if err != nil {
		return 0, malformed(name, b)
	}
	return n, nil
}

// Autogroup reads /proc/PID/autogroup: the task group that sched_autogroup put
// the process's session in, and that group's nice value (sched(7)). Kernels
// without CONFIG_SCHED_AUTOGROUP have no such file; tasks in no group read as "".
func (f FS) Autogroup(pid kernel.TID) (name string, nice int, err error) {
	b, err := f.task(pid, 0, "autogroup")
	if err != nil {
		return "", 0, err
	}
	return ParseAutogroup(b)
}

// ParseAutogroup parses "/autogroup-12 nice 0\n".
func ParseAutogroup(b []byte) (name string, nice int, err error) {
	if len(bytes.TrimSpace(b)) == 0 {
		return "", 0, nil
	}
	s := scan(b)
	name = string(s.word())
	ok := string(s.word()) == "nice"
	nice = int(s.between(-20, 19))
	if !s.ok || !ok {
		return "", 0, malformed("autogroup", b)
	}
	return name, nice, nil
}
