package hint

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"

	"piton/internal/bpf/object"
	"piton/internal/lab/netns"
)

// set prepares the object for the carrier.
func (o Options) set(spec *ebpf.CollectionSpec) error {
	if o.Carrier != IP {
		delete(spec.Programs, "hint_insert")
		delete(spec.Programs, "hint_learn")
	} else if len(o.Interfaces) == 0 {
		return errors.New("hints by an option of IPv4: no interface is given")
	}
	smallest := 0
	for _, index := range o.Interfaces {
		i, err := netns.Find(index)
		if err != nil {
			return err
		}
		if smallest == 0 || i.MTU < smallest {
			smallest = i.MTU
		}
	}
	return errors.Join(spec.Variables["all_processes"].Set(len(o.Targets) == 0),
		spec.Variables["by_ip"].Set(o.Carrier == IP), spec.Variables["mtu"].Set(uint32(smallest)))
}

// hookInterfaces attaches the programs of both directions beside others.
func (h *Hints) hookInterfaces(indices []int) error {
	for _, index := range indices {
		for name, direction := range map[string]ebpf.AttachType{"hint_insert": ebpf.AttachTCXEgress, "hint_learn": ebpf.AttachTCXIngress} {
			l, err := link.AttachTCX(link.TCXOptions{Program: h.Objects.Programs[name], Interface: index, Attach: direction})
			switch {
			case errors.Is(err, ebpf.ErrNotSupported), errors.Is(err, syscall.EINVAL) && object.ReleaseBefore(6, 6):
				return &object.Refusal{What: h.What, Why: "this kernel (" + object.Release() + ") cannot attach programs of packets that end with piton (TCX)",
					Need: "Linux 6.6"}
			case err != nil:
				return object.Explain(h.What, fmt.Errorf("attach %s to interface %d: %w", name, index, err))
			}
			h.Links = append(h.Links, l)
		}
	}
	return nil
}
