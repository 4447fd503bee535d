package tune

import (
	"fmt"
	"strconv"

	"piton/internal/kernel"
)

// Sessions returns the settings that give the autogroups of the targets'
// processes a nice value, one for each group (sched(7)). A target that is in none,
// or has ended, has a setting too, which the plan refuses with the reason.
func (t *Tuner) Sessions(targets []Target, nice int) []FileSetting {
	known := map[string]bool{}
	var out []FileSetting
	for _, target := range targets {
		pid := target.TID
		if status, err := t.o.Proc.Status(target.TID); err == nil {
			pid = status.TGID
		}
		name, _, err := t.o.Proc.Autogroup(pid)
		if err != nil || name == "" {
			name = "session of " + strconv.Itoa(int(pid))
		}
		if !known[name] {
			known[name] = true
			out = append(out, session(pid, nice))
		}
	}
	return out
}

func session(pid kernel.TID, nice int) FileSetting {
	return FileSetting{
		Attribute: AutogroupNice, Path: fmt.Sprintf("/proc/%d/autogroup", pid),
		Name: fmt.Sprintf("session of %d", pid), Value: strconv.Itoa(nice),
	}
}
