package demo

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"piton/internal/cpuset"
	"piton/internal/irq"
	"piton/internal/kernel/kernelfake"
	"piton/internal/tui/irqview"
)

// line is an interrupt line.
type line struct {
	number  int
	action  string
	chip    string
	control irq.Control
	device  irq.Device
	node    int
	rate    float64 // a second
	counts  []uint64
	cpu     cpuset.CPU // where it goes
	raised  uint64     // in this tick
	handler *task
}

// What one interrupt of a network card costs: in its handler, and afterwards.
const hardNs, softNs = 1500, 6000

// nic is the network interface, disk the first disk.
const nic, disk = "eth0", "nvme0"

func (m *Machine) addLines() {
	n := len(m.cpus)
	add := func(number int, action, chip string, control irq.Control, device irq.Device, rate float64, cpus cpuset.Set) {
		l := &line{number: number, action: action, chip: chip, control: control, device: device, rate: rate, counts: make([]uint64, n), node: -1}
		if device.Address != "" {
			l.node = 0
		}
		m.lines = append(m.lines, l)
		m.files.Put(irq.AffinityFile(number), cpus.String()+"\n")
		l.cpu = effective(l, cpus)
		l.counts[l.cpu] = uint64(rate * kernelfake.UpTime.Seconds() / 3)
	}
	add(0, "timer", "IO-APIC", irq.Fixed, irq.Device{}, 0, cpuset.Of(0))
	add(9, "acpi", "IO-APIC", irq.Settable, irq.Device{}, 0.5, m.all())
	add(27, "xhci_hcd", "PCI-MSI-0000:00:14.0", irq.Settable, irq.Device{Address: "0000:00:14.0", Driver: "xhci_hcd"}, 3, m.all())
	card := irq.Device{Address: "0000:3b:00.0", Driver: "ice", Names: []string{nic}}
	for q := range min(max(n/2, 2), 32) {
		rate := 900 + 350*float64(q%7)
		if q == 1 {
			rate = 21_000 // one flow that is much larger than the others
		}
		add(40+q, fmt.Sprintf("ice-%s-TxRx-%d", nic, q), "PCI-MSIX-"+card.Address, irq.Settable, card, rate, cpuset.Of(cpuset.CPU(q*2%n)))
		for file, text := range map[string]string{"rx-%d/rps_cpus": "0", "rx-%d/rps_flow_cnt": "0", "tx-%d/xps_cpus": cpuset.Of(cpuset.CPU(q % n)).Mask()} {
			m.files.Put(fmt.Sprintf("/sys/class/net/"+nic+"/queues/"+file, q), text+"\n")
		}
	}
	drive := irq.Device{Address: "0000:5e:00.0", Driver: "nvme", Names: []string{disk, disk + "n1"}}
	add(90, disk+"q0", "PCI-MSIX-"+drive.Address, irq.Settable, drive, 0.1, m.all())
	for q := range min(n, 32) {
		add(91+q, fmt.Sprintf("%sq%d", disk, q+1), "PCI-MSIX-"+drive.Address, irq.Managed, drive, 120+40*float64(q%5), cpuset.Of(cpuset.CPU(q*n/min(n, 32))))
	}
	m.files.Put(irq.DefaultAffinityFile, m.all().Mask()+"\n")
	for name, text := range map[string]string{"kernel/sched_rt_runtime_us": "950000", "kernel/sched_rt_period_us": "1000000",
		"kernel/sched_autogroup_enabled": "0", "kernel/numa_balancing": "0", "vm/swappiness": "60", "kernel/timer_migration": "1"} {
		m.files.Put("/proc/sys/"+name, text+"\n")
	}
}

// effective is the CPU that a line goes to, of those that it may go to.
func effective(l *line, cpus cpuset.Set) cpuset.CPU {
	list := cpus.CPUs()
	return list[l.number%len(list)]
}

// interrupt raises the interrupts of a tick.
func (m *Machine) interrupt(dt time.Duration) {
	seconds := m.count.Now.Seconds()
	for _, l := range m.lines {
		if set := m.requested(l).And(m.all()); !set.Empty() {
			l.cpu = effective(l, set)
		}
		l.raised = uint64(m.times(l.rate*(0.8+0.4*wave(seconds, float64(15+l.number%9), 0)), dt))
		if l.raised == 0 {
			continue
		}
		l.counts[l.cpu] += l.raised
		c := &m.cpus[l.cpu]
		c.irq += float64(l.raised) * hardNs / float64(dt)
		if l.device.Driver == "ice" {
			c.soft += float64(l.raised) * softNs / float64(dt)
		}
	}
}

