package irq

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"piton/internal/kernel"
)

// Via is what decides on which CPU the packets of a receive queue are handled
// (Documentation/networking/scaling.rst).
type Via string

// The means, of which the first that is on decides.
const (
	ViaRFS    Via = "rfs"    // the CPU of the flow's reader, if RFS knows it
	ViaRPS    Via = "rps"    // one of the queue's RPS CPUs, by a hash of the flow
	ViaIRQ    Via = "irq"    // the CPU that took the queue's interrupt
	ViaSender Via = "sender" // the CPU that sent the packet, on this machine: lo and veth have no interrupt
)

// Way is how packets that come in through an interface get to a CPU. What is not known is
// empty.
type Way struct {
	Interface string // its name
	Device    string // the one whose queues they come in through: below a VLAN another one
	NetNS     bool   // it is in another network namespace than piton: nothing else is known
	Via       Via
	Queue     int  // -1 unknown
	Line      *Row // the queue's interrupt
	RPS       Mask // of the queue
}

// String is the way in a few words: "rps 0-3", "irq 24 on 2".
func (w Way) String() string {
	switch {
	case w.NetNS:
		return "other network namespace"
	case w.Via == ViaRPS:
		return fmt.Sprintf("rps %s", w.RPS)
	case w.Via == ViaIRQ && w.Line != nil:
		return fmt.Sprintf("irq %d on %s", w.Line.Number, w.Line.Effective)
	}
	return string(w.Via)
}

// Entrance is the interface with its queue: "eth0 rx 3".
func (w Way) Entrance() string {
	if w.Interface != "" && w.Queue >= 0 {
		return fmt.Sprintf("%s rx %d", w.Interface, w.Queue)
	}
	return w.Interface
}

// Ways are those of a machine's interfaces as they are at one time.
type Ways struct {
	fs      FS
	table   *Table
	netns   uint64
	names   map[int]string // of interfaces, by their numbers
	nics    map[string]NIC
	entries int
}

// NewWays reads which interfaces the root's network namespace has; the table is that of the
// same root.
func NewWays(f FS, table *Table) *Ways {
	w := &Ways{fs: f, table: table, netns: f.netNS(), names: map[int]string{}, nics: map[string]NIC{}, entries: f.FlowEntries()}
	for _, name := range list(f.sys("class", "net")) {
		if index := f.Link(name).Index; index > 0 {
			w.names[index] = name
		}
	}
	return w
}

// netNS is the inode number of the network namespace, 0 unknown.
func (f FS) netNS() uint64 {
	link, err := kernel.ReadLink(f.proc.Path("self", "ns", "net"))
	if err != nil {
		return 0
	}
	digits := strings.TrimSuffix(strings.TrimPrefix(link, "net:["), "]")
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// Of is the way of the packets that come in through the queue of an interface, -1 if that is
// not known, which is in the network namespace with that inode number.
func (w *Ways) Of(netns uint32, index, queue int) Way {
	way := Way{Queue: queue}
	if w.netns != 0 && uint64(netns) != w.netns {
		way.NetNS = true
		return way
	}
	if way.Interface = w.names[index]; way.Interface == "" {
		return way
	}
	nic, ok := w.device(way.Interface)
	if !ok {
		return way
	}
	way.Device = nic.Name
	var rx RxQueue
	if len(nic.Rx) > 0 { // where the queue is not known, the first stands for all
		rx = nic.Rx[max(slices.IndexFunc(nic.Rx, func(rx RxQueue) bool { return rx.Index == queue }), 0)]
	}
	if len(nic.Rx) == 1 {
		way.Queue = rx.Index
	}
	if way.Queue >= 0 {
		way.Line = w.table.QueueIRQ(nic.Name, true, way.Queue)
	}
	way.RPS = rx.RPS
	switch {
	case rx.Flows > 0 && w.entries > 0:
		way.Via = ViaRFS
	case rx.RPS.OK && !rx.RPS.Empty():
		way.Via = ViaRPS
	case nic.Driver != "":
		way.Via = ViaIRQ
	default:
		way.Via = ViaSender
	}
	return way
}

// device is the interface that packets of another come in through, itself unless it is above
// one, as a VLAN is; not ok for one above several, as a bridge is.
func (w *Ways) device(name string) (nic NIC, ok bool) {
	if nic, ok = w.nics[name]; ok {
		return nic, true
	}
	const deepest = 8
	at := name
	for range deepest {
		var lower []string
		for _, entry := range list(w.fs.sys("class", "net", at)) {
			if below, is := strings.CutPrefix(entry, "lower_"); is {
				lower = append(lower, below)
			}
		}
		switch len(lower) {
		case 0:
			if nic, ok = w.fs.Interface(at); ok {
				w.nics[name] = nic
			}
			return nic, ok
		case 1:
			at = lower[0]
		default:
			return nic, false
		}
	}
	return nic, false
}
