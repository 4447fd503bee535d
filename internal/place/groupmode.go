package place

import "strings"

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
