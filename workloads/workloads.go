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
	"piton/workloads/wakeup"
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
	wakeup.Workload,
}

// OfStudies are workloads that only a study of their own runs: they have processes, and words
// for its results, but nothing that is run by itself. The laboratory adds them.
var OfStudies []workload.Workload

// Find finds a workload by name, one of a study too.
func Find(name string) (workload.Workload, error) {
	if w, err := workload.Find(OfStudies, name); err == nil {
		return w, nil
	}
	return workload.Find(All, name)
}
