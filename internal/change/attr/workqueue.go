package attr

import "piton/internal/pattern"

// WorkqueueMask is the CPUs of unbound workqueues, a cpuset.Set
// (Documentation/core-api/workqueue.rst).
const WorkqueueMask Attribute = "workqueue-cpumask"

var workqueueMask = spec{
	path: pattern.Whole(`/sys/devices/virtual/workqueue/([^/\s\x00]+/)?cpumask`), parse: parseCPUs, cpus: true, mask: true,
	title: "CPUs", noun: "workqueue mask", prepare: prepareMask, adjusted: keptCPUs, setBy: []string{"tuned"},
}
