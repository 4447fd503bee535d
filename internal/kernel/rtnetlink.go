package kernel

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// AddVeth makes a pair of virtual Ethernet interfaces, which are two ends of one wire
// (veth(4)): one here, one in the namespace of the peer. Both are down. It takes
// CAP_NET_ADMIN in both namespaces.
func (n *NetNamespace) AddVeth(name string, peer *NetNamespace, peerName string) error {
	m := newRequest(unix.RTM_NEWLINK, unix.NLM_F_CREATE|unix.NLM_F_EXCL)
	m.link(0, 0)
	m.text(unix.IFLA_IFNAME, name)
	m.nest(unix.IFLA_LINKINFO, func() {
		m.text(unix.IFLA_INFO_KIND, "veth")
		m.nest(unix.IFLA_INFO_DATA, func() {
			m.nest(vethInfoPeer, func() {
				m.link(0, 0)
				m.text(unix.IFLA_IFNAME, peerName)
				m.attribute(unix.IFLA_NET_NS_FD, m.word(uint32(peer.file.Fd())))
			})
		})
	})
	if err := n.ask(m); err != nil {
		return fmt.Errorf("make the interface %s: %w", name, err)
	}
	return nil
}

// vethInfoPeer is VETH_INFO_PEER of linux/veth.h: a header and attributes of the other end.
const vethInfoPeer = 1

// SetUp gives an interface an address and brings it up.
func (n *NetNamespace) SetUp(name string, address netip.Prefix) error {
	index, err := n.InterfaceIndex(name)
	if err != nil {
		return err
	}
	ip := address.Addr().As4()
	m := newRequest(unix.RTM_NEWADDR, unix.NLM_F_CREATE|unix.NLM_F_EXCL)
	m.put([]byte{unix.AF_INET, byte(address.Bits()), 0, unix.RT_SCOPE_UNIVERSE}) // struct ifaddrmsg
	m.put(m.word(uint32(index)))
	m.attribute(unix.IFA_LOCAL, ip[:])
	m.attribute(unix.IFA_ADDRESS, ip[:])
	if err := n.ask(m); err != nil {
		return fmt.Errorf("give %s the address %s: %w", name, address, err)
	}
	m = newRequest(unix.RTM_NEWLINK, 0)
	m.link(index, unix.IFF_UP)
	if err := n.ask(m); err != nil {
		return fmt.Errorf("bring %s up: %w", name, err)
	}
	return nil
}

// InterfaceIndex is the number of an interface of the namespace.
func (n *NetNamespace) InterfaceIndex(name string) (index int, err error) {
	err = n.Do(func() error {
		i, err := net.InterfaceByName(name)
		if err == nil {
			index = i.Index
		}
		return err
	})
	return index, err
}

// Offload is a feature of an interface that ETHTOOL_S… sets (linux/ethtool.h).
type Offload uint32

// The offloads.
const (
	TxChecksum Offload = unix.ETHTOOL_STXCSUM
	TSO        Offload = unix.ETHTOOL_STSO
	GSO        Offload = unix.ETHTOOL_SGSO
	GRO        Offload = unix.ETHTOOL_SGRO
)

// SetOffload switches one on or off.
func (n *NetNamespace) SetOffload(name string, feature Offload, on bool) error {
	value := [2]uint32{uint32(feature), 0} // struct ethtool_value
	if on {
		value[1] = 1
	}
	var request struct { // struct ifreq
		name [unix.IFNAMSIZ]byte
		data unsafe.Pointer
		_    [16]byte
	}
	copy(request.name[:unix.IFNAMSIZ-1], name)
	request.data = unsafe.Pointer(&value)
	return n.Do(func() error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return os.NewSyscallError("socket", err)
		}
		defer unix.Close(fd)
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&request))); errno != 0 {
			return fmt.Errorf("set offload %#x of %s: %w", uint32(feature), name, errno)
		}
		return nil
	})
}

// request is a message of rtnetlink(7).
type request struct{ bytes []byte }

func newRequest(kind uint16, flags uint16) *request {
	m := &request{make([]byte, unix.NLMSG_HDRLEN)}
	binary.NativeEndian.PutUint16(m.bytes[4:], kind)
	binary.NativeEndian.PutUint16(m.bytes[6:], flags|unix.NLM_F_REQUEST|unix.NLM_F_ACK)
	return m
}

func (m *request) put(b []byte) { m.bytes = append(m.bytes, b...) }

func (m *request) word(v uint32) []byte { return binary.NativeEndian.AppendUint32(nil, v) }

// link appends a struct ifinfomsg; flags are those that are set.
func (m *request) link(index int, flags uint32) {
	m.put([]byte{unix.AF_UNSPEC, 0, 0, 0})
	for _, v := range []uint32{uint32(index), flags, flags} {
		m.put(m.word(v))
	}
}

func (m *request) attribute(kind uint16, value []byte) { m.nest(kind, func() { m.put(value) }) }

func (m *request) text(kind uint16, value string) { m.attribute(kind, append([]byte(value), 0)) }

// nest appends an attribute of what inner appends.
func (m *request) nest(kind uint16, inner func()) {
	at := len(m.bytes)
	m.put(make([]byte, unix.SizeofRtAttr))
	inner()
	binary.NativeEndian.PutUint16(m.bytes[at:], uint16(len(m.bytes)-at))
	binary.NativeEndian.PutUint16(m.bytes[at+2:], kind)
	for len(m.bytes)%unix.RTA_ALIGNTO != 0 {
		m.bytes = append(m.bytes, 0)
	}
}

// ask sends the request and waits for the kernel's answer: 0, or what failed.
func (n *NetNamespace) ask(m *request) error {
	binary.NativeEndian.PutUint32(m.bytes, uint32(len(m.bytes)))
	return n.Do(func() error {
		fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
		if err != nil {
			return os.NewSyscallError("socket", err)
		}
		defer unix.Close(fd)
		if err := unix.Sendto(fd, m.bytes, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
			return os.NewSyscallError("sendto", err)
		}
		answer := make([]byte, 4096)
		got, _, err := unix.Recvfrom(fd, answer, 0)
		switch {
		case err != nil:
			return os.NewSyscallError("recvfrom", err)
		case got < unix.NLMSG_HDRLEN+4 || binary.NativeEndian.Uint16(answer[4:]) != unix.NLMSG_ERROR:
			return fmt.Errorf("rtnetlink answered with %d bytes that are no acknowledgement", got)
		}
		if errno := -int32(binary.NativeEndian.Uint32(answer[unix.NLMSG_HDRLEN:])); errno != 0 {
			return unix.Errno(errno)
		}
		return nil
	})
}
