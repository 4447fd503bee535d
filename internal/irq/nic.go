package irq

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"piton/internal/kernel/tree"
	"piton/internal/pattern"
	"piton/internal/procfs"
)

// NIC is a network interface and its queues
// (Documentation/networking/scaling.rst).
type NIC struct {
	Name string
	Device
	Node int // -1 unknown
	Rx   []RxQueue
	Tx   []TxQueue
}

// RxQueue is a queue of packets that came in.
type RxQueue struct {
	Index int
	// RPS are the CPUs that the packets' processing is spread over; empty: they
	// are processed on the CPU that took the interrupt.
	RPS Mask
	// Flows is rps_flow_cnt, the flows that RFS steers to their consumers' CPUs;
	// 0 is off, -1 unknown.
	Flows int
}

// TxQueue is a queue of packets to be sent.
type TxQueue struct {
	Index int
	// XPS are the CPUs whose packets take this queue; not OK on an interface
	// with a single queue, which has nothing to choose.
	XPS Mask
}

// FlowEntries reads rps_sock_flow_entries, the size of the table that RFS looks
// flows up in; 0 means that RFS is off whatever the queues say, -1 unknown.
func (f FS) FlowEntries() int {
	return readNumber(f.proc.Path("sys", "net", "core", "rps_sock_flow_entries"), -1)
}

// NICs reads the network interfaces of the root's network namespace that have a
// device, in the order of their names.
func (f FS) NICs() []NIC {
	var nics []NIC
	for _, name := range list(f.sys("class", "net")) {
		if _, err := tree.Stat(f.sys("class", "net", name, "device")); err != nil {
			continue
		}
		nics = append(nics, f.nic(name))
	}
	return nics
}

// Interface reads any interface of the root's network namespace, lo and one end of a veth
// pair as well: those have no driver.
func (f FS) Interface(name string) (nic NIC, there bool) {
	if name == "" || strings.ContainsRune(name, '/') || f.Link(name).Index == 0 {
		return nic, false
	}
	return f.nic(name), true
}

// Link is what can become of an interface at any time.
type Link struct {
	Index int // of this interface and no later one with the name; 0 = there is none
	Up    bool
}

// flagUp is IFF_UP of netdevice(7).
const flagUp = 1

// Link reads whether an interface is there and up.
func (f FS) Link(name string) Link {
	flags, _ := procfs.Text(f.sys("class", "net", name, "flags"))
	bits, _ := strconv.ParseUint(strings.TrimPrefix(flags, "0x"), 16, 32)
	return Link{readNumber(f.sys("class", "net", name, "ifindex"), 0), bits&flagUp != 0}
}

func (f FS) nic(name string) NIC {
	dir := f.sys("class", "net", name, "device")
	n := NIC{Name: name, Device: Device{Driver: driverOf(dir), Names: []string{name}}, Node: -1}
	if function := pciParent(dir); function != "" {
		n.Address, n.Node = filepath.Base(function), readNumber(filepath.Join(function, "numa_node"), -1)
	}
	for _, q := range list(f.sys("class", "net", name, "queues")) {
		f.addQueue(&n, q)
	}
	slices.SortFunc(n.Rx, func(a, b RxQueue) int { return a.Index - b.Index })
	slices.SortFunc(n.Tx, func(a, b TxQueue) int { return a.Index - b.Index })
	return n
}

// pciAddress is domain:bus:device.function.
var pciAddress = pattern.Lazy(`^[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$`)

// pciParent is the directory of the PCI function that a device is or is below,
// as a virtio device is; "" if it is on another bus.
func pciParent(dir string) string {
	path, err := tree.EvalSymlinks(dir)
	if err != nil {
		return ""
	}
	for ; len(path) > 1; path = filepath.Dir(path) {
		if pciAddress().MatchString(filepath.Base(path)) {
			return path
		}
	}
	return ""
}

// addQueue reads the settings of "rx-0" or "tx-3".
func (f FS) addQueue(n *NIC, name string) {
	way, digits, _ := strings.Cut(name, "-")
	index, err := strconv.Atoi(digits)
	if err != nil {
		return
	}
	file := func(setting string) string { return f.sys("class", "net", n.Name, "queues", name, setting) }
	switch way {
	case "rx":
		n.Rx = append(n.Rx, RxQueue{index, ReadMask(file("rps_cpus")), readNumber(file("rps_flow_cnt"), -1)})
	case "tx":
		n.Tx = append(n.Tx, TxQueue{index, ReadMask(file("xps_cpus"))})
	}
}

// QueueIRQ finds the line of an interface's queue: of its receiving side, or of
// its sending one. It is nil when the handlers' names do not tell.
func (t *Table) QueueIRQ(nic string, receives bool, index int) *Row {
	for i := range t.Rows {
		r := &t.Rows[i]
		fits := r.Queue.Flow.Receives() && receives || r.Queue.Flow.Sends() && !receives
		if fits && r.Queue.Index == index && slices.Contains(r.Device.Names, nic) {
			return r
		}
	}
	return nil
}
