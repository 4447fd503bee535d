package rescue

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"piton/internal/procfs"
)

// Throttling is what the kernel keeps for ordinary tasks on a CPU that real-time
// ones want for themselves.
type Throttling struct {
	RuntimeUs, PeriodUs int64 // sched_rt_runtime_us of sched_rt_period_us; -1 = no limit
	// ServerNs is the part of a second that a CPU's fair server gives to ordinary
	// tasks, the least of all CPUs; 0 = none, -1 = it has no servers (before Linux
	// 6.12), or they cannot be read.
	ServerNs int64
}

// ReadThrottling reads the limits, below the root of fs.
func ReadThrottling(fs procfs.FS) (Throttling, error) {
	t := Throttling{ServerNs: -1}
	var err error
	if t.RuntimeUs, err = fs.Sysctl("kernel/sched_rt_runtime_us"); err != nil {
		return t, fmt.Errorf("read the limit of real-time tasks: %w", err)
	}
	if t.PeriodUs, err = fs.Sysctl("kernel/sched_rt_period_us"); err != nil {
		return t, fmt.Errorf("read the limit of real-time tasks: %w", err)
	}
	files, _ := filepath.Glob(filepath.Join(fs.Root(), "sys/kernel/debug/sched/fair_server/cpu*/runtime"))
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		ns, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		if err == nil && (t.ServerNs < 0 || ns < t.ServerNs) {
			t.ServerNs = ns
		}
	}
	return t, nil
}

// String says it in a sentence.
func (t Throttling) String() string {
	limited := t.PeriodUs > 0 && t.RuntimeUs >= 0 && t.RuntimeUs < t.PeriodUs
	switch {
	case t.ServerNs > 0:
		return fmt.Sprintf("RT throttling: the fair server of each CPU keeps %d ms of every second for ordinary tasks", t.ServerNs/1e6)
	case t.ServerNs == 0:
		return "RT throttling is off: the fair server of at least one CPU keeps nothing for ordinary tasks"
	case limited:
		return fmt.Sprintf("RT throttling: real-time tasks get %d of every %d ms of a CPU (sched_rt_runtime_us), ordinary ones the rest",
			t.RuntimeUs/1000, t.PeriodUs/1000)
	}
	return "RT throttling is off (sched_rt_runtime_us is -1): before Linux 6.12, ordinary tasks get nothing beside a real-time one that never sleeps"
}
