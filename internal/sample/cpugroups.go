package sample

import (
	"errors"
	"io/fs"
	"path"
	"strings"
	"time"

	"piton/internal/procfs"
)

// CPUGroup is a control group of the cpu controller: its own limit, and what it has counted since
// it was made.
type CPUGroup struct {
	Limit       procfs.CPULimit // Quota 0: none of its own
	Stat        procfs.CPUStat  // of a group with a limit
	Stalled     time.Duration   // how long some task of it waited for a CPU, with HaveStalled
	HaveLimit   bool            // Limit, and Stat where there is one
	HaveStalled bool
}

// cpuGroups reads control groups while somebody asks for them, each once a sample.
type cpuGroups struct {
	mount procfs.CgroupMount
	found bool
}

// read sets n.CPUGroups to the groups of the tasks that are wanted, and their ancestors.
func (g *cpuGroups) read(n *Sample, fs procfs.FS, needs *wanted) (err error) {
	if !g.found {
		if g.mount, err = fs.CgroupMount("cpu"); err != nil {
			return err
		}
		g.found = true
	}
	n.CPUGroups = map[string]CPUGroup{}
	for _, t := range n.Tasks {
		if needs.Identity || needs.watched(t.TID) {
			g.add(n.CPUGroups, t.ID.CPUGroup)
		}
	}
	return nil
}

// add reads a group and those above it. A path with ".." is above what is visible here
// (cgroup_namespaces(7)).
func (g *cpuGroups) add(to map[string]CPUGroup, group string) {
	for ; strings.HasPrefix(group, "/") && !strings.HasPrefix(group, "/..") && g.mount.Has(group); group = path.Dir(group) {
		if _, known := to[group]; known {
			return // and so are its ancestors
		}
		to[group] = g.one(group)
		if group == "/" {
			return
		}
	}
}

func (g *cpuGroups) one(group string) (out CPUGroup) {
	var err error
	switch out.Limit, err = g.mount.CPULimit(group); {
	case errors.Is(err, fs.ErrNotExist): // the controller is not on there: nothing limits the group
		out.HaveLimit = true
	case err == nil && out.Limit.Quota > 0:
		out.Stat, err = g.mount.CPUStat(group)
		out.HaveLimit = err == nil
	default:
		out.HaveLimit = err == nil
	}
	out.Stalled, err = g.mount.CPUStalled(group)
	out.HaveStalled = err == nil
	return out
}
