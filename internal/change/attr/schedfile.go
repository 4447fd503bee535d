package attr

import "piton/internal/pattern"

// SchedDebug is a setting of the scheduler in debugfs (kernel/sched/debug.c), a Line.
const SchedDebug Attribute = "sched-debug"

var schedDebug = spec{
	path: pattern.Whole(`/sys/kernel/debug/sched/(base_slice_ns|llc_balancing/enabled)`), parse: parseLine,
	title: "value", noun: "scheduler setting",
}
