package paper

import (
	"context"
	"os"

	"piton/internal/bpf/hint"
	"piton/internal/bpf/steer"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/procfs"
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

// hintOn has the clients' CPUs travel with their connections, which this process makes.
func hintOn(_ context.Context, d *Delivery) (func() error, error) {
	cgroup, err := procfs.New("/").UnifiedCgroup()
	if err != nil {
		return nil, err
	}
	answers, err := hint.Serve(hint.Options{Cgroup: cgroup})
	if err != nil {
		return nil, err
	}
	asks, err := hint.Attach(hint.Options{Cgroup: cgroup, Targets: []kernel.TID{kernel.TID(os.Getpid())}})
	if err != nil {
		answers.Close()
		return nil, err
	}
	_, off, err := d.steer(steer.Options{Policy: steer.Hint})
	if err != nil {
		asks.Close()
		answers.Close()
		return nil, err
	}
	return func() error {
		defer answers.Close()
		defer asks.Close()
		return off()
	}, nil
}
