package stripnet

import (
	"fmt"
	"net/netip"

	"piton/internal/lab/netns"
)

// Network is servers and clients joined by wires.
type Network struct {
	Client     *netns.Namespace
	Interfaces []string // the clients' ends, one for each server
	servers    []*netns.Namespace
}

// serversEnd is the name of a wire's end in its server's namespace.
const serversEnd = "strips"

// New makes a network. It takes CAP_SYS_ADMIN and CAP_NET_ADMIN (EPERM), and the kernel's
// veth (netns.IsNoVeth).
func New(servers int) (*Network, error) {
	n := &Network{}
	if err := n.build(servers); err != nil {
		n.Close()
		return nil, err
	}
	return n, nil
}

func (n *Network) build(servers int) (err error) {
	if n.Client, err = netns.New(); err != nil {
		return err
	}
	for i := range servers {
		server, err := netns.New()
		if err != nil {
			return err
		}
		n.servers = append(n.servers, server)
		name := fmt.Sprintf("%s%d", serversEnd, i)
		n.Interfaces = append(n.Interfaces, name)
		if err := n.wire(name, server, i); err != nil {
			return err
		}
	}
	return nil
}

// wire joins a server. The ends are set up like a network card's: packets leave the server
// one by one and with their checksums, and the client puts them together again. A wire as it
// is made would carry 64 KiB at once.
func (n *Network) wire(name string, server *netns.Namespace, i int) error {
	if err := n.Client.AddVeth(name, server, serversEnd); err != nil {
		return err
	}
	for _, off := range []netns.Offload{netns.TSO, netns.GSO, netns.TxChecksum} {
		if err := server.SetOffload(serversEnd, off, false); err != nil {
			return err
		}
	}
	if err := n.Client.SetOffload(name, netns.GRO, true); err != nil {
		return err
	}
	if err := n.Client.SetUp(name, netip.PrefixFrom(address(i, 1), 24)); err != nil {
		return err
	}
	return server.SetUp(serversEnd, netip.PrefixFrom(address(i, 2), 24))
}

// address is one end of a wire's; nothing else is in these namespaces.
func address(server, end int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, 0, byte(server), byte(end)})
}

// Close ends the network.
func (n *Network) Close() {
	for _, server := range n.servers {
		server.Close()
	}
	if n.Client != nil {
		n.Client.Close()
	}
}
