package simulate

import (
	"piton/internal/change/attr"
	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// taskValues are the values that tasks are given, by attribute; they are born with
// one of the first half.
var taskValues = [len(attributes)][]attr.Value{
	{allCPUs, cpuset.Of(0, 1, 2, 3), allCPUs, cpuset.Of(0, 1), cpuset.Of(1), cpuset.Of(2, 3), cpuset.Of(2, 5), cpuset.Of(3)},
	{attr.NiceValue(0), attr.NiceValue(0), attr.NiceValue(5), attr.NiceValue(10), attr.NiceValue(-5), attr.NiceValue(19)},
	{attr.PolicyValue{}, attr.PolicyValue{Policy: kernel.Batch}, attr.PolicyValue{Policy: kernel.FIFO, RTPrio: 10},
		attr.PolicyValue{Policy: kernel.RR, RTPrio: 1}, attr.PolicyValue{Policy: kernel.Idle},
		attr.PolicyValue{Policy: kernel.FIFO, RTPrio: 5, ResetOnFork: true}},
	{attr.IOPrioValue{}, attr.IOPrioValue{}, attr.IOPrioValue{Class: kernel.IOBestEffort, Level: 2}, attr.IOPrioValue{Class: kernel.IOIdle}},
}

// fileKinds are the files of the kernel that are changed.
var fileKinds = []struct {
	attribute attr.Attribute
	path      string
	values    []attr.Value
}{
	{attr.IRQAffinity, "/proc/irq/24/smp_affinity_list", []attr.Value{allCPUs, cpuset.Of(0, 1), cpuset.Of(2), cpuset.Of(3, 4)}},
	{attr.IRQAffinity, "/proc/irq/25/smp_affinity_list", []attr.Value{allCPUs, cpuset.Of(5), cpuset.Of(2, 3)}},
	{attr.Sysctl, "/proc/sys/kernel/sched_rt_runtime_us", []attr.Value{attr.Line("950000"), attr.Line("900000"), attr.Line("-1")}},
}
