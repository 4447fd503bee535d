package tune

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/procfs"
)

// online reads /sys/devices/system/cpu/online.
func (t *Tuner) online() (cpuset.Set, error) {
	return readSet(filepath.Join(t.o.Proc.Root(), "sys/devices/system/cpu/online"))
}

// ticks is the time since boot in USER_HZ, the unit of start times; 0 if it is not known.
func (t *Tuner) ticks() uint64 {
	up, err := t.o.Proc.File("uptime")
	if err != nil {
		return 0
	}
	now, _ := procfs.ParseUptimeTicks(up)
	return now
}

func readSet(path string) (cpuset.Set, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return cpuset.Set{}, err
	}
	return cpuset.Parse(string(data))
}

// Cpuset returns the CPUs that the process's cpuset allows, and the cgroup
// that says so (cpuset(7), cgroups(7)).
func (t *Tuner) Cpuset(pid kernel.TID) (cpuset.Set, string, error) {
	g, err := t.cgroup(pid, "cpuset")
	if err != nil {
		return cpuset.Set{}, "", err
	}
	name := "cpuset.effective_cpus"
	if g.unified {
		name = "cpuset.cpus.effective"
	}
	// In version 2 a group without the controller has no such file and is
	// limited by the nearest group above that has.
	for path := g.path; ; path = filepath.Dir(path) {
		set, err := readSet(g.file(path, name))
		if err == nil || path == "/" || !g.unified {
			return set, path, err
		}
	}
}

// cgroupDir is a process's place in the hierarchy of one controller.
type cgroupDir struct {
	unified bool
	path    string // as /proc/PID/cgroup has it
	mount   string // where the hierarchy is mounted
	root    string // the part of path that is hidden by the mount
}

func (g cgroupDir) file(path, name string) string {
	below := path
	if g.root != "/" {
		below = strings.TrimPrefix(path, g.root)
	}
	return filepath.Join(g.mount, below, name)
}

// cgroup finds where the process is in the hierarchy of a controller: version
// 1's own, else the unified one.
func (t *Tuner) cgroup(pid kernel.TID, controller string) (cgroupDir, error) {
	groups, err := t.o.Proc.Cgroup(pid)
	if err != nil {
		return cgroupDir{}, err
	}
	path, ok := groups.Controller(controller)
	unified := !ok
	if unified {
		if path, ok = groups.Unified(); !ok {
			return cgroupDir{}, fmt.Errorf("process %d is in no %s cgroup", pid, controller)
		}
	}
	mounts, err := t.o.Proc.File("self", "mountinfo")
	if err != nil {
		return cgroupDir{}, err
	}
	for line := range bytes.Lines(mounts) {
		if g, ok := parseCgroupMount(string(line), controller, unified); ok {
			g.path = path
			g.mount = filepath.Join(t.o.Proc.Root(), g.mount)
			return g, nil
		}
	}
	return cgroupDir{}, fmt.Errorf("the %s cgroups are not mounted", controller)
}

// parseCgroupMount reads one line of /proc/self/mountinfo (proc_pid_mountinfo(5)):
// id parent major:minor root mountpoint options [tags…] - type source options.
func parseCgroupMount(line, controller string, unified bool) (cgroupDir, bool) {
	left, right, ok := strings.Cut(strings.TrimSpace(line), " - ")
	where, what := strings.Fields(left), strings.Fields(right)
	if !ok || len(where) < 6 || len(what) < 3 {
		return cgroupDir{}, false
	}
	switch {
	case unified && what[0] != "cgroup2":
		return cgroupDir{}, false
	case !unified && (what[0] != "cgroup" || !slices.Contains(strings.Split(what[2], ","), controller)):
		return cgroupDir{}, false
	}
	return cgroupDir{unified: unified, root: where[3], mount: where[4]}, true
}

// rtRuntime returns the real-time budget of the process's cpu cgroup in µs per
// period, and the file that holds it. It exists in version 1 of a kernel with
// CONFIG_RT_GROUP_SCHED (sched-rt-group.rst).
func (t *Tuner) rtRuntime(pid kernel.TID) (us int64, file string, err error) {
	g, err := t.cgroup(pid, "cpu")
	if err != nil {
		return 0, "", err
	}
	file = g.file(g.path, "cpu.rt_runtime_us")
	data, err := os.ReadFile(file)
	if err != nil {
		return 0, "", err
	}
	us, err = strconv.ParseInt(string(bytes.TrimSpace(data)), 10, 64)
	return us, file, err
}

// Autogrouped reports whether nice ranks the process within its session only:
// autogroup is on, and the process is in no cpu cgroup of its own (sched(7)).
func (t *Tuner) Autogrouped(pid kernel.TID) bool {
	if on, err := t.o.Proc.Sysctl("kernel/sched_autogroup_enabled"); err != nil || on == 0 {
		return false
	}
	if name, _, err := t.o.Proc.Autogroup(pid); err != nil || name == "" {
		return false
	}
	g, err := t.cgroup(pid, "cpu")
	if err != nil {
		return true // no cpu cgroups at all
	}
	if !g.unified {
		return g.path == "/"
	}
	for path := g.path; path != "/"; path = filepath.Dir(path) {
		if _, err := os.Stat(g.file(path, "cpu.weight")); err == nil {
			return false
		}
	}
	return true
}

var _ Processes = procfs.FS{}