// store is what the kernel makes of a text that is written to one of its files. The lock
// of the files is held, so that of the machine is not taken.
func (m *Machine) store(path, text string) (string, error) {
	text = strings.TrimSpace(text)
	for _, l := range m.lines {
		if path != irq.AffinityFile(l.number) {
			continue
		}
		set, err := cpuset.Parse(text)
		if err != nil || set.And(m.all()).Empty() {
			return "", fmt.Errorf("write %s: %w", path, syscall.EINVAL)
		}
		return set.String() + "\n", nil
	}
	return text + "\n", nil
}

// requested is what a line's file says.
func (m *Machine) requested(l *line) irq.Mask {
	return m.mask(irq.AffinityFile(l.number), cpuset.Parse)
}

func (m *Machine) mask(file string, parse func(string) (cpuset.Set, error)) irq.Mask {
	text, err := m.files.ReadSetting(file)
	set, parseErr := parse(text)
	return irq.Mask{Set: set, OK: errors.Join(err, parseErr) == nil}
}

// IRQTable reads the interrupts, with their rates over the last tick.
func (m *Machine) IRQTable() (irq.Table, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.snapshot()
	if m.irqLast == nil || s.At > m.irqLast.At {
		m.irqBefore = m.irqLast
	}
	m.irqLast = s
	return irq.Next(m.irqBefore, s), nil
}

func (m *Machine) snapshot() *irq.Snapshot {
	s := &irq.Snapshot{At: m.count.Now, CPUs: m.all().CPUs(), Default: m.mask(irq.DefaultAffinityFile, cpuset.ParseMask)}
	for _, l := range m.lines {
		row := irq.IRQ{Number: l.number, Counts: append([]uint64(nil), l.counts...), Requested: m.requested(l),
			Effective: irq.Mask{Set: cpuset.Of(l.cpu), OK: true}, Spurious: irq.Spurious{OK: true},
			Facts: irq.Facts{Text: l.chip + " " + l.action, Chip: l.chip, HWIRQ: fmt.Sprint(l.number), Type: "edge", Actions: []string{l.action},
				Node: l.node, Control: l.control, Device: l.device, Queue: irq.ParseQueue(l.action)}}
		if l.handler != nil {
			row.Threads = []irq.Thread{{TID: l.handler.TID, Comm: l.handler.ID.Comm}}
		}
		s.IRQs = append(s.IRQs, row)
	}
	named := func(name, text string, count func(c *cpu) uint64) irq.Named {
		out := irq.Named{Name: name, Text: text, Counts: make([]uint64, len(m.cpus))}
		for i := range m.cpus {
			out.Counts[i] = count(&m.cpus[i])
		}
		return out
	}
	s.Named = []irq.Named{
		named("LOC", "Local timer interrupts", func(c *cpu) uint64 { return uint64(m.count.Up().Seconds() * 250) }),
		named("RES", "Rescheduling interrupts", func(c *cpu) uint64 { return c.MigrationsIn * 3 / 2 }),
		named("CAL", "Function call interrupts", func(c *cpu) uint64 { return c.MigrationsOut / 2 }),
	}
	s.SoftIRQs = []irq.Named{
		named("TIMER", "", func(c *cpu) uint64 { return uint64(m.count.Now.Seconds() * 250) }),
		named("NET_RX", "", func(c *cpu) uint64 { return uint64(c.spent[soft] / softNs) }),
		named("SCHED", "", func(c *cpu) uint64 { return c.MigrationsIn * 2 }),
	}
	return s
}

// Movable says whether a line's affinity can be set.
func (m *Machine) Movable(number int) (movable, known bool) {
	for _, l := range m.lines {
		if l.number == number {
			return l.control == irq.Settable, true
		}
	}
	return false, false
}

// ways has packets of the card's queues handled where RFS finds their reader.
func ways(t *irq.Table) irqview.WayOf {
	return func(_ uint32, _, queue int) irq.Way {
		return irq.Way{Interface: nic, Device: nic, Via: irq.ViaRFS, Queue: queue, Line: t.QueueIRQ(nic, true, queue)}
	}
}

// NICs reads the network interface's queues.
func (m *Machine) NICs() []irq.NIC {
	mask := func(file string) irq.Mask { return m.mask(file, cpuset.ParseMask) }
	n := irq.NIC{Name: nic}
	for _, l := range m.lines {
		if q := irq.ParseQueue(l.action); l.device.Driver == "ice" {
			n.Device, n.Node = l.device, l.node
			n.Rx = append(n.Rx, irq.RxQueue{Index: q.Index, RPS: mask(irq.RPSFile(nic, q.Index))})
			n.Tx = append(n.Tx, irq.TxQueue{Index: q.Index, XPS: mask(fmt.Sprintf("/sys/class/net/%s/queues/tx-%d/xps_cpus", nic, q.Index))})
		}
	}
	return []irq.NIC{n}
}
