package steer

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/link"

	"piton/internal/bpf/object"
	"piton/internal/kernel"
)

// Open begins to steer. An error that Is feature.ErrNotSupported says what is missing or in
// the way; nothing is attached then.
func Open(o Options) (*Steering, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	var s *Steering
	err := kernel.WithBPF(func() (err error) {
		s, err = open(o)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (o Options) check() error {
	if len(o.Interfaces) == 0 {
		return errors.New("steering of packets: no interface is given")
	}
	if o.CPUs.Empty() && o.Policy != Pass {
		return errors.New("steering of packets: no CPU is given")
	}
	return nil
}

func open(o Options) (*Steering, error) {
	if err := object.Usable(steerName); err != nil {
		return nil, err
	}
	devices, err := find(o.Interfaces)
	if err != nil {
		return nil, err
	}
	s := &Steering{Object: object.Object{What: steerName}}
	if err := s.load(o); err != nil {
		return nil, err
	}
	s.targets.Entries = s.Objects.Maps["targets"]
	if err = s.fill(o); err == nil {
		err = s.learn()
	}
	if err == nil {
		err = s.attach(devices, o)
	}
	if err != nil {
		s.Close()
		return nil, object.Explain(steerName, err)
	}
	return s, nil
}

// load puts the programs that this policy and this kernel can use into the kernel.
func (s *Steering) load(o Options) error {
	spec, err := object.Spec(steerObject)
	if err != nil {
		return err
	}
	possible, err := object.PossibleCPUs(steerName)
	if err != nil {
		return err
	}
	spec.Maps["cpus"].MaxEntries = uint32(possible) // E2BIG for more
	spec.Maps["choices"].MaxEntries = uint32(possible)
	if err := spec.Variables["policy"].Set(uint32(o.Policy)); err != nil {
		return err
	}
	names, err := hooks(o.Policy)
	if err != nil {
		return err
	}
	for name := range spec.Programs {
		if !names[name] {
			delete(spec.Programs, name)
		}
	}
	s.Objects, err = object.Load(steerName, spec)
	return err
}

func hooks(policy Policy) (map[string]bool, error) {
	all := map[string]bool{"steer_packet": true, "steer_enqueue": true}
	if policy == Pass || policy == Hint || policy == HintByIP {
		return all, nil
	}
	traced, err := object.HasTracepoint(steerName, "sock_recv_length")
	switch {
	case err != nil:
		return nil, err
	case traced:
		all["steer_read"], all["steer_send"] = true, true
	case runtime.GOARCH != "amd64": // arguments of functions are in other registers
		return nil, &object.Refusal{What: steerName, Why: "this kernel (" + object.Release() + ") has no tracepoint for reads of sockets", Need: "Linux 6.3"}
	default:
		all["steer_recvmsg"], all["steer_sendmsg"] = true, true
	}
	return all, nil
}

// Functions of the kernel that read and write sockets, for kernels without the tracepoints.
var (
	readers = []string{"tcp_recvmsg", "udp_recvmsg", "udpv6_recvmsg"}
	writers = []string{"tcp_sendmsg", "udp_sendmsg", "udpv6_sendmsg"}
)

// learn hooks what finds out whose the flows are.
func (s *Steering) learn() (err error) {
	names := []string{"steer_enqueue"}
	if s.Objects.Programs["steer_read"] != nil {
		names = append(names, "steer_read", "steer_send")
	}
	if s.Links, err = object.Attach(steerName, s.Objects, names...); err != nil {
		return err
	}
	if err := s.probe(s.Objects.Programs["steer_recvmsg"], readers); err != nil {
		return err
	}
	return s.probe(s.Objects.Programs["steer_sendmsg"], writers)
}

// probe hooks a program to functions of the kernel, but for those it lacks.
func (s *Steering) probe(p *ebpf.Program, functions []string) error {
	if p == nil {
		return nil
	}
	for i, name := range functions {
		l, err := link.Kprobe(name, p, nil)
		switch {
		case err == nil:
			s.Links = append(s.Links, l)
		case i > 0 && errors.Is(err, os.ErrNotExist): // ipv6 can be missing
			s.Partial = name + " cannot be traced: its flows are not steered"
		default:
			return fmt.Errorf("attach to %s: %w", name, err)
		}
	}
	return nil
}

// genericWorks reports whether packets can be redirected outside the driver: before Linux
// 5.15 the kernel drops them.
func genericWorks() bool {
	types := object.KernelTypes()
	defer runtime.KeepAlive(types)
	layout, err := types.Kernel()
	if err != nil {
		return false
	}
	var function *btf.Func
	return layout.TypeByName("cpu_map_generic_redirect", &function) == nil
}
