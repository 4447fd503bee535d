package netdev

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TxChecksum reads whether an interface of the calling thread's network namespace takes
// packets without checksums, to add these itself (ethtool -k, tx-checksumming).
func TxChecksum(name string) (bool, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return false, os.NewSyscallError("socket", err)
	}
	defer unix.Close(fd)
	value := struct{ command, data uint32 }{command: unix.ETHTOOL_GTXCSUM} // struct ethtool_value
	request := struct {                                                    // struct ifreq
		name [unix.IFNAMSIZ]byte
		data unsafe.Pointer
		_    [16]byte
	}{data: unsafe.Pointer(&value)}
	copy(request.name[:unix.IFNAMSIZ-1], name)
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&request))); errno != 0 {
		return false, fmt.Errorf("tx checksum offload of %s: %w", name, os.NewSyscallError("SIOCETHTOOL", errno))
	}
	return value.data != 0, nil
}

// PeerTxChecksum is TxChecksum of the other end of a pair, wherever that is, and its name.
func PeerTxChecksum(i Interface) (on bool, name string, err error) {
	look := func() error {
		peer, err := Find(i.Peer)
		if err != nil {
			return err
		}
		name = peer.Name
		on, err = TxChecksum(peer.Name)
		return err
	}
	if i.PeerNamespace < 0 {
		err = look()
		return on, name, err
	}
	there, err := namespace(i.PeerNamespace)
	if err != nil {
		return false, "", err
	}
	defer there.Close()
	err = inside(there, look)
	return on, name, err
}

// namespace finds the network namespace that the calling thread's one has a number for,
// among those with names, those of processes and those that this process holds.
func namespace(number int) (*os.File, error) {
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
				if its, err := numberOf(file); err == nil && its == number {
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

// numberOf asks for the number of a namespace, -1 if it has none (RTM_GETNSID, ip-netns(8)).
func numberOf(namespace *os.File) (int, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return -1, os.NewSyscallError("socket", err)
	}
	defer unix.Close(fd)
	const family = 4 // struct rtgenmsg with its padding
	request := make([]byte, unix.SizeofNlMsghdr+family+unix.SizeofRtAttr+4)
	e := binary.NativeEndian
	e.PutUint32(request, uint32(len(request)))
	e.PutUint16(request[4:], unix.RTM_GETNSID)
	e.PutUint16(request[6:], unix.NLM_F_REQUEST)
	attribute := request[unix.SizeofNlMsghdr+family:]
	e.PutUint16(attribute, unix.SizeofRtAttr+4)
	e.PutUint16(attribute[2:], unix.NETNSA_FD)
	e.PutUint32(attribute[unix.SizeofRtAttr:], uint32(namespace.Fd()))
	if err := unix.Sendto(fd, request, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return -1, os.NewSyscallError("sendto", err)
	}
	reply := make([]byte, 4096)
	n, _, err := unix.Recvfrom(fd, reply, 0)
	if err != nil {
		return -1, os.NewSyscallError("recvfrom", err)
	}
	messages, err := syscall.ParseNetlinkMessage(reply[:n])
	if err != nil || len(messages) == 0 || messages[0].Header.Type != unix.RTM_NEWNSID || len(messages[0].Data) < family {
		return -1, errors.New("the kernel does not tell the number of a network namespace")
	}
	value, ok := attributes(messages[0].Data[family:])[unix.NETNSA_NSID]
	if !ok {
		return -1, errors.New("the kernel does not tell the number of a network namespace")
	}
	return int(int32(number(value))), nil
}
