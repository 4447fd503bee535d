package bpf

import "slices"

// HidesTasks reports whether this machine's kernel hides tasks from eBPF, as
// some hypervisors' kernels hide their agent, process 1. No program runs while
// such a task is current: one on sched_switch sees an agent come and never go.
// So moves that are made meanwhile, by the load balancer for one, are told by
// se.nr_migrations only.
func HidesTasks() (bool, error) {
	w, err := OpenWalk(WalkOptions{})
	if err != nil {
		return false, err
	}
	defer w.Close()
	records, _, err := w.Read(false)
	return !slices.ContainsFunc(records, func(r Record) bool { return r.TID == 1 }), err
}
