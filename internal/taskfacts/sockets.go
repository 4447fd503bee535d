package taskfacts

import (
	"cmp"
	"context"
	"errors"
	"net"
	"slices"
	"strconv"
	"strings"
	"syscall"

	gnet "github.com/shirou/gopsutil/v4/net"

	"piton/internal/kernel"
)

// readSockets reads the sockets among the open files, and which CPU each last
// received on. Only the running machine can be asked for the latter.
func (f *Facts) readSockets(ctx context.Context, live bool) {
	if f.Files.Why != "" { // gopsutil would say that there are none
		f.Sockets.Why, f.NoCPU = f.Files.Why, f.Files.Why
		return
	}
	if !slices.ContainsFunc(f.Files.Value, func(o File) bool { return strings.HasPrefix(o.Path, "socket:") }) {
		return
	}
	if !live { // gopsutil would follow links out of the tree
		f.Sockets.Why = "not known of a recorded machine"
		return
	}
	conns, err := gnet.ConnectionsPidWithoutUidsWithContext(ctx, "all", int32(f.PID))
	list := make([]Socket, 0, len(conns))
	for _, c := range conns {
		list = append(list, socketOf(c))
	}
	slices.SortFunc(list, func(a, b Socket) int { return cmp.Compare(a.FD, b.FD) })
	f.Sockets = known(list, err, needsRead)
	f.NoCPU = incomingCPUs(f.PID, list)
}

// incomingCPUs fills in IncomingCPU, or says why it cannot.
func incomingCPUs(pid kernel.TID, list []Socket) (why string) {
	var fds, at []int
	for i := range list {
		if list[i].Kind != "unix" { // no packets, no CPU
			fds, at = append(fds, list[i].FD), append(at, i)
		}
	}
	if len(fds) == 0 {
		return ""
	}
	cpus, err := kernel.IncomingCPUs(pid, fds)
	switch {
	case errors.Is(err, syscall.EPERM):
		return needsTrace
	case errors.Is(err, syscall.ENOSYS):
		return "needs Linux 5.6"
	case err != nil:
		return err.Error()
	}
	for k, cpu := range cpus {
		list[at[k]].IncomingCPU = cpu
	}
	return ""
}

func socketOf(c gnet.ConnectionStat) Socket {
	s := Socket{FD: int(c.Fd), IncomingCPU: -1, Local: address(c.Laddr), Remote: address(c.Raddr)}
	switch {
	case c.Family == syscall.AF_UNIX:
		s.Kind, s.Local, s.Remote = "unix", c.Laddr.IP, ""
		return s
	case c.Type == syscall.SOCK_STREAM:
		s.Kind, s.State = "tcp", c.Status
	default:
		s.Kind = "udp"
	}
	if c.Family == syscall.AF_INET6 {
		s.Kind += "6"
	}
	return s
}

// address is "127.0.0.1:80"; "" of a side that is not there.
func address(a gnet.Addr) string {
	if a.Port == 0 {
		return ""
	}
	return net.JoinHostPort(a.IP, strconv.Itoa(int(a.Port)))
}

// String is the socket in one line: "tcp 10.0.0.1:80 - 10.0.0.7:4711 ESTABLISHED".
func (s Socket) String() string {
	words := []string{s.Kind, s.Local}
	if s.Remote != "" {
		words = append(words, "-", s.Remote)
	}
	return strings.Join(slices.DeleteFunc(append(words, s.State), func(w string) bool { return w == "" }), " ")
}
