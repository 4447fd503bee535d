package place

import (
	"strings"

	"piton/internal/kernel"
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

// Rule says in a sentence what a group gets.
func (m GroupMode) Rule() string {
	switch m {
	case GroupsUp:
		return "a group has its whole weight on each CPU"
	case GroupsConcur:
		return "a group's weight counts once for each of its runnable tasks, up to its CPUs"
	case GroupsMax:
		return "a group's weight counts once for each of its CPUs"
	case GroupsTasks:
		return "a group's weight counts once for each of its tasks"
	}
	return "a group competes as one, by its weight"
}

// A crowd is how many tasks are queued on average.
type crowd struct {
	steady float64 // tasks that always want to run
	coming float64 // the average of those that come and go
}

// steadyFrom is the share of the time from which on a task is taken to want to run always.
const steadyFrom = 0.9

func crowdOf(queued float64) crowd {
	if queued >= steadyFrom {
		return crowd{steady: 1}
	}
	return crowd{coming: queued}
}

func (c *crowd) add(o crowd) { c.steady, c.coming = c.steady+o.steady, c.coming+o.coming }

// scale is how many times its weight a group with a crowd has that may use so many CPUs. The
// kernel rounds its average down. For tasks that always want to run that average stays just
// below their number: four of them count as three. With others it goes up and down, by which
// half a task is lost on the mean.
func (m GroupMode) scale(c crowd, cpus int) float64 {
	const little, half = 0.05, 0.5
	tasks := c.steady - 1
	if c.coming > little {
		tasks = c.steady + max(0, c.coming-half)
	}
	tasks = max(1, tasks)
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

// NiceZero is the weight of a task at nice 0 (NICE_0_LOAD, kernel/sched/sched.h).
const NiceZero = 1024

// idleWeight is the weight of SCHED_IDLE tasks and of groups with cpu.idle
// (WEIGHT_IDLEPRIO).
const idleWeight = 3

// niceWeights are the weights of nice -20 to 19 (sched_prio_to_weight,
// kernel/sched/core.c).
var niceWeights = [40]float64{
	88761, 71755, 56483, 46273, 36291,
	29154, 23254, 18705, 14949, 11916,
	9548, 7620, 6100, 4904, 3906,
	3121, 2501, 1991, 1586, 1277,
	1024, 820, 655, 526, 423,
	335, 272, 215, 172, 137,
	110, 87, 70, 56, 45,
	36, 29, 23, 18, 15,
}

// Weight is what a task of the fair class weighs against those in its group.
func Weight(policy kernel.Policy, nice int) float64 {
	if policy == kernel.Idle {
		return idleWeight
	}
	return niceWeights[max(-20, min(nice, 19))+20]
}

// A Group is a task group of the kernel: a cgroup with the cpu controller or an
// autogroup. Its tasks compete with those outside as one, by its weight; nil is
// the root group. The same group is the same pointer in all of a Request.
type Group struct {
	Parent *Group
	Weight float64 // on the scale of NiceZero: cpu.weight 100, cpu.shares 1024, autogroup nice 0
}

// UnifiedWeight is the Weight of a cgroup by its cpu.weight.
func UnifiedWeight(cpuWeight int) float64 { return float64(cpuWeight) * NiceZero / 100 }

// depth is how many groups are above g, counting itself.
func (g *Group) depth() int {
	n := 0
	for ; g != nil; g = g.Parent {
		n++
	}
	return n
}
