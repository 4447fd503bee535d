package procfs

import (
	"bytes"
	"slices"
	"strings"

	"piton/internal/kernel"
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
func (f FS) Cgroup(pid kernel.TID) (Cgroups, error) {
	b, err := f.task(pid, 0, "cgroup")
	if err != nil {
		return nil, err
	}
	return ParseCgroup(b)
}

// ParseCgroup parses a cgroup file.
func ParseCgroup(b []byte) (Cgroups, error) {
	var groups Cgroups
	for line := range bytes.Lines(b) {
		parts := bytes.SplitN(bytes.TrimSuffix(line, []byte("\n")), []byte(":"), 3)
		if len(parts) != 3 || len(parts[2]) == 0 || parts[2][0] != '/' {
			return nil, malformed("cgroup", line)
		}
		g := Cgroup{Path: string(parts[2])}
		if len(parts[1]) > 0 {
			g.Controllers = strings.Split(string(parts[1]), ",")
		}
		groups = append(groups, g)
	}
	return groups, nil
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

// Main returns the path that says most about what the process belongs to: in
// the unified hierarchy, else of the cpuset or cpu controller, else of systemd,
// the first of them that is not the root. It is "" when there are no cgroups.
func (c Cgroups) Main() string {
	if len(c) == 0 {
		return ""
	}
	if p, ok := c.Unified(); ok && p != "/" {
		return p
	}
	for _, name := range []string{"cpuset", "cpu", "name=systemd"} {
		if p, ok := c.Controller(name); ok && p != "/" {
			return p
		}
	}
	return "/"
}
