package sample

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/shirou/gopsutil/v4/common"
	"github.com/shirou/gopsutil/v4/mem"

	"piton/internal/procfs"
)

// userHZ is the unit of the times in /proc: USER_HZ is 100 on every
// architecture that piton is built for, whatever the kernel's own HZ.
const userHZ = 100

// memoryEvery is how often the memory is read: gopsutil's parser makes some
// 170 allocations. The kernel renews the averages of pressure as often (PSI_FREQ,
// kernel/sched/psi.c).
const memoryEvery = 2 * time.Second

// hostFacts reads what concerns the whole machine. Only functions of gopsutil
// that keep to the files below the root are used: its swap, uptime and host
// information ask this machine's kernel whatever the root.
type hostFacts struct {
	fs     procfs.FS
	r      *procfs.Reader
	ctx    context.Context
	name   string
	memory *mem.VirtualMemoryStat
	readAt time.Duration // of memory

	psi   PSI
	psiAt time.Duration // of psi, when it is known
}

func newHostFacts(fs procfs.FS, r *procfs.Reader) *hostFacts {
	h := &hostFacts{fs: fs, r: r}
	h.ctx = context.WithValue(context.Background(), common.EnvKey,
		common.EnvMap{common.HostProcEnvKey: fs.Path()})
	name, _ := fs.File("sys", "kernel", "hostname") // "" if it has none
	h.name = strings.TrimSpace(string(name))
	return h
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
	h.psi, h.psiAt = PSI{Have: true}, at
	for name, v := range map[string]*float64{"cpu": &h.psi.CPU, "io": &h.psi.IO, "memory": &h.psi.Memory} {
		b, err := h.r.Host("pressure/" + name)
		if err == nil {
			*v, err = procfs.ParsePressure(b)
		}
		if err != nil {
			h.psi = PSI{}
			break
		}
	}
	return h.psi
}

func (h *hostFacts) readLoad(host *Host) error {
	b, err := h.r.Host("loadavg")
	if err != nil {
		return err
	}
	load, err := procfs.ParseLoadAvg(b)
	host.Load1, host.Load5, host.Load15 = load.Load1, load.Load5, load.Load15
	return err
}

func (h *hostFacts) readUptime(host *Host) error {
	b, err := h.r.Host("uptime")
	if err != nil {
		return err
	}
	host.Uptime, err = procfs.ParseUptime(b)
	return err
}

func (h *hostFacts) readMemory(host *Host, at time.Duration) error {
	if h.memory == nil || at-h.readAt >= memoryEvery {
		m, err := mem.VirtualMemoryWithContext(h.ctx)
		if err != nil {
			return err
		}
		h.memory, h.readAt = m, at
	}
	m := h.memory
	host.MemTotalBytes, host.MemUsedBytes = m.Total, m.Total-min(m.Available, m.Total)
	host.SwapTotalBytes, host.SwapUsedBytes = m.SwapTotal, m.SwapTotal-min(m.SwapFree, m.SwapTotal)
	return nil
}

// cpuTimes reads /proc/stat.
type cpuTimes struct {
	r        *procfs.Reader
	counters procfs.Counters // reused
}

// read sets s.CPUs and the counters of the machine that stand in the same file.
func (c *cpuTimes) read(s *Sample) error {
	b, err := c.r.Host("stat")
	if err != nil {
		return err
	}
	if err := procfs.ParseCounters(b, &c.counters); err != nil {
		return err
	}
	s.Host.Forks, s.Host.Switches = c.counters.Forks, c.counters.Switches
	s.CPUs = make([]CPU, len(c.counters.CPUs))
	for i, t := range c.counters.CPUs {
		s.CPUs[i] = CPU{
			ID: t.CPU, UserTicks: t.User, NiceTicks: t.Nice, SystemTicks: t.System, IdleTicks: t.Idle,
			IOWaitTicks: t.IOWait, IRQTicks: t.IRQ, SoftIRQTicks: t.SoftIRQ, StealTicks: t.Steal,
			GuestTicks: t.Guest, GuestNiceTicks: t.GuestNice,
		}
	}
	slices.SortFunc(s.CPUs, func(a, b CPU) int { return cmp.Compare(a.ID, b.ID) })
	return nil
}
