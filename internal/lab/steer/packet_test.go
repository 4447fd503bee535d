package steer

import (
	"encoding/binary"
	"net/netip"
	"structs"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/kernel"
)

const ( // include/uapi/linux/bpf.h
	xdpPass     = 2
	xdpRedirect = 4
)

type flowKey struct { // struct flow_key of c/steer.c
	_                     structs.HostLayout
	Local, Remote         [16]byte
	LocalPort, RemotePort [2]byte
	Protocol              uint32
}

type flowValue struct { // struct flow
	_         structs.HostLayout
	Task      uint64
	TID, Sent uint32
}

const (
	tcp = 6
	udp = 17
)

// packet is an Ethernet frame. fragment is that field of an IPv4 header, flags and offset.
func packet(protocol byte, from, to netip.AddrPort, fragment uint16, options ...byte) []byte {
	header := make([]byte, 8)
	if protocol == tcp {
		header = append(make([]byte, 20), options...)
		header[12] = byte(len(header)/4) << 4
	}
	binary.BigEndian.PutUint16(header, from.Port())
	binary.BigEndian.PutUint16(header[2:], to.Port())
	frame := make([]byte, 12, 100)
	if from.Addr().Is4() {
		ip := append([]byte{0x45, 0, 0, byte(20 + len(header)), 0, 0, byte(fragment >> 8), byte(fragment), 64, protocol, 0, 0}, from.Addr().AsSlice()...)
		frame = append(append(frame, 0x08, 0x00), append(ip, to.Addr().AsSlice()...)...)
	} else {
		ip := append([]byte{0x60, 0, 0, 0, 0, byte(len(header)), protocol, 64}, from.Addr().AsSlice()...)
		frame = append(append(frame, 0x86, 0xdd), append(ip, to.Addr().AsSlice()...)...)
	}
	return append(frame, header...)
}

func vlan(frame []byte) []byte {
	return append(append(append([]byte{}, frame[:12]...), 0x81, 0x00, 0, 7), frame[12:]...)
}

var (
	near4 = netip.MustParseAddrPort("10.99.0.1:4000")
	near6 = netip.MustParseAddrPort("[fd00::1]:4000")
	far4  = netip.MustParseAddrPort("10.99.0.2:80")
	far6  = netip.MustParseAddrPort("[fd00::2]:80")
	none  = netip.AddrPort{}
)

func key(protocol uint32, local, remote netip.AddrPort) flowKey {
	k := flowKey{Protocol: protocol}
	fill := func(address *[16]byte, port *[2]byte, a netip.AddrPort) {
		if a.Addr().IsValid() {
			*address = a.Addr().As16()
		}
		binary.BigEndian.PutUint16(port[:], a.Port())
	}
	fill(&k.Local, &k.LocalPort, local)
	fill(&k.Remote, &k.RemotePort, remote)
	return k
}

// run asks the program what is to become of a frame that arrives on a CPU.
func run(t *testing.T, s *Steering, on cpuset.CPU, frame []byte) (verdict uint32) {
	t.Helper()
	require.NoError(t, kernel.OnThread(func() error {
		if err := kernel.System().SetAffinity(0, cpuset.Of(on)); err != nil {
			return err
		}
		var err error
		verdict, err = s.Objects.Programs["steer_packet"].Run(&ebpf.RunOptions{Data: frame})
		return err
	}))
	return verdict
}

