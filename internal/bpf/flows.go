package bpf

import (
	"encoding/binary"
	"maps"
	"net/netip"
	"runtime"
	"slices"
	"structs"
	"time"

	"piton/internal/bpf/object"
	"piton/internal/cpuset"
	"piton/internal/kernel"
)

const flowsName = "network flows"

// Room for what is counted between two drains: of a busy machine's flows, 1.2 MB for each of
// two tables, and of a process's.
const (
	FlowsOfMachine = 8192
	FlowsOfProcess = 2048
)

// Flow is a socket of a process that reads from it.
type Flow struct {
	Cookie        uint64 // of the socket, unique since boot
	PID           kernel.TID
	StartNs       uint64 // of the process since boot, suspend included: with PID it names it for good
	Protocol      Protocol
	Local, Remote netip.AddrPort // Remote is zero where an unconnected UDP socket has none
	NetNS         uint32         // inode number of the network namespace
}

// Protocol is the number of a protocol above IP.
type Protocol uint16

// The protocols that flows are counted of.
const (
	TCP Protocol = 6
	UDP Protocol = 17
)

// String is "tcp" or "udp".
func (p Protocol) String() string {
	if p == UDP {
		return "udp"
	}
	return "tcp"
}

// FlowCount is what was read of a flow on one CPU while another, or the same, handled its
// packets.
type FlowCount struct {
	Flow
	Handled  cpuset.CPU // of the flow's last packet before each read (SO_INCOMING_CPU); -1 unknown
	Consumed cpuset.CPU // of the reads
	Bytes    uint64
	Reads    uint64
	// Packets came since the flow's counts before: TCP segments, those without data too, or
	// UDP datagrams that were read. Of a flow's counts one has those of all.
	Packets uint64
	// Interface is the number of the one that the packets come in through, 0 unknown: of
	// TCP, or of a UDP socket that is bound to one. Queue is its queue, -1 unknown.
	Interface, Queue int
}

// FlowsStats is what a drain tells besides counts.
type FlowsStats struct {
	Window time.Duration // since the last drain
	Lost   uint64        // reads that were not counted: there were too many flows
}

// Flows counts what processes read from TCP and UDP sockets, from when it is opened, by the
// CPU that handled the flow's last packet and the CPU that reads. It costs about a tenth of
// a microsecond for each read: keep it open only while someone looks. Safe for concurrent
// use.
//
// From Linux 6.3 it counts at the end of each read. Before, it sees TCP after each packet that
// any process's read has copied: Reads are those packets, and of a connection that was there
// before it was opened the first is left out. UDP before, and splice(2) from then on, take hooks
// of functions, which not every kernel has.
type Flows struct {
	object.Object
	programs []string
	targets  map[uint32]uint64 // their bits, by the word
	drained  time.Duration     // when; CLOCK_MONOTONIC
	keys     []flowKey
	values   []flowValue
	segments map[uint64]uint32 // of TCP sockets by their cookies: segs_in at the last drain
}

type flowKey struct { // struct flow_key of c/flows.c
	_                 structs.HostLayout
	Cookie            uint64
	TGID              kernel.TID
	Handled, Consumed uint16
}

type flowValue struct { // struct flow of c/flows.c
	_                structs.HostLayout
	Bytes, Reads     uint64
	Segments         uint32 // tcp_sock.segs_in at the last read
	Interface        uint32
	Queue            uint16
	Family, Protocol uint16
	LocalPort        uint16
	RemotePort       uint16 // in network order
	_                [3]uint16
	StartNs          uint64
	First, NetNS     uint32 // tcp_sock.segs_in before the first read
	Local, Remote    [16]byte
}

// unknownCPU as a CPU and as a queue of a program is none.
const unknownCPU = 0xffff

// readHook is the tracepoint of Linux 6.3 at the end of each read of a socket.
const readHook = "sock_recv_length"

// OpenFlows begins to count what processes read, with room for so many flows and pairs of
// CPUs between two drains. An error that Is feature.ErrNotSupported says what is missing.
func OpenFlows(room int, pids ...kernel.TID) (*Flows, error) {
	return object.Privileged(func() (*Flows, error) { return openFlows(room, pids) })
}

func openFlows(room int, pids []kernel.TID) (*Flows, error) {
	if err := object.Usable(flowsName); err != nil {
		return nil, err
	}
	types := object.KernelTypes() // for both attempts
	defer runtime.KeepAlive(types)
	atReads, err := object.HasTracepoint(flowsName, readHook)
	if err != nil {
		return nil, err
	}
	programs, hook := []string{"flows_read"}, "flows_spliced"
	if !atReads {
		programs, hook = []string{"flows_connected", "flows_adjust"}, "flows_datagram"
	}
	f, err := hookFlows(room, pids, append(programs, hook))
	if err != nil { // functions cannot be hooked everywhere, such as on arm64 before Linux 6.4
		f, err = hookFlows(room, pids, programs)
	}
	return f, err
}

