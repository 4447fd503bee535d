package action

import (
	"cmp"
	"context"
	"slices"
	"time"

	"piton/internal/bench/runner"
	"piton/internal/cpuset"
	"piton/internal/irq"
	"piton/internal/model"
	"piton/internal/procfs"
	"piton/internal/topology"
	"piton/internal/watch"
)

// LookAtFlows returns a Look at the flows of processes by eBPF, which is attached only as long
// as it lasts.
func LookAtFlows(fs procfs.FS, topo *topology.Topology, of watch.Targets) Look {
	return func(ctx context.Context, d time.Duration) (Seen, error) {
		flows, err := watch.OpenFollow(fs, of)
		if err != nil {
			return Seen{}, err
		}
		defer flows.Close()
		if err := runner.Pause(ctx, d); err != nil {
			return Seen{}, err
		}
		now, err := flows.Read()
		if err != nil {
			return Seen{}, err
		}
		return seenOf(irq.New(fs.Root()), topo, now), nil
	}
}

// seenOf sums up flows.
func seenOf(fs irq.FS, topo *topology.Topology, now watch.Flows) Seen {
	s := Seen{Flows: now, Locality: model.LocalityOf(now.List, topo)}
	var consumers cpuset.Builder
	ways := irq.NewWays(fs, &irq.Table{})
	for _, c := range now.List {
		consumers.Add(c.Consumed)
		way := ways.Of(c.NetNS, c.Interface, c.Queue)
		if name := cmp.Or(way.Device, way.Interface); name != "" && !slices.Contains(s.NICs, name) {
			s.NICs = append(s.NICs, name)
		}
	}
	slices.Sort(s.NICs)
	s.Consumers = consumers.Set()
	return s
}
