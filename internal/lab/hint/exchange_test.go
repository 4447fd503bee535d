package hint

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// What a child exchanges over the loopback interface of a network namespace of its own.
const (
	rounds     = 40
	replyBytes = 64 << 10
)

// exchanged is what the child saw on the wire.
type exchanged struct {
	Replies uint64 // bytes of data from the server
	Echoed  uint64 // of them in packets whose echo is the CPU on which the round's reader ran
	Wrong   map[string]int
	// Delivered is how many bytes were handled on the CPU on which they were read, of steered.
	Delivered uint64
	Sums      []Sums // of the client's side and the server's, where the child attached them
	Skip      string
}

var loopback = map[string]string{"tcp4": "127.0.0.1:0", "tcp6": "[::1]:0"}

// wireHint is struct hint of c/hint.h without kind and length.
type wireHint struct{ ID, Consumer, Echo uint16 }

// exchange makes a connection over which a thread asks for replies, and reads each on
// another CPU. With "threads", another thread asks.
func exchange(role string) error {
	network := "tcp4"
	if strings.Contains(role, "6") {
		network = "tcp6"
	}
	if err := loopbackUp(); err != nil {
		return err
	}
	wire, err := listenPackets()
	if err != nil {
		return err
	}
	var config net.ListenConfig
	config.SetMultipathTCP(false)
	l, err := config.Listen(context.Background(), network, loopback[network])
	if err != nil {
		return err
	}
	defer l.Close()
	go func() {
		if c, err := l.Accept(); err == nil {
			serveReplies(c)
		}
	}()
	port := l.Addr().(*net.TCPAddr).Port

	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		return err
	}
	var cpus []int
	for cpu := range 1024 {
		if allowed.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	runtime.LockOSThread()
	c, err := net.Dial(network, l.Addr().String())
	if err != nil {
		return err
	}
	asks := make(chan bool)
	asked := make(chan error)
	go func() {
		runtime.LockOSThread()
		for range asks {
			_, err := c.Write([]byte{1})
			asked <- err
		}
	}()
	var result exchanged
	result.Wrong = map[string]int{}
	buffer := make([]byte, replyBytes)
	for round := range rounds {
		cpu := cpus[round%len(cpus)]
		var only unix.CPUSet
		only.Set(cpu)
		if err := unix.SchedSetaffinity(0, &only); err != nil {
			return err
		}
		if strings.Contains(role, "threads") && round > 0 { // before, the one that writes counts
			asks <- true
			err = <-asked
		} else {
			_, err = c.Write([]byte{1})
		}
		if err != nil {
			return err
		}
		if _, err := io.ReadFull(c, buffer); err != nil {
			return err
		}
		if err := wire.count(&result, port, uint16(cpu)); err != nil {
			return err
		}
	}
	return json.NewEncoder(os.Stdout).Encode(result)
}

func serveReplies(c io.ReadWriter) {
	reply := make([]byte, replyBytes)
	for {
		if _, err := io.ReadFull(c, reply[:1]); err != nil {
			return
		}
		if _, err := c.Write(reply); err != nil {
			return
		}
	}
}

func loopbackUp() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, request)
}

// packets is a socket that gets all packets of the network namespace.
type packets int

func listenPackets() (packets, error) {
	const all = 0x0300 // ETH_P_ALL in network byte order
	s, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK, all)
	if err == nil {
		err = unix.SetsockoptInt(s, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 64<<20)
	}
	return packets(s), err
}

// count takes the packets that came until now.
func (p packets) count(e *exchanged, port int, want uint16) error {
	head := make([]byte, 256)
	for {
		n, from, err := unix.Recvfrom(int(p), head, unix.MSG_TRUNC)
		if errors.Is(err, syscall.EAGAIN) {
			return nil
		}
		if err != nil {
			return err
		}
		if from.(*unix.SockaddrLinklayer).Pkttype == unix.PACKET_OUTGOING {
			continue // it comes again, as received
		}
		at := int(head[0]&15) * 4
		if head[0]>>4 == 6 {
			at = 40
		}
		tcp := head[at:]
		options := int(tcp[12]>>4) * 4
		data := n - at - options
		if data <= 0 || int(binary.BigEndian.Uint16(tcp)) != port {
			continue
		}
		e.Replies += uint64(data)
		switch h, ok := findHint(tcp[20:options]); {
		case ok && h.Echo == want && h.Consumer == 0xffff:
			e.Echoed += uint64(data)
		default:
			e.Wrong[fmt.Sprintf("%v %+v for %d", ok, h, want)]++
		}
	}
}

// findHint parses options one by one (RFC 9293, 3.1).
func findHint(options []byte) (h wireHint, ok bool) {
	for len(options) > 1 && options[0] != 0 {
		length := int(options[1])
		if options[0] == 1 {
			length = 1
		}
		if length == 0 || length > len(options) {
			return h, false
		}
		if options[0] == OptionKind && length == OptionLength && binary.BigEndian.Uint16(options[2:]) == 0x5069 {
			return wireHint{0x5069, binary.BigEndian.Uint16(options[4:]), binary.BigEndian.Uint16(options[6:])}, true
		}
		options = options[length:]
	}
	return h, false
}
