package model

import (
	"fmt"
	"testing"
	"time"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/sample"
	"piton/internal/topology"
)

func BenchmarkNext(b *testing.B) {
	for _, bc := range []struct{ tasks, cpus int }{{1000, 8}, {10000, 2}, {10000, 512}} {
		b.Run(fmt.Sprintf("%dtasks/%dcpus", bc.tasks, bc.cpus), func(b *testing.B) {
			topo := &topology.Topology{}
			for i := range bc.cpus {
				topo.CPUs = append(topo.CPUs, topology.CPU{ID: cpuset.CPU(i), Online: true})
			}
			topo = topology.New(*topo)
			a, c := machine(1, bc.tasks, bc.cpus), machine(2, bc.tasks, bc.cpus)
			m := Next(nil, a, topo)
			b.ReportAllocs()
			for b.Loop() {
				Next(m, c, topo)
			}
		})
	}
}

// machine is a sample at second s in which one task of 50 ran.
func machine(s uint64, tasks, cpus int) *sample.Sample {
	smp := at(0)
	smp.At = time.Duration(s) * time.Second
	id := &sample.Identity{Comm: "t"}
	mask := cpuset.Of(0, 1)
	for i := range tasks {
		t := sample.Task{TID: kernel.TID(i + 1), TGID: kernel.TID(i + 1), Threads: 1, State: 'S', ID: id, Affinity: mask,
			Have: sample.HaveRun | sample.HaveTime | sample.HaveAffinity | sample.HaveMigrations, LastCPU: int32(i % cpus), RSSPages: 100}
		if i%50 == 0 {
			t.RunNs, t.RunDelayNs = s*1e8, s*1e7
		}
		smp.Tasks = append(smp.Tasks, &t)
	}
	for i := range cpus {
		smp.CPUs = append(smp.CPUs, sample.CPU{ID: cpuset.CPU(i), UserTicks: s * 50, IdleTicks: s * 50, HaveIn: true})
	}
	return smp
}
