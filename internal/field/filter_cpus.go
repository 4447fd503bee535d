package field

import (
	"piton/internal/cpuset"
)

// setCPUs takes the value of a term that names CPUs: on=0-3,8 are the tasks that
// are on one of them, allowed~0-3,8 those that may run on one of them. It reports
// whether the term is of that kind and the value a list.
func (t *term) setCPUs(value string) bool {
	on := t.column.ID == "cpu" && (t.op == "=" || t.op == "!=")
	mayRun := t.column.ID == "affinity" && t.op == "~"
	if !on && !mayRun {
		return false
	}
	cpus, err := cpuset.Parse(value)
	if err != nil || cpus.Empty() {
		return false
	}
	t.cpus = cpus
	return true
}

// matchCPUs judges by a list of CPUs. Of a task whose CPU or mask is not known,
// nothing holds.
func (t *term) matchCPUs(r Row) bool {
	task := r.Task()
	if t.op == "~" {
		set, known := r.allowed()
		return known && !set.And(t.cpus).Empty()
	}
	return task.LastCPU >= 0 && t.cpus.Has(cpuset.CPU(task.LastCPU)) == (t.op == "=")
}
