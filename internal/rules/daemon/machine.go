package daemon

import (
	"errors"
	"fmt"
	"time"

	"piton/internal/action"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/rules"
	"piton/internal/sample"
	"piton/internal/topology"
)

// Live is the Machine that piton runs on.
type Live struct {
	root      string
	ebpf      sample.EBPF // for rates and loads
	processes *sample.Processes
	sampler   *sample.Sampler
	loaded    sample.EBPF // of the sampler
	topo      *topology.Topology
	model     *model.Model
	parts     func(comm string) sample.Parts // that rules of the set match by
	places    bool                           // a rule of the set has a strategy
	tunings   map[*rules.Rule]action.Tuning  // by the topology
}

// The age of the load by which a strategy chooses.
const (
	firstLoad = 250 * time.Millisecond // as piton pin measures it
	oldLoad   = 100 * time.Millisecond
)

// OpenLive returns the machine whose /proc and /sys are below root.
func OpenLive(root string, ebpf sample.EBPF) (*Live, error) {
	processes, err := sample.NewProcesses(root)
	if err != nil {
		return nil, fmt.Errorf("look at the processes: %w", err)
	}
	return &Live{root: root, ebpf: ebpf, processes: processes}, nil
}

// Use is part of Machine. Only triggers and strategies need eBPF programs to sample by:
// they take memory, and a list of processes now and then is read without them.
func (l *Live) Use(set *rules.Set) error {
	topo, err := topology.Read(l.root)
	if err != nil {
		return fmt.Errorf("read the topology: %w", err)
	}
	for _, r := range set.Rules {
		if _, err := r.Tuning(topo); err != nil {
			return err
		}
		if !r.Follows() {
			continue
		}
		if _, err := r.Delivery(topo); err != nil {
			return err
		}
	}
	needs, ebpf := sample.Needs{Identity: true, Exe: true, BothUsers: true}, sample.EBPFNever
	if set.Triggers() {
		needs.Migrations, needs.PingPongs, needs.Delay, needs.ThreadDelay, ebpf = true, true, true, true, l.ebpf
	}
	if set.Places() {
		needs.Affinity, needs.Threads, needs.Delay, needs.All, ebpf = true, true, true, true, l.ebpf
	}
	if l.sampler != nil && l.loaded == ebpf {
		l.sampler.SetNeeds(needs)
	} else {
		s, err := sample.New(sample.Options{Root: l.root, Needs: needs, EBPF: ebpf})
		if err != nil {
			return fmt.Errorf("look at the processes: %w", err)
		}
		if l.sampler != nil {
			_ = l.sampler.Close() // it was read only
		}
		l.sampler, l.loaded, l.model = s, ebpf, nil
	}
	l.topo, l.tunings, l.parts, l.places = topo, map[*rules.Rule]action.Tuning{}, set.Parts, set.Places()
	return nil
}

// Process is part of Machine. An event that says which process it is saves reading that.
func (l *Live) Process(e kernel.ProcEvent) (*sample.Task, error) {
	if e.StartNs != 0 && e.Comm != "" {
		return l.processes.Begun(e.PID, e.StartNs/tickNs, e.Comm, l.parts(e.Comm)), nil
	}
	return l.processes.Read(e.PID, l.parts)
}

// Read is part of Machine.
func (l *Live) Read() (*model.Model, error) {
	if l.model == nil && l.places {
		if err := l.read(); err != nil {
			return nil, err
		}
		time.Sleep(firstLoad)
	}
	err := l.read()
	return l.model, err
}

func (l *Live) read() error {
	n, err := l.sampler.Read()
	if err != nil {
		return err
	}
	if len(n.CPUs) != l.topo.Online.Len() { // of which CPUs came or went since
		if err := l.survey(); err != nil {
			return err
		}
	}
	l.model = model.Next(l.model, n, l.topo)
	return nil
}

// survey reads the topology anew.
func (l *Live) survey() error {
	topo, err := topology.Read(l.root)
	if err != nil {
		return fmt.Errorf("read the topology: %w", err)
	}
	l.topo = topo
	clear(l.tunings)
	return nil
}

// Tuning is what a rule asks for on the machine as it is now.
func (l *Live) Tuning(r *rules.Rule) (action.Tuning, error) {
	if t, known := l.tunings[r]; known {
		return t, nil
	}
	t, err := r.Tuning(l.topo)
	if err == nil {
		l.tunings[r] = t
	}
	return t, err
}

// Load is the machine's for a strategy to choose by.
func (l *Live) Load() (*model.Model, error) {
	if l.model == nil || time.Since(l.model.Sample.Wall) > oldLoad {
		return l.Read()
	}
	return l.model, nil
}

// Close closes what is open.
func (l *Live) Close() error {
	err := l.processes.Close()
	if l.sampler != nil {
		err = errors.Join(err, l.sampler.Close())
	}
	return err
}
