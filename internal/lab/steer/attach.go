package steer

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"

	"piton/internal/bpf/object"
	"piton/internal/lab/netns"
)

// Mode is where in the kernel packets are looked at.
type Mode uint8

// The modes.
const (
	Auto    Mode = iota // Native, and Generic where that is not to be had
	Native              // in the driver, before the kernel has a buffer for the packet
	Generic             // after it; slower, and the packets are not merged (GRO)
)

// String is the mode's name.
func (m Mode) String() string { return [...]string{"auto", "native", "generic"}[m] }

// Interface is one that is steered.
type Interface struct {
	Index int
	Name  string
	Mode  Mode   // Native or Generic
	Why   string // not Native, half a sentence
}

// find looks at the interfaces of the calling thread's network namespace.
func find(indices []int) ([]netns.Interface, error) {
	var all []netns.Interface
	for _, index := range indices {
		i, err := netns.Find(index)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", steerName, err)
		}
		if i.Xdp.Attached {
			return nil, occupied(i)
		}
		all = append(all, i)
	}
	return all, nil
}

// occupied names the program in the way.
func occupied(i netns.Interface) error {
	program := fmt.Sprintf("program %d", i.Xdp.ProgId)
	if p, err := ebpf.NewProgramFromID(ebpf.ProgramID(i.Xdp.ProgId)); err == nil {
		if info, err := p.Info(); err == nil && info.Name != "" {
			program = fmt.Sprintf("%s (%s)", info.Name, program)
		}
		p.Close()
	}
	return &object.Refusal{What: steerName, Why: i.Name + " has another XDP program already: " + program, Need: "to detach that one"}
}

func (s *Steering) attach(devices []netns.Interface, o Options) error {
	for _, d := range devices {
		i := Interface{Index: d.Index, Name: d.Name, Mode: Native}
		if o.Mode == Generic {
			i.Mode, i.Why = Generic, "generic was asked for"
		} else if i.Why = lossy(d, o.Policy); i.Why != "" {
			i.Mode = Generic
		}
		var l link.Link
		var err error
		if i.Mode == Native {
			if l, err = s.hook(d, link.XDPDriverMode); err != nil {
				i.Mode, i.Why = Generic, "its driver refuses ("+reason(err)+")"
			}
		}
		if i.Mode == Generic {
			if l, err = s.generic(d, i.Why, o); err != nil {
				return err
			}
		}
		s.Links = append(s.Links, l)
		s.attached = append(s.attached, l)
		s.Interfaces = append(s.Interfaces, i)
	}
	return nil
}

func (s *Steering) generic(d netns.Interface, why string, o Options) (link.Link, error) {
	if o.Mode == Native {
		return nil, notNative(d, why)
	}
	if o.Policy != Pass && !genericWorks() {
		return nil, &object.Refusal{What: steerName, Why: "native XDP is not to be had on " + d.Name + " (" + why + "), and this kernel (" +
			object.Release() + ") cannot redirect packets in generic XDP", Need: "Linux 5.15"}
	}
	l, err := s.hook(d, link.XDPGenericMode)
	if err != nil {
		if now, gone := netns.Find(d.Index); gone != nil {
			return nil, fmt.Errorf("%s: %w", steerName, gone)
		} else if now.Xdp.Attached {
			return nil, occupied(now)
		}
		return nil, fmt.Errorf("attach to %s: %w", d.Name, err)
	}
	return l, nil
}

// reason is the kernel's part of an error of the loader.
func reason(err error) string {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno.Error()
	}
	return err.Error()
}

func (s *Steering) hook(d netns.Interface, flags link.XDPAttachFlags) (link.Link, error) {
	return link.AttachXDP(link.XDPOptions{Program: s.Objects.Programs["steer_packet"], Interface: d.Index, Flags: flags})
}

// lossy says why packets that are redirected in the driver would not arrive, "" if they
// would: the other end of a veth(4) leaves checksums to this one, and a redirected packet
// does not have the note that says so.
func lossy(d netns.Interface, policy Policy) string {
	if d.Kind != "veth" || policy == Pass {
		return ""
	}
	on, peer, err := netns.PeerTxChecksum(d)
	switch {
	case err != nil:
		return "whether the other end of " + d.Name + " leaves out checksums could not be read (" + err.Error() + "), and native XDP would lose such packets"
	case on:
		return "the other end of " + d.Name + ", " + peer + ", leaves out checksums, and native XDP would lose its packets (ethtool -K " + peer + " tx off there helps)"
	}
	return ""
}

func (s *Steering) gone() error {
	var all []error
	for i, l := range s.attached {
		info, err := l.Info()
		if err != nil {
			continue // closed meanwhile
		}
		if x := info.XDP(); x != nil && x.Ifindex == 0 {
			all = append(all, fmt.Errorf("%s: %s: %w", steerName, s.Interfaces[i].Name, netns.ErrGone))
		}
	}
	return errors.Join(all...)
}
