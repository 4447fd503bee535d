package steer

import (
	"piton/internal/bpf/object"
	"piton/internal/kernel"
	"piton/internal/lab/netns"
)

// Check reports why Open would not work, as far as that shows without attaching anything: a
// Refusal, or an interface that is not there. A driver that has no native XDP shows only then.
func Check(o Options) error {
	if err := o.check(); err != nil {
		return err
	}
	return kernel.WithBPF(func() error {
		if err := object.Usable(steerName); err != nil {
			return err
		}
		devices, err := find(o.Interfaces)
		if err != nil {
			return err
		}
		for _, d := range devices {
			if o.Mode != Native {
				continue
			}
			if why := lossy(d, o.Policy); why != "" {
				return notNative(d, why)
			}
		}
		return nil
	})
}

func notNative(d netns.Interface, why string) error {
	return &object.Refusal{What: steerName, Why: "native XDP is not to be had on " + d.Name + ": " + why}
}
