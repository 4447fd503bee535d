package topology

import "piton/internal/cpuset"

// Ordinary returns the online CPUs that were not set apart at boot, all online ones
// where none is left.
func (t *Topology) Ordinary() cpuset.Set {
	return t.OnlineAmong(t.Online.AndNot(t.Isolated).AndNot(t.NohzFull))
}

// OnlineAmong returns those of the CPUs that are online, all online ones where none is.
func (t *Topology) OnlineAmong(cpus cpuset.Set) cpuset.Set {
	if cpus = cpus.And(t.Online); !cpus.Empty() {
		return cpus
	}
	return t.Online
}
