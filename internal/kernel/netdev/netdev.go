// Package netdev reads network interfaces by netlink and ioctl, in any network namespace.
// It changes nothing. Start at Find.
package netdev

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"piton/internal/kernel"
)

// Interface is a network interface.
type Interface struct {
	Index int
	Name  string
	Kind  string // of virtual ones ("veth"), else ""
	MTU   int
	// Peer is the index of the other end, of a pair; PeerNamespace is the number that this
	// network namespace has for the one of the other end, -1 where it is this one.
	Peer          int
	PeerNamespace int
	XDP           uint32 // number of the XDP program that is attached, 0 without one
}

// ErrGone is the error of an interface that is not there.
var ErrGone = errors.New("it is not there")

// Find reads an interface of the calling thread's network namespace.
func Find(index int) (Interface, error) {
	reply, err := syscall.NetlinkRIB(unix.RTM_GETLINK, unix.AF_UNSPEC)
	if err != nil {
		return Interface{}, fmt.Errorf("list network interfaces: %w", err)
	}
	messages, err := syscall.ParseNetlinkMessage(reply)
	if err != nil {
		return Interface{}, fmt.Errorf("list network interfaces: %w", err)
	}
	for _, m := range messages {
		if m.Header.Type != unix.RTM_NEWLINK || len(m.Data) < unix.SizeofIfInfomsg {
			continue
		}
		if int(binary.NativeEndian.Uint32(m.Data[4:])) == index {
			return parse(index, m.Data[unix.SizeofIfInfomsg:]), nil
		}
	}
	return Interface{}, fmt.Errorf("interface %d: %w", index, ErrGone)
}

func parse(index int, b []byte) Interface {
	i := Interface{Index: index, PeerNamespace: -1}
	for kind, value := range attributes(b) {
		switch kind {
		case unix.IFLA_IFNAME:
			i.Name = text(value)
		case unix.IFLA_MTU:
			i.MTU = int(number(value))
		case unix.IFLA_LINK:
			i.Peer = int(number(value))
		case unix.IFLA_LINK_NETNSID:
			i.PeerNamespace = int(int32(number(value)))
		case unix.IFLA_LINKINFO:
			i.Kind = text(attributes(value)[unix.IFLA_INFO_KIND])
		case unix.IFLA_XDP:
			i.XDP = program(attributes(value))
		}
	}
	return i
}

// program is that of the one mode in use; with several, that in the driver.
func program(xdp map[uint16][]byte) uint32 {
	for _, kind := range []uint16{unix.IFLA_XDP_PROG_ID, unix.IFLA_XDP_DRV_PROG_ID, unix.IFLA_XDP_SKB_PROG_ID, unix.IFLA_XDP_HW_PROG_ID} {
		if id := number(xdp[kind]); id != 0 {
			return id
		}
	}
	return 0
}

// attributes are those of a netlink message (netlink(7)), by their kinds.
func attributes(b []byte) map[uint16][]byte {
	all := map[uint16][]byte{}
	for len(b) >= unix.SizeofRtAttr {
		length := int(binary.NativeEndian.Uint16(b))
		if length < unix.SizeofRtAttr || length > len(b) {
			break
		}
		all[binary.NativeEndian.Uint16(b[2:])&^(unix.NLA_F_NESTED|unix.NLA_F_NET_BYTEORDER)] = b[unix.SizeofRtAttr:length]
		b = b[min((length+3)&^3, len(b)):]
	}
	return all
}

func number(b []byte) uint32 {
	if len(b) < 4 {
		return 0
	}
	return binary.NativeEndian.Uint32(b)
}

func text(b []byte) string { return strings.TrimRight(string(b), "\x00") }

// inside runs f in a network namespace, on a thread of its own. It takes CAP_SYS_ADMIN.
func inside(namespace *os.File, f func() error) error {
	return kernel.OnThread(func() error {
		return kernel.WithBPF(func() error {
			if err := unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET); err != nil {
				return fmt.Errorf("enter a network namespace: %w", os.NewSyscallError("setns", err))
			}
			return f()
		})
	})
}
