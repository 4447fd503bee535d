package netns

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/safchain/ethtool"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// AddVeth makes a pair of virtual Ethernet interfaces, which are two ends of one wire
// (veth(4)): one here, one in the namespace of the peer. Both are down. It takes
// CAP_NET_ADMIN in both namespaces.
func (n *Namespace) AddVeth(name string, peer *Namespace, peerName string) error {
	attributes := netlink.NewLinkAttrs()
	attributes.Name = name
	pair := netlink.NewVeth(attributes)
	pair.PeerName, pair.PeerNamespace = peerName, netlink.NsFd(peer.file.Fd())
	if err := n.Do(func() error { return netlink.LinkAdd(pair) }); err != nil {
		return fmt.Errorf("make the interface %s: %w", name, err)
	}
	return nil
}

// IsNoVeth reports whether the error of AddVeth says that the kernel has no such interfaces.
func IsNoVeth(err error) bool { return errors.Is(err, unix.EOPNOTSUPP) }

// SetUp gives an interface an address and brings it up.
func (n *Namespace) SetUp(name string, address netip.Prefix) error {
	err := n.Do(func() error {
		link, err := netlink.LinkByName(name)
		if err != nil {
			return err
		}
		ip := net.IPNet{IP: address.Addr().AsSlice(), Mask: net.CIDRMask(address.Bits(), address.Addr().BitLen())}
		if err := netlink.AddrAdd(link, &netlink.Addr{IPNet: &ip}); err != nil {
			return err
		}
		return netlink.LinkSetUp(link)
	})
	if err != nil {
		return fmt.Errorf("set up %s with the address %s: %w", name, address, err)
	}
	return nil
}

// InterfaceIndex is the number of an interface of the namespace.
func (n *Namespace) InterfaceIndex(name string) (index int, err error) {
	err = n.Do(func() error {
		i, err := net.InterfaceByName(name)
		if err == nil {
			index = i.Index
		}
		return err
	})
	return index, err
}

// Offload is what an interface does by itself: features, as ethtool -k names them.
type Offload []string

// The offloads.
var (
	TxChecksum = Offload{"tx-checksum-ip-generic", "tx-checksum-sctp"}
	TSO        = Offload{"tx-tcp-segmentation", "tx-tcp6-segmentation"}
	GSO        = Offload{"tx-generic-segmentation"}
	GRO        = Offload{"rx-gro"}
)

// SetOffload switches one on or off.
func (n *Namespace) SetOffload(name string, feature Offload, on bool) error {
	changes := map[string]bool{}
	for _, f := range feature {
		changes[f] = on
	}
	err := n.Do(func() error {
		e, err := ethtool.NewEthtool()
		if err != nil {
			return err
		}
		defer e.Close()
		return e.Change(name, changes)
	})
	if err != nil {
		return fmt.Errorf("set %v of %s: %w", feature, name, err)
	}
	return nil
}
