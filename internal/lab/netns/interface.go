package netns

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/vishvananda/netlink"

	"piton/internal/kernel"
)

// Interface is a network interface: ParentIndex is the other end, of a pair, and NetNsID the
// number that this network namespace has for the one of the other end, -1 where it is this one.
type Interface struct {
	netlink.LinkAttrs
	Kind string // of virtual ones ("veth")
}

// ErrGone is the error of an interface that is not there.
var ErrGone = errors.New("it is not there")

// Find reads an interface of the calling thread's network namespace.
func Find(index int) (Interface, error) {
	l, err := netlink.LinkByIndex(index)
	if _, gone := errors.AsType[netlink.LinkNotFoundError](err); gone {
		err = ErrGone
	}
	if err != nil {
		return Interface{}, fmt.Errorf("interface %d: %w", index, err)
	}
	i := Interface{*l.Attrs(), l.Type()}
	i.NetNsID = int(int32(i.NetNsID)) // which the library reads without its sign
	if i.Xdp == nil {
		i.Xdp = &netlink.LinkXdp{}
	}
	return i, nil
}

// PeerTxChecksum reads whether the other end of a pair, wherever that is, takes packets without
// checksums, to add these itself (ethtool -k, tx-checksumming), and its name.
func PeerTxChecksum(i Interface) (on bool, name string, err error) {
	look := func() error {
		peer, err := Find(i.ParentIndex)
		if err != nil {
			return err
		}
		name = peer.Name
		all, err := features(name)
		on = slices.ContainsFunc(TxChecksum, func(f string) bool { return all[f].Active })
		return err
	}
	if i.NetNsID < 0 {
		err = look()
		return on, name, err
	}
	there, err := numbered(i.NetNsID)
	if err != nil {
		return false, "", err
	}
	defer there.Close()
	// The thread that enters it takes the rights of its own.
	err = kernel.OnThread(func() error { return kernel.WithBPF(func() error { return enter(there, look) }) })
	return on, name, err
}

// numbered finds the network namespace that the calling thread's one has a number for,
// among those with names, those of processes and those that this process holds.
func numbered(number int) (*os.File, error) {
	seen := map[uint64]bool{}
	for _, glob := range []string{"/run/netns/*", "/proc/[0-9]*/ns/net", ownFiles} {
		paths, _ := filepath.Glob(glob)
		for _, path := range paths {
			if to, _ := os.Readlink(path); filepath.Dir(path)+"/*" == ownFiles && !strings.HasPrefix(to, "net:[") {
				continue // to open a pipe would wait
			}
			file, err := os.Open(path)
			if err != nil { // the process has ended
				continue
			}
			if !known(file, seen) {
				if its, err := netlink.GetNetNsIdByFd(int(file.Fd())); err == nil && its == number {
					return file, nil
				}
			}
			file.Close()
		}
	}
	return nil, errors.New("no process is in its network namespace")
}

const ownFiles = "/proc/self/fd/*"

func known(file *os.File, seen map[uint64]bool) bool {
	info, err := file.Stat()
	if err != nil {
		return true
	}
	inode := info.Sys().(*syscall.Stat_t).Ino
	defer func() { seen[inode] = true }()
	return seen[inode]
}
