package place

import (
	"math"
	"strings"
)

// GroupMode is how the kernel makes the weight of a task group out of its own weight and
// its tasks (cgroup_mode in debugfs, since Linux 7.3).
type GroupMode string

// The modes.
const (
	GroupsSMP    GroupMode = "smp"    // its weight, divided among its CPUs by load; before 7.3 always
	GroupsUp     GroupMode = "up"     // its weight on each CPU
	GroupsConcur GroupMode = "concur" // as many times its weight as it has runnable tasks, at most its CPUs; 7.3's default
	GroupsMax    GroupMode = "max"    // as many times its weight as it has CPUs
	GroupsTasks  GroupMode = "tasks"  // as many times its weight as it has tasks
)

// ParseGroupMode reads cgroup_mode, "up smp (concur) max tasks": the mode in force is in
// parentheses. It returns "" for one that this piton does not know.
func ParseGroupMode(text string) GroupMode {
	_, rest, _ := strings.Cut(text, "(")
	name, _, _ := strings.Cut(rest, ")")
	switch m := GroupMode(strings.TrimSpace(name)); m {
	case GroupsSMP, GroupsUp, GroupsConcur, GroupsMax, GroupsTasks:
		return m
	}
	return ""
}

// scale is how many times its weight a group has that has so many tasks queued on average
// and may use so many CPUs. The kernel rounds its average down, which for tasks that always
// want to run stays just below their number: four of them count as three.
func (m GroupMode) scale(tasks float64, cpus int) float64 {
	const noise = 0.05 // of the number in a sample
	tasks = max(1, math.Ceil(tasks-noise)-1)
	switch m {
	case GroupsConcur:
		return min(tasks, float64(cpus))
	case GroupsMax:
		return float64(cpus)
	case GroupsTasks:
		return tasks
	}
	return 1
}
