package sample

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"piton/internal/cpuset"
	"piton/internal/procfs"
	"piton/internal/topology"
)

// userHZ is the unit of the times in /proc: USER_HZ is 100 on every
// architecture that piton is built for, whatever the kernel's own HZ.
const userHZ = 100

// memoryEvery is how often the memory is read. The kernel renews the averages of pressure
// as often (PSI_FREQ, kernel/sched/psi.c).
const memoryEvery = 2 * time.Second

// hostFacts reads what concerns the whole machine.
type hostFacts struct {
	r      *procfs.Reader
	name   string
	memory memory
	readAt time.Duration // of memory, when it is known

	psi   PSI
	psiAt time.Duration // of psi, when it is known
}

func newHostFacts(fs procfs.FS, r *procfs.Reader) *hostFacts {
	name, _ := fs.File("sys", "kernel", "hostname") // "" if it has none
	return &hostFacts{r: r, name: strings.TrimSpace(string(name))}
}

// read sets the parts of s.Host that cpuTimes does not.
func (h *hostFacts) read(s *Sample, needs *wanted) error {
	host := &s.Host
	host.Name, host.TicksPerSecond, host.PageBytes = h.name, userHZ, os.Getpagesize()
	err := errors.Join(h.readLoad(host), h.readUptime(host), h.readMemory(host, s.At))
	if needs.PSI {
		host.PSI = h.readPSI(s.At)
	}
	return err
}

// readPSI reads the pressure files, which a kernel without CONFIG_PSI, or with psi=0,
// does not have.
func (h *hostFacts) readPSI(at time.Duration) PSI {
	if h.psi.Have && at-h.psiAt < memoryEvery {
		return h.psi
	}
	h.psi, h.psiAt = PSI{}, at
	for name, v := range map[string]*float64{"cpu": &h.psi.CPU, "io": &h.psi.IO, "memory": &h.psi.Memory} {
		b, err := h.r.Host("pressure/" + name)
		if err == nil {
			*v, err = procfs.ParsePressure(b)
		}
		if err != nil {
			*v = math.NaN()
		}
		h.psi.Have = h.psi.Have || err == nil
	}
	return h.psi
}

func (h *hostFacts) readLoad(host *Host) error {
	b, err := h.r.Host("loadavg")
	if err != nil {
		return fmt.Errorf("/proc/loadavg: %w", err)
	}
	load, err := procfs.ParseLoadAvg(b)
	host.Load1, host.Load5, host.Load15 = load.Load1, load.Load5, load.Load15
	host.HaveLoad = err == nil
	return err
}

func (h *hostFacts) readUptime(host *Host) error {
	b, err := h.r.Host("uptime")
	if err != nil {
		return fmt.Errorf("/proc/uptime: %w", err)
	}
	host.Uptime, err = procfs.ParseUptime(b)
	return err
}

// memory is what is used of /proc/meminfo, in bytes, -1 for what it does not say.
type memory struct{ total, available, swap, swapFree int64 }

func (h *hostFacts) readMemory(host *Host, at time.Duration) error {
	if h.memory.total == 0 || at-h.readAt >= memoryEvery {
		b, err := h.r.Host("meminfo")
		if err != nil {
			return fmt.Errorf("/proc/meminfo: %w", err)
		}
		h.readAt = at
		m := &h.memory
		for name, v := range map[string]*int64{"MemTotal": &m.total, "MemAvailable": &m.available, "SwapTotal": &m.swap, "SwapFree": &m.swapFree} {
			if n, ok := topology.Meminfo(b, name); ok {
				*v = n
			} else {
				*v = -1
			}
		}
	}
	m := h.memory
	host.MemTotalBytes = uint64(max(m.total, 0))
	if host.HaveMemUsed = m.total > 0 && m.available >= 0 && m.available <= m.total; host.HaveMemUsed {
		host.MemUsedBytes = uint64(m.total - m.available)
	}
	if host.HaveSwap = m.swap >= 0; host.HaveSwap {
		host.SwapTotalBytes = uint64(m.swap)
	}
	if host.HaveSwapUsed = host.HaveSwap && m.swapFree >= 0 && m.swapFree <= m.swap; host.HaveSwapUsed {
		host.SwapUsedBytes = uint64(m.swap - m.swapFree)
	}
	if !host.HaveMemUsed || !host.HaveSwapUsed {
		return errors.New("/proc/meminfo: MemTotal, MemAvailable, SwapTotal or SwapFree is missing or malformed")
	}
	return nil
}

// cpuTimes reads /proc/stat.
type cpuTimes struct {
	fs       procfs.FS
	r        *procfs.Reader
	counters procfs.Counters // reused
	boot     time.Time       // as of the first sample that had it: the clock may be set later
	rows     rowNumbers
}

