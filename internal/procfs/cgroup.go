package procfs

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"piton/internal/kernel"
	"piton/internal/kernel/tree"
)

// Cgroup is one line of /proc/PID/cgroup (cgroups(7)).
type Cgroup struct {
	// Controllers of the hierarchy ("cpu", "cpuset", "name=systemd", …); none
	// for the unified hierarchy of version 2.
	Controllers []string
	Path        string // below the hierarchy's mount point, "/" is its root
}

// Cgroups is where one process is in every hierarchy.
type Cgroups []Cgroup

// Cgroup reads /proc/PID/cgroup.
func (f FS) Cgroup(pid kernel.TID) (Cgroups, error) { return f.ThreadCgroup(pid, 0) }

// ThreadCgroup reads /proc/PID/task/TID/cgroup: version 1 and threaded cgroups of
// version 2 may have a thread elsewhere than its process. TID 0 is the process.
func (f FS) ThreadCgroup(pid, tid kernel.TID) (Cgroups, error) {
	b, err := f.task(pid, tid, "cgroup")
	if err != nil {
		return nil, err
	}
	return ParseCgroup(b)
}

// CgroupMount is where the hierarchy of a controller is mounted.
type CgroupMount struct {
	Unified bool   // version 2
	Root    string // the cgroup at the mount point: what is above it is not visible
	Point   string // below the root of the FS
}

// CgroupMount finds a controller's own hierarchy of version 1, else the unified
// one, in /proc/self/mountinfo (proc_pid_mountinfo(5)).
func (f FS) CgroupMount(controller string) (CgroupMount, error) {
	b, err := f.File("self", "mountinfo")
	if err != nil {
		return CgroupMount{}, err
	}
	var found CgroupMount
	for line := range bytes.Lines(b) {
		m, ok := parseCgroupMount(string(line), controller)
		if !ok || found.Point != "" && m.Unified {
			continue
		}
		m.Point = filepath.Join(f.root, m.Point)
		if found = m; !m.Unified {
			break
		}
	}
	if found.Point == "" {
		return found, fmt.Errorf("no cgroup hierarchy with %s is mounted", controller)
	}
	return found, nil
}

// UnifiedCgroup is the folder where the hierarchy of version 2 is mounted.
func (f FS) UnifiedCgroup() (string, error) {
	m, err := f.CgroupMount("") // which no hierarchy of version 1 has
	if err != nil {
		return "", errors.New("no cgroup hierarchy of version 2 is mounted (mount -t cgroup2 none /sys/fs/cgroup)")
	}
	return m.Point, nil
}

// parseCgroupMount parses a line of mountinfo: id parent major:minor root point
// options [tags…] - type source options.
func parseCgroupMount(line, controller string) (m CgroupMount, ok bool) {
	left, right, _ := strings.Cut(strings.TrimSpace(line), " - ")
	where, what := strings.Fields(left), strings.Fields(right)
	if len(where) < 6 || len(what) < 3 {
		return m, false
	}
	m = CgroupMount{Unified: what[0] == "cgroup2", Root: where[3], Point: where[4]}
	return m, m.Unified || what[0] == "cgroup" && slices.Contains(strings.Split(what[2], ","), controller)
}

// Has reports whether a cgroup is visible there; path is as in a Cgroup.
func (m CgroupMount) Has(path string) bool {
	return m.Root == "/" || path == m.Root || strings.HasPrefix(path, m.Root+"/")
}

// File is the path of a file of a cgroup.
func (m CgroupMount) File(path, file string) string {
	if m.Root != "/" {
		path = strings.TrimPrefix(path, m.Root)
	}
	return filepath.Join(m.Point, path, file)
}

// GroupProcesses are those in the control group that a folder is, and in those below it, at the time.
func GroupProcesses(dir string) (pids []kernel.TID) {
	data, _ := ReadFile(filepath.Join(dir, "cgroup.procs")) // none of a group that was removed meanwhile
	for word := range strings.FieldsSeq(string(data)) {
		if n, err := strconv.Atoi(word); err == nil {
			pids = append(pids, kernel.TID(n))
		}
	}
	for _, below := range tree.Glob(dir, "*/cgroup.procs") {
		pids = append(pids, GroupProcesses(filepath.Dir(below))...)
	}
	return pids
}

// Number reads a file of a cgroup that holds one number.
func (m CgroupMount) Number(path, file string) (int, error) {
	b, err := readFile(m.File(path, file))
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(string(bytes.TrimSpace(b)))
}

// ParseCgroup parses a cgroup file. A line that is not understood is left out; it is an
// error if that leaves none.
func ParseCgroup(b []byte) (Cgroups, error) {
	var groups Cgroups
	var odd error
	for line := range bytes.Lines(b) {
		parts := bytes.SplitN(bytes.TrimSuffix(line, []byte("\n")), []byte(":"), 3)
		if len(parts) != 3 || len(parts[2]) == 0 || parts[2][0] != '/' {
			odd = malformed("cgroup", line)
			continue
		}
		g := Cgroup{Path: string(parts[2])}
		if len(parts[1]) > 0 {
			g.Controllers = strings.Split(string(parts[1]), ",")
		}
		groups = append(groups, g)
	}
	if len(groups) > 0 {
		odd = nil
	}
	return groups, odd
}

// Controller returns the path in the hierarchy of a version 1 controller.
func (c Cgroups) Controller(name string) (string, bool) {
	for _, g := range c {
		if slices.Contains(g.Controllers, name) {
			return g.Path, true
		}
	}
	return "", false
}

// Unified returns the path in the version 2 hierarchy.
func (c Cgroups) Unified() (string, bool) {
	for _, g := range c {
		if len(g.Controllers) == 0 {
			return g.Path, true
		}
	}
	return "", false
}

// CPU returns the path in the hierarchy that has the cpu controller, "" without one.
func (c Cgroups) CPU() string {
	path, ok := c.Controller("cpu")
	if !ok {
		path, _ = c.Unified()
	}
	return path
}

// Main returns the path that says most about what the process belongs to: that of a
// container, which on a machine with both versions only those of version 1 may name; else
// in the unified hierarchy, of the cpuset or cpu controller, or of systemd, the first of
// them that is not the root. It is "" when there are no cgroups.
func (c Cgroups) Main() string {
	if len(c) == 0 {
		return ""
	}
	main := "/"
	for _, name := range []string{"", "cpuset", "cpu", "name=systemd"} {
		path, ok := c.Controller(name)
		if name == "" {
			path, ok = c.Unified()
		}
		switch {
		case !ok || path == "/":
		case ContainerOf(path) != "":
			return path
		case main == "/":
			main = path
		}
	}
	return main
}
