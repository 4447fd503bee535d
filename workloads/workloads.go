// Package workloads is the table of built-in workloads. Each is a package of its own
// with everything that piton knows of it; it has one line here.
package workloads

import (
	"piton/workloads/activity"
	"piton/workloads/chat"
	"piton/workloads/ctxswitch"
	"piton/workloads/matrix"
	"piton/workloads/memlat"
	"piton/workloads/nqueens"
	"piton/workloads/stream"
	"piton/workloads/stripio"
	"piton/workloads/workload"
)

// All are the workloads in the order in which they are listed.
var All = []workload.Workload{
	nqueens.Workload,
	matrix.Workload,
	stream.Workload,
	memlat.Workload,
	activity.Workload,
	ctxswitch.Workload,
	chat.Workload,
	stripio.Workload,
}

// Find finds a workload by name.
func Find(name string) (workload.Workload, error) { return workload.Find(All, name) }
