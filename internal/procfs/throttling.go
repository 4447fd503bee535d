package procfs

import (
	"fmt"
	"path/filepath"

	"piton/internal/kernel/tree"
)

// Throttling is what the kernel keeps for ordinary tasks on a CPU that real-time ones
// want for themselves. Since Linux 6.12 that is the fair server's part of a second,
// whatever the sysctls say (fair_server in kernel/sched/deadline.c); before it is what
// they leave (Documentation/scheduler/sched-rt-group.rst, "system-wide settings").
type Throttling struct {
	RuntimeUs, PeriodUs int64 // sched_rt_runtime_us of sched_rt_period_us; -1 = no limit
	// ServerNs is the part of a second that a CPU's fair server gives to ordinary
	// tasks, the least of all CPUs; 0 = none, -1 = there are no servers.
	ServerNs int64
	differ   bool // the servers give different parts
	// Assumed says that the servers' files cannot be read, and ServerNs is their default.
	Assumed bool
}

// defaultServerNs is the runtime of a fair server that nobody has changed.
const defaultServerNs = 50_000_000

// Limits are the files that ReadThrottling reads; FS has them.
type Limits interface {
	Root() string
	File(elem ...string) ([]byte, error)
	Sysctl(name string) (int64, error)
}

// ReadThrottling reads what the kernel keeps for ordinary tasks.
func ReadThrottling(fs Limits) (t Throttling, err error) {
	if t.RuntimeUs, err = fs.Sysctl("kernel/sched_rt_runtime_us"); err != nil {
		return t, fmt.Errorf("read the limit of real-time tasks: %w", err)
	}
	if t.PeriodUs, err = fs.Sysctl("kernel/sched_rt_period_us"); err != nil {
		return t, fmt.Errorf("read the limit of real-time tasks: %w", err)
	}
	t.ServerNs = -1
	for _, dir := range tree.Glob(fs.Root(), "sys/kernel/debug/sched/fair_server/cpu*") {
		runtime, runs := Number(filepath.Join(dir, "runtime"))
		period, given := Number(filepath.Join(dir, "period"))
		if !runs || !given || period <= 0 {
			continue
		}
		part := int64(float64(runtime) / float64(period) * 1e9)
		t.differ = t.differ || t.ServerNs >= 0 && part != t.ServerNs
		if t.ServerNs < 0 || part < t.ServerNs {
			t.ServerNs = part
		}
	}
	if t.ServerNs < 0 && ReleaseAtLeast(fs, 6, 12) {
		t.ServerNs, t.Assumed = defaultServerNs, true
	}
	return t, nil
}

// Left is the share of a CPU that ordinary tasks get beside real-time ones that never
// sleep, 0 to 1.
func (t Throttling) Left() float64 {
	switch {
	case t.ServerNs >= 0:
		return float64(t.ServerNs) / 1e9
	case t.limited():
		return float64(t.PeriodUs-t.RuntimeUs) / float64(t.PeriodUs)
	}
	return 0
}

// Brief says in few words what ordinary tasks keep, and of what.
func (t Throttling) Brief() string {
	if t.Left() == 0 {
		return "nothing is kept for them"
	}
	by := "sched_rt_runtime_us"
	if t.ServerNs >= 0 {
		by = "the fair server"
	}
	return fmt.Sprintf("%.2g %% of a CPU is kept for them by %s", t.Left()*100, by)
}

// limited reports whether the sysctls keep something for ordinary tasks.
func (t Throttling) limited() bool {
	return t.PeriodUs > 0 && t.RuntimeUs >= 0 && t.RuntimeUs < t.PeriodUs
}

// String says it in a sentence.
func (t Throttling) String() string {
	switch {
	case t.ServerNs > 0:
		least, unless := "", ""
		if t.differ {
			least = "at least "
		}
		if t.Assumed {
			unless = ", unless that was changed (its files in debugfs cannot be read)"
		}
		return fmt.Sprintf("RT throttling: the fair server of each CPU keeps %s%d ms of every second for ordinary tasks%s", least, t.ServerNs/1e6, unless)
	case t.ServerNs == 0:
		return "RT throttling is off: the fair server of at least one CPU keeps nothing for ordinary tasks"
	case t.limited():
		return fmt.Sprintf("RT throttling: real-time tasks get %d of every %d ms of a CPU (sched_rt_runtime_us), ordinary ones the rest",
			t.RuntimeUs/1000, t.PeriodUs/1000)
	}
	return fmt.Sprintf("RT throttling is off (sched_rt_runtime_us is %d): ordinary tasks get nothing beside a real-time one that never sleeps", t.RuntimeUs)
}
