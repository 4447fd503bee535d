package paper

import (
	"context"

	"piton/internal/bpf/steer"
	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// xdpArm is a policy of the study made with XDP and a map of CPUs. It follows the clients of
// each period from their start.
func xdpArm(name string, policy steer.Policy) DeliveryArm {
	return DeliveryArm{name, func(_ context.Context, d *Delivery) (func() error, error) {
		_, off, err := d.steer(steer.Options{Policy: policy})
		return off, err
	}}
}

// steer begins to steer the clients' packets on all interfaces.
func (d *Delivery) steer(o steer.Options) (s *steer.Steering, off func() error, err error) {
	o.CPUs, o.Apart = cpuset.Of(d.CPUs...), map[cpuset.CPU]cpuset.CPU{}
	for i, cpu := range d.CPUs {
		o.Apart[cpu] = d.CPUs[(i+1)%len(d.CPUs)]
	}
	for _, name := range d.Net.Interfaces {
		index, err := d.Net.Client.InterfaceIndex(name)
		if err != nil {
			return nil, nil, err
		}
		o.Interfaces = append(o.Interfaces, index)
	}
	err = d.Net.Client.Do(func() (err error) {
		s, err = steer.Open(o)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	d.Started = func(clients []kernel.TID) error { return s.SetTargets(clients...) }
	return s, func() error {
		d.Started = nil
		s.Close()
		return nil
	}, nil
}

func xdpDedicatedOn(_ context.Context, d *Delivery) (func() error, error) {
	s, off, err := d.steer(steer.Options{Policy: steer.Chosen})
	if err == nil {
		err = s.SetChoice(cpuset.Of(d.CPUs[len(d.CPUs)-1]))
	}
	return off, err
}

func xdpLeastLoadedOn(ctx context.Context, d *Delivery) (func() error, error) {
	s, off, err := d.steer(steer.Options{Policy: steer.Chosen})
	if err != nil {
		return nil, err
	}
	return followLeastLoaded(ctx, d.CPUs, func(cpu cpuset.CPU) error { return s.SetChoice(cpuset.Of(cpu)) }, off)
}