func TestWhichPacketsAreSteered(t *testing.T) {
	a, b := twoCPUs(t)
	s := newWire(t).open(t, Options{Policy: Request, CPUs: cpuset.Of(b)})
	flows := s.Objects.Maps["flows"]
	wildcard4 := netip.AddrPortFrom(near4.Addr(), 53)
	for _, k := range []flowKey{key(tcp, near4, far4), key(tcp, near6, far6), key(udp, near4, far4),
		key(udp, wildcard4, none), key(udp, netip.AddrPortFrom(netip.IPv6Unspecified(), 54), none)} {
		require.NoError(t, flows.Put(k, flowValue{Sent: uint32(b)}))
	}
	port := func(p netip.AddrPort, port uint16) netip.AddrPort { return netip.AddrPortFrom(p.Addr(), port) }
	long := packet(tcp, far4, near4, 0)
	long[14] = 0x46 // an IP option before the ports
	long = append(long[:34:34], append([]byte{1, 1, 1, 0}, long[34:]...)...)
	for _, c := range []struct {
		name  string
		frame []byte
		steer bool
	}{
		{"IPv4 TCP", packet(tcp, far4, near4, 0), true},
		{"IPv6 TCP", packet(tcp, far6, near6, 0), true},
		{"IPv4 UDP", packet(udp, far4, near4, 0), true},
		{"with an IP option", long, true},
		{"not to be fragmented", packet(tcp, far4, near4, 0x4000), true},
		{"to a socket that is not connected", packet(udp, far4, wildcard4, 0), true},
		{"to a socket of any address", packet(udp, far4, port(near4, 54), 0), true},
		{"to a socket of any address, IPv6", packet(udp, far6, port(near6, 54), 0), true},
		{"the other way", packet(tcp, near4, far4, 0), false},
		{"another port", packet(tcp, far4, port(near4, 4001), 0), false},
		{"another protocol", packet(udp, far6, near6, 0), false},
		{"TCP to where only UDP is", packet(tcp, far4, wildcard4, 0), false},
		{"ICMP", packet(1, far4, near4, 0), false},
		{"first fragment", packet(udp, far4, near4, 0x2000), false},
		{"later fragment", packet(udp, far4, near4, 0x0010), false},
		{"VLAN", vlan(packet(tcp, far4, near4, 0)), false},
		{"cut short", packet(tcp, far4, near4, 0)[:50], false},
		{"IPv6 cut short", packet(tcp, far6, near6, 0)[:60], false},
		{"no more than Ethernet", packet(tcp, far4, near4, 0)[:14], false},
	} {
		want := map[bool]uint32{true: xdpRedirect, false: xdpPass}[c.steer]
		assert.Equal(t, want, run(t, s, a, c.frame), c.name)
		assert.EqualValues(t, xdpPass, run(t, s, b, c.frame), "%s: it is there already", c.name)
	}
	require.NoError(t, flows.Put(key(tcp, near4, far4), flowValue{Sent: uint32(a)}))
	assert.EqualValues(t, xdpPass, run(t, s, b, packet(tcp, far4, near4, 0)), "a CPU that may get none")
}

// BenchmarkPacket is what the program takes for a packet of a flow that stays on its CPU, and of a
// flow that nobody steers, by the kernel's own test runs (BPF_PROG_TEST_RUN).
func BenchmarkPacket(b *testing.B) {
	_, other := twoCPUs(b)
	s := newWire(b).open(b, Options{Policy: Request, CPUs: cpuset.Of(other)})
	require.NoError(b, s.Objects.Maps["flows"].Put(key(tcp, near4, far4), flowValue{Sent: uint32(other)}))
	for name, frame := range map[string][]byte{"stays": packet(tcp, far4, near4, 0), "other": packet(tcp, near4, far4, 0)} {
		b.Run(name, func(b *testing.B) {
			require.NoError(b, kernel.OnThread(func() error {
				if err := kernel.System().SetAffinity(0, cpuset.Of(other)); err != nil {
					return err
				}
				_, each, err := s.Objects.Programs["steer_packet"].Benchmark(frame, b.N, nil)
				b.ReportMetric(float64(each.Nanoseconds()), "ns/packet")
				return err
			}))
		})
	}
}

func TestHintSteers(t *testing.T) {
	a, b := twoCPUs(t)
	s := newWire(t).open(t, Options{Policy: Hint, CPUs: online(t)})
	option := func(cpu uint16) []byte { // struct hint of c/hint.h
		return binary.BigEndian.AppendUint16([]byte{253, 8, 0x50, 0x69, 0xff, 0xff}, cpu)
	}
	stamp := []byte{1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2}
	for name, options := range map[string][]byte{"alone": option(uint16(b)), "behind a time stamp": append(stamp, option(uint16(b))...)} {
		for _, ends := range [][2]netip.AddrPort{{far4, near4}, {far6, near6}} {
			frame := packet(tcp, ends[0], ends[1], 0, options...)
			assert.EqualValues(t, xdpRedirect, run(t, s, a, frame), name)
			assert.EqualValues(t, xdpPass, run(t, s, b, frame), name)
		}
	}
	for name, options := range map[string][]byte{"no option": nil, "only a stamp": stamp, "no CPU": option(0xffff), "no such CPU": option(0xfffe)} {
		assert.EqualValues(t, xdpPass, run(t, s, a, packet(tcp, far4, near4, 0, options...)), name)
	}
}
