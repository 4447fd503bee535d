// Package hint lets the CPU of a consumer travel with TCP connections, as an option of TCP
// or of IPv4 (c/hint.h): Attach writes it into the packets of connections that processes make, Serve
// echoes it in the replies of servers, programs of both kinds unchanged. It steers
// nothing: a program that receives the replies can by the echo.
//
// Only connections made after Attach and Serve take part, MPTCP excepted. What a Carrier
// costs is said there.
//
// Start at Attach.
package hint

import (
	_ "embed" // the object
	"errors"
	"fmt"
	"os"
	"structs"
	"syscall"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"

	"piton/internal/bpf/object"
	"piton/internal/kernel"
)

//go:embed hint_bpfel.o
var hintObject []byte

const (
	askName    = "consumer hints"
	answerName = "echo of consumer hints"
)

// Option is the hint as a TCP option.
const (
	OptionKind   = 253 // HINT_KIND of c/hint.h
	OptionLength = 8
)

// Programs are the names of this package's programs.
var Programs = map[ebpf.ProgramType][]string{ebpf.SockOps: {"hint_ask", "hint_answer"}, ebpf.Tracing: {"hint_read"},
	ebpf.SchedCLS: {"hint_insert", "hint_learn"}}

// Carrier is what carries the hint.
type Carrier uint8

// The carriers.
const (
	// TCP is an option of 8 bytes of each packet, over IPv4 and IPv6.
	TCP Carrier = iota
	// IP is the option {0xA0|CPU, 2, 0, 0} of IPv4, for CPUs 0 to 31. The kernel does
	// not merge packets with options of IPv4 (GRO), and routers may drop them. Linux 6.6.
	IP
)

// String is the carrier's name.
func (c Carrier) String() string { return [...]string{"tcp", "ip"}[c] }

// Options says whose connections are hinted, or echo hints.
type Options struct {
	Cgroup  string       // folder of a cgroup of version 2
	Targets []kernel.TID // processes in it; none: all. They do not count for Serve
	Carrier Carrier
	// Interfaces that packets with the option of IPv4 leave and come in by, by their indices
	// in the calling thread's network namespace.
	Interfaces []int
}

// Hints are in the kernel until Close, or until this process ends. Safe for concurrent use.
type Hints struct {
	object.Object
	targets object.TargetSet // of Attach
}

// Sums is what there was since the beginning.
type Sums struct { // struct sums of c/hint.c
	_           structs.HostLayout
	Connections uint64 // made by the targets, or accepted
	Hinted      uint64 // of those: the peer echoes hints, or sends them
	// Written are packets with the option, as large as TCP makes them for an interface that
	// cuts them into segments.
	Written uint64
}

// Attach begins to hint connections. An error that Is feature.ErrNotSupported says what
// is missing.
func Attach(o Options) (*Hints, error) {
	return open(askName, o, "hint_ask", []string{"hint_answer"}, func(h *Hints) (err error) {
		h.targets.Entries = h.Objects.Maps["targets"]
		if err = h.targets.Set(o.Targets); err != nil {
			return err
		}
		h.Links, err = object.Attach(askName, h.Objects, "hint_read")
		return err
	})
}

// SetTargets replaces the targets of Attach, for connections that they make from then on.
func (h *Hints) SetTargets(ids ...kernel.TID) error {
	return h.Use(func() error { return h.targets.Set(ids) })
}

// Serve begins to echo hints in connections that processes of a cgroup accept.
func Serve(o Options) (*Hints, error) {
	return open(answerName, o, "hint_answer", []string{"hint_ask", "hint_read"}, func(*Hints) error { return nil })
}

// open loads the object but for some programs, and hooks one to the cgroup last.
func open(what string, o Options, program string, without []string, arm func(*Hints) error) (*Hints, error) {
	info, err := os.Stat(o.Cgroup)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() { // to open a fifo would wait
		return nil, fmt.Errorf("%s by eBPF: %s is no cgroup of version 2", what, o.Cgroup)
	}
	folder, err := os.Open(o.Cgroup) // not with raised rights: users can name it
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	return object.Privileged(func() (*Hints, error) {
		if err := object.Usable(what); err != nil {
			return nil, err
		}
		if held, err := kernel.UsableCapabilities(); err == nil && !held.Has(kernel.CapNetAdmin) {
			return nil, &object.Refusal{What: what, Why: "it takes " + capNetAdmin + ", which this process does not have", Need: capNetAdmin}
		}
		spec, err := object.Spec(hintObject)
		if err != nil {
			return nil, err
		}
		h := &Hints{Object: object.Object{What: what}}
		for _, name := range without {
			delete(spec.Programs, name)
		}
		if err = o.set(spec); err == nil {
			h.Objects, err = object.Load(what, spec)
		}
		if err != nil {
			return nil, err
		}
		if err = arm(h); err == nil {
			err = h.hook(folder, program)
		}
		if err == nil && o.Carrier == IP {
			err = h.hookInterfaces(o.Interfaces)
		}
		if err != nil {
			h.Close()
			return nil, err
		}
		return h, nil
	})
}

const capNetAdmin = "CAP_NET_ADMIN" // for programs of a cgroup's network (bpf(2))

// hook attaches the program to the cgroup beside others.
func (h *Hints) hook(folder *os.File, program string) error {
	l, err := link.AttachRawLink(link.RawLinkOptions{
		Target: int(folder.Fd()), Program: h.Objects.Programs[program], Attach: ebpf.AttachCGroupSockOps})
	switch {
	case errors.Is(err, syscall.EBADF):
		return fmt.Errorf("%s by eBPF: %s is no cgroup of version 2", h.What, folder.Name())
	case errors.Is(err, syscall.EPERM): // hierarchy_allows_attach of kernel/bpf/cgroup.c, for all rights are held
		return &object.Refusal{What: h.What, Why: folder.Name() + " or a cgroup around it has a program that shares its hook with no other",
			Need: "the other program's end"}
	case err != nil:
		return object.Explain(h.What, fmt.Errorf("attach %s: %w", program, err))
	}
	h.Links = append(h.Links, l)
	return nil
}

// Read returns what there was until now.
func (h *Hints) Read() (sums Sums, err error) {
	err = h.Use(func() error {
		var cpus []Sums
		if err := h.Objects.Maps["sums"].Lookup(uint32(0), &cpus); err != nil {
			return err
		}
		for _, one := range cpus {
			sums.Connections += one.Connections
			sums.Hinted += one.Hinted
			sums.Written += one.Written
		}
		return nil
	})
	return sums, err
}
