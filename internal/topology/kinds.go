package topology

import (
	"strconv"

	"piton/internal/cpuset"
)

// readKinds tells P from E cores: on hybrid Intel machines each sort has a PMU
// of its own that lists its CPUs (cpu_lowpower is the E cores of the SoC tile);
// on arm64 cpu_capacity says how fast a core is beside the fastest one.
func (t *Topology) readKinds(devices string) {
	d := dir(devices)
	if atom, ok := d.list("cpu_atom/cpus"); ok {
		lowpower, _ := d.list("cpu_lowpower/cpus")
		core, _ := d.list("cpu_core/cpus")
		t.setKinds(core, atom.Or(lowpower))
		return
	}
	t.readCapacities(d)
}

func (t *Topology) setKinds(p, e cpuset.Set) {
	for i := range t.CPUs {
		switch c := &t.CPUs[i]; {
		case !c.Online:
		case e.Has(c.ID):
			c.Kind = KindEfficiency
		case p.Has(c.ID):
			c.Kind = KindPerformance
		}
	}
}

// readCapacities goes by cpu_capacity (1024 is the fastest CPU of the machine).
// Differences of up to 5 % are no other kind of core: the scheduler does not
// count them either (capacity_greater, kernel/sched/fair.c).
func (t *Topology) readCapacities(d dir) {
	capacity := map[cpuset.CPU]int{}
	fastest, slowest := 0, 0
	for _, id := range t.firstOfCores() {
		n, ok := d.number("system/cpu/cpu", strconv.Itoa(int(id)), "/cpu_capacity")
		if !ok {
			return
		}
		capacity[id] = n
		if fastest = max(fastest, n); slowest == 0 || n < slowest {
			slowest = n
		}
	}
	isP := func(n int) bool { return n*1078 > fastest*1024 }
	if isP(slowest) {
		return
	}
	for i := range t.CPUs {
		c := &t.CPUs[i]
		if !c.Online {
			continue
		}
		if c.Kind = KindEfficiency; isP(capacity[c.Core.First()]) {
			c.Kind = KindPerformance
		}
	}
}