func hookFlows(room int, pids []kernel.TID, programs []string) (*Flows, error) {
	f := &Flows{programs: programs, keys: make([]flowKey, object.DrainChunk), values: make([]flowValue, object.DrainChunk), segments: map[uint64]uint32{}}
	s := object.Subject{What: flowsName, Compiled: flowsObject, Room: room, Programs: programs, Alone: true}
	return opened(f, f.Open(s, func() error {
		f.drained = kernel.Monotonic()
		return f.setTargets(pids)
	}))
}

// UDP reports whether UDP is counted too, and not TCP alone: before Linux 6.3 that takes a
// hook of a function.
func (f *Flows) UDP() bool {
	return f.programs[0] == "flows_read" || slices.Contains(f.programs, "flows_datagram")
}

// SetTargets counts only what these processes read from now on. Of processes that stay
// targets no read is missed.
func (f *Flows) SetTargets(pids ...kernel.TID) error {
	return f.Use(func() error { return f.setTargets(pids) })
}

func (f *Flows) setTargets(pids []kernel.TID) error {
	now := map[uint32]uint64{}
	for word := range f.targets {
		now[word] = 0
	}
	for _, pid := range pids {
		now[uint32(pid)/64] |= 1 << (uint32(pid) % 64)
	}
	for word, bits := range now {
		if err := f.Objects.Maps["targets"].Put(word, bits); err != nil {
			return err
		}
	}
	maps.DeleteFunc(now, func(_ uint32, bits uint64) bool { return bits == 0 })
	f.targets = now
	only := uint32(0)
	if len(pids) == 1 {
		only = uint32(pids[0])
	}
	return f.Objects.Variables["only"].Set(only)
}

// Drain appends what was counted since the last drain, in no order, and begins anew. No read
// is missed or counted twice; it sleeps for some milliseconds to be sure of that.
func (f *Flows) Drain(into []FlowCount) (counts []FlowCount, stats FlowsStats, err error) {
	counts = into
	err = f.Use(func() error {
		now := kernel.Monotonic()
		table, err := f.Tables.Exchange()
		if err != nil {
			return err
		}
		stats.Window, f.drained = now-f.drained, now
		tcp := map[uint64]*segments{}
		err = object.Drain(table, f.keys, f.values, func(k flowKey, v flowValue) {
			counts = append(counts, v.count(k))
			if Protocol(v.Protocol) != UDP {
				addSegments(tcp, k.Cookie, v.First, v.Segments, len(counts)-1)
			}
		})
		if err != nil {
			return err
		}
		f.addPackets(counts, tcp)
		// The kernel leaves out runs where the program was running on that CPU already.
		missed := uint64(0)
		for _, name := range f.programs {
			runs, err := f.Objects.Programs[name].Stats() // 0 before Linux 5.12
			if err != nil {
				return err
			}
			missed += runs.RecursionMisses
		}
		stats.Lost, err = f.LostSince("lost", missed)
		return err
	})
	return counts, stats, err
}

func (v *flowValue) count(k flowKey) FlowCount {
	c := FlowCount{
		Flow: Flow{
			Cookie: k.Cookie, PID: k.TGID, StartNs: v.StartNs, Protocol: Protocol(v.Protocol), NetNS: v.NetNS,
			Local: address(v.Family, v.Local, v.LocalPort),
		},
		Handled: -1, Consumed: cpuset.CPU(k.Consumed), Bytes: v.Bytes, Reads: v.Reads,
		Interface: int(v.Interface), Queue: -1,
	}
	if v.RemotePort != 0 {
		c.Remote = address(v.Family, v.Remote, binary.BigEndian.Uint16(object.BytesOf(&v.RemotePort)))
	}
	if c.Protocol == UDP {
		c.Packets = v.Reads
	}
	if k.Handled != unknownCPU {
		c.Handled = cpuset.CPU(k.Handled)
	}
	if v.Queue != unknownCPU {
		c.Queue = int(v.Queue)
	}
	return c
}

// segments are those of a TCP socket in the counts of one drain.
type segments struct {
	first, last uint32 // they go round
	at          int    // the count with the last
}

func addSegments(tcp map[uint64]*segments, cookie uint64, first, last uint32, at int) {
	s := tcp[cookie]
	if s == nil {
		tcp[cookie] = &segments{first, last, at}
		return
	}
	if int32(first-s.first) < 0 {
		s.first = first
	}
	if int32(last-s.last) > 0 {
		s.last, s.at = last, at
	}
}

// addPackets says how many segments came since the drain before.
func (f *Flows) addPackets(counts []FlowCount, tcp map[uint64]*segments) {
	if len(f.segments) > 2*FlowsOfMachine { // most are of sockets that were closed
		clear(f.segments)
	}
	for cookie, s := range tcp {
		first, known := f.segments[cookie]
		if !known {
			first = s.first
		}
		counts[s.at].Packets = uint64(max(int32(s.last-first), 0))
		f.segments[cookie] = s.last
	}
}

// address is one of IPv4 also where an IPv6 socket speaks that.
func address(family uint16, ip [16]byte, port uint16) netip.AddrPort {
	const inet = 2 // AF_INET
	if family == inet {
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(ip[:4])), port)
	}
	return netip.AddrPortFrom(netip.AddrFrom16(ip).Unmap(), port)
}
