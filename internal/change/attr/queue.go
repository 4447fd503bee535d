package attr

import (
	"syscall"

	"piton/internal/pattern"
)

// The attributes of network queues (Documentation/networking/scaling.rst).
const (
	RPSCPUs    Attribute = "rps-cpus"     // CPUs that process a receive queue's packets, a cpuset.Set
	XPSCPUs    Attribute = "xps-cpus"     // CPUs whose packets take a sending queue, a cpuset.Set
	RPSFlows   Attribute = "rps-flow-cnt" // flows of a receive queue that RFS steers, a Count
	RFSEntries Attribute = "rfs-entries"  // of RFS's table, for all interfaces, a Count
)

const queuePath = `/sys/class/net/[^/\s\x00]+/queues/`

var rpsCPUs = spec{
	path: pattern.Whole(queuePath + `rx-[0-9]+/rps_cpus`), parse: parseAnyCPUs, cpus: true, mask: true,
	title: "RPS CPUs", noun: "receive queue", prepare: prepareMask, adjusted: keptCPUs,
	explain: func(m *Machine, c Change, errno syscall.Errno) string {
		// net/core/net-sysfs.c, rps_cpumask_housekeeping
		if online, err := m.Online(); errno == syscall.EINVAL && err == nil && CPUs(c.After).SubsetOf(online) {
			return "the kernel does not process packets on " + CPUs(c.After).InWords() + ": isolated at boot (isolcpus=, nohz_full=)"
		}
		return ""
	},
}

var xpsCPUs = spec{
	path: pattern.Whole(queuePath + `tx-[0-9]+/xps_cpus`), parse: parseAnyCPUs, cpus: true, mask: true,
	title: "XPS CPUs", noun: "sending queue", prepare: prepareMask, adjusted: keptCPUs,
	causes: map[syscall.Errno]string{syscall.ENOENT: "there is no such setting: the interface has a single sending queue, or is gone"},
}

var rpsFlows = spec{
	path: pattern.Whole(queuePath + `rx-[0-9]+/rps_flow_cnt`), parse: parseCount, adjusted: roundedUp,
	title: "RFS flows", noun: "receive queue",
}

var rfsEntries = spec{
	path: pattern.Whole(`/proc/sys/net/core/rps_sock_flow_entries`), parse: parseCount, adjusted: roundedUp,
	title: "entries", noun: "flow table",
}

// WorkqueueMask is the CPUs of unbound workqueues, a cpuset.Set
// (Documentation/core-api/workqueue.rst).
const WorkqueueMask Attribute = "workqueue-cpumask"

var workqueueMask = spec{
	path: pattern.Whole(`/sys/devices/virtual/workqueue/([^/\s\x00]+/)?cpumask`), parse: parseCPUs, cpus: true, mask: true,
	title: "CPUs", noun: "workqueue mask", prepare: prepareMask, adjusted: keptCPUs, setBy: []string{"tuned"},
}
