package tune

import (
	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// Cpuset returns the CPUs that the process's cpuset allows, and the cgroup that
// says so (cpuset(7), cgroups(7)).
func (t *Tuner) Cpuset(pid kernel.TID) (cpus cpuset.Set, cgroup string, err error) {
	return t.cpusetOf(pid)
}