// read sets s.CPUs and the counters of the machine that stand in the same file. A CPU
// whose times are not known has a row without them.
func (c *cpuTimes) read(s *Sample) error {
	b, err := c.r.Host("stat")
	if err == nil {
		err = procfs.ParseCounters(b, &c.counters)
	}
	if err != nil {
		online, _ := c.fs.CPUList("online") // none, if it is not known
		s.CPUs = withoutTimes(online)
		return fmt.Errorf("/proc/stat: %w", err)
	}
	if c.boot.IsZero() && c.counters.BootTime > 0 && c.counters.BootTime < math.MaxInt32 {
		c.boot = time.Unix(int64(c.counters.BootTime), 0)
	}
	s.Host.Forks, s.Host.Switches, s.Host.Boot = c.counters.Forks, c.counters.Switches, c.boot
	s.CPUs = make([]CPU, 0, len(c.counters.CPUs)+len(c.counters.Lost))
	for _, t := range c.counters.CPUs {
		s.CPUs = append(s.CPUs, CPU{
			ID: t.CPU, UserTicks: t.User, NiceTicks: t.Nice, SystemTicks: t.System, IdleTicks: t.Idle,
			IOWaitTicks: t.IOWait, IRQTicks: t.IRQ, SoftIRQTicks: t.SoftIRQ, StealTicks: t.Steal,
			GuestTicks: t.Guest, GuestNiceTicks: t.GuestNice,
		})
	}
	for _, id := range c.counters.Lost {
		s.CPUs = append(s.CPUs, CPU{ID: id, NoTimes: true})
	}
	slices.SortFunc(s.CPUs, func(a, b CPU) int { return cmp.Compare(a.ID, b.ID) })
	s.CPUs, err = c.rows.match(c.fs, s.CPUs)
	return cmp.Or(err, c.counters.Odd)
}

func withoutTimes(cpus cpuset.Set) []CPU {
	var out []CPU
	for id := range cpus.All() {
		out = append(out, CPU{ID: id, NoTimes: true})
	}
	return out
}

// rowNumbers finds which CPUs the rows of /proc/stat are about. lxcfs keeps the machine's
// numbers and leaves out the CPUs that the container's cpuset does not have; with --enable-cfs
// it writes as many rows as the container's CPU limit comes to, numbered from 0, while tasks,
// masks and interrupts keep the machine's numbers. The times are the container's own.
type rowNumbers struct {
	fits    cpuset.Set // the rows were about these CPUs, found out before
	covered *bool      // something is mounted over /proc/stat; nil = not looked yet
	anew    bool       // they were numbered anew
}

func (r *rowNumbers) match(fs procfs.FS, rows []CPU) ([]CPU, error) {
	r.anew = false
	var b cpuset.Builder
	for i := range rows {
		b.Add(rows[i].ID)
	}
	ids := b.Set()
	if ids.Equal(r.fits) {
		return rows, nil
	}
	online, err := fs.CPUList("online")
	if err != nil {
		return rows, nil // nothing says otherwise
	}
	if r.covered == nil {
		mounts, _ := fs.File("self", "mountinfo") // without it: no
		covered := bytes.Contains(mounts, []byte(" "+fs.Path("stat")+" "))
		r.covered = &covered
	}
	if ids.SubsetOf(online) && !*r.covered {
		r.fits = ids
		return rows, nil
	}
	allowed := mayUse(fs)
	switch {
	case allowed.Equal(ids), ids.Equal(online) && allowed.SubsetOf(ids): // fewer rows than CPUs are shares of a limit
		r.fits = ids
		return rows, nil
	case allowed.Len() == len(rows) && int(ids.Last()) == len(rows)-1:
		i := 0
		for id := range allowed.All() {
			rows[i].ID = id
			i++
		}
		r.anew = true
		return rows, nil
	}
	return withoutTimes(online), fmt.Errorf("/proc/stat is made up (lxcfs?): it has CPUs %s, of which online are %s and usable %s: CPU load is unknown",
		ids, online, cmp.Or(allowed.String(), "unknown"))
}

// rung says how the rows were numbered, "" as they are.
func (r *rowNumbers) rung() string {
	switch {
	case r.anew:
		return "made up by lxcfs or the like: its rows are taken for the CPUs of PID 1, in shares of a CPU limit if there is one"
	case r.covered != nil && *r.covered:
		return "made up by lxcfs or the like: the time of this container alone"
	}
	return ""
}

// mayUse are the CPUs of PID 1, or of piton where PID 1 is hidden; none if neither is known.
func mayUse(fs procfs.FS) cpuset.Set {
	for _, pid := range []string{"1", "self"} {
		if b, err := fs.File(pid, "status"); err == nil {
			if st, _ := procfs.ParseStatus(b); !st.CPUsAllowed.Empty() {
				return st.CPUsAllowed
			}
		}
	}
	return cpuset.Set{}
}
