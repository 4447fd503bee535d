// Package overwriter finds out what may set again what piton sets: daemons that tune the
// machine, and the owners of control groups.
package overwriter

import (
	"cmp"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"piton/internal/change/attr"
	"piton/internal/group"
	"piton/internal/kernel"
	"piton/internal/kernel/tree"
	"piton/internal/procfs"
)

// daemon is a program that tunes the machine while it runs.
type daemon struct {
	names []string // comm, and the systemd service; the first one is in setBy of what it sets
	marks []string // files that are there while it runs
	why   string
}

// daemons are the tuners that servers run. irqbalance and tuned document that
// they set values again; ananicy does so every few seconds.
var daemons = []daemon{
	{
		names: []string{"irqbalance"}, marks: []string{"run/irqbalance.pid", "run/irqbalance"},
		why: "irqbalance is running and moves interrupts every 10 seconds; ban the line there (--banirq=N) or stop it: systemctl stop irqbalance",
	},
	{
		names: []string{"tuned"}, marks: []string{"run/tuned/tuned.pid"},
		why: "tuned is running and sets values of its profile again, its scheduler section those of new processes too; see tuned-adm active",
	},
	{
		names: []string{"ananicy", "ananicy-cpp"},
		why:   "ananicy is running and sets nice, policy and I/O priority by its rules every few seconds; add a rule there, or stop it",
	},
	{
		names: []string{"numad"}, marks: []string{"run/numad.pid"},
		why: "numad is running and moves processes and their memory between nodes; exclude this one there (numad -x PID) or stop it",
	},
}

// setsOne reports whether a daemon or a directive sets one of the attributes.
func setsOne(name string, attributes []attr.Attribute) bool {
	return slices.ContainsFunc(attributes, func(a attr.Attribute) bool { return slices.Contains(a.SetBy(), name) })
}

// machine is where it looks.
type machine struct{ proc attr.Processes }

// Of finds out what may set again what the changes set on a machine, one sentence each:
// daemons that run, and the owners of the processes' cgroups. It reads no more than the
// changes give reason to.
func Of(proc attr.Processes, changes []attr.Change) []string {
	m := machine{proc}
	touched := map[kernel.TID][]attr.Attribute{} // by process, 0 = of any object
	groups := map[string][]attr.Attribute{}
	for _, c := range changes {
		if group := c.Group(); group != "" && c.Status == attr.Planned {
			groups[group] = append(groups[group], c.Attribute)
		}
		for _, pid := range []kernel.TID{0, c.PID} {
			if c.Status == attr.Planned && !slices.Contains(touched[pid], c.Attribute) {
				touched[pid] = append(touched[pid], c.Attribute)
			}
		}
	}
	out := m.daemons(touched[0])
	for _, pid := range slices.Sorted(maps.Keys(touched)) {
		if pid != 0 {
			out = append(out, m.groupOwners(pid, touched[pid])...)
		}
	}
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		if owner := ownerOf(group); owner != "" {
			out = append(out, owner+" sets the limits of cgroup "+group+" when it starts or updates it; change them there to keep them")
		}
		out = append(out, m.unitOf(group, groups[group])...)
	}
	return out
}

// daemons returns those that run and set one of the attributes.
func (m machine) daemons(attributes []attr.Attribute) []string {
	var out []string
	running := sync.OnceValue(m.running)
	for _, d := range daemons {
		if !setsOne(d.names[0], attributes) {
			continue
		}
		if slices.ContainsFunc(d.names, running()) || slices.ContainsFunc(d.marks, m.markOfRunning) {
			out = append(out, d.why)
		}
	}
	return out
}

// markOfRunning reports whether a file says that a daemon runs: a PID file's
// process has to be there.
func (m machine) markOfRunning(file string) bool {
	name := filepath.Join(m.proc.Root(), file)
	if !strings.HasSuffix(file, ".pid") {
		sockets, err := tree.Names(name)
		return err == nil && len(sockets) > 0
	}
	data, err := procfs.ReadFile(name)
	pid, notPID := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil || notPID != nil {
		return false
	}
	_, err = m.proc.File(strconv.Itoa(pid), "comm")
	return err == nil
}

// manyThreads is of how many threads a machine has few processes, whose names, at about 4 µs each,
// are all read.
const manyThreads = 500

// installed reports whether a program is where packages put it.
func (m machine) installed(name string) bool {
	return slices.ContainsFunc([]string{"usr/sbin", "usr/bin", "usr/local/sbin", "usr/local/bin"}, func(dir string) bool {
		_, err := tree.Stat(filepath.Join(m.proc.Root(), dir, name))
		return err == nil
	})
}

// running returns a check whether a program of a name runs. Under systemd a service's
// cgroup shows it at the cost of a look; else the names of processes do, read once.
func (m machine) running() func(name string) bool {
	for _, mount := range []string{"sys/fs/cgroup", "sys/fs/cgroup/systemd", "sys/fs/cgroup/unified"} {
		slice := filepath.Join(m.proc.Root(), mount, "system.slice")
		if _, err := tree.Stat(slice); err != nil {
			continue
		}
		return func(name string) bool {
			data, err := procfs.ReadFile(filepath.Join(slice, name+".service", "cgroup.procs"))
			return err == nil && len(data) > 0
		}
	}
	var pids []string
	switch {
	case !m.crowded():
		all, _ := m.proc.Processes()
		pids = group.Each(all, func(pid kernel.TID) string { return strconv.Itoa(int(pid)) })
	case slices.ContainsFunc(daemons, func(d daemon) bool { return slices.ContainsFunc(d.names, m.installed) }):
		pids = m.startedByInit()
	}
	names := map[string]bool{}
	for _, pid := range pids {
		if comm, err := m.proc.File(pid, "comm"); err == nil {
			names[strings.TrimSpace(string(comm))] = true
		}
	}
	return func(name string) bool { return names[name] }
}

// crowded reports whether the machine has many threads. One without that figure has few.
func (m machine) crowded() bool {
	load, _ := m.proc.File("loadavg") // 0.20 0.18 0.12 1/80 11206: runnable and all threads, the newest PID
	_, all, _ := strings.Cut(string(load), "/")
	all, _, _ = strings.Cut(all, " ")
	threads, _ := strconv.Atoi(all)
	return threads > manyThreads
}

// startedByInit are children of PID 1 and their children, which a supervisor starts, the oldest
// first: daemons are among them. It is no more than there are names of few processes.
func (m machine) startedByInit() []string {
	pids := m.children("1")
	for _, pid := range pids {
		if len(pids) > manyThreads {
			return pids[:manyThreads]
		}
		pids = append(pids, m.children(pid)...)
	}
	return pids
}

// children needs CONFIG_PROC_CHILDREN.
func (m machine) children(pid string) []string {
	list, _ := m.proc.File(pid, "task", pid, "children")
	return strings.Fields(string(list))
}

// groupOwners returns the owners of the process's cgroup that set one of the attributes.
func (m machine) groupOwners(pid kernel.TID, attributes []attr.Attribute) []string {
	groups, err := m.proc.Cgroup(pid)
	if err != nil {
		return nil
	}
	var out []string
	group := groups.Main()
	if owner := ownerOf(group); owner != "" && slices.Contains(attributes, attr.Affinity) {
		out = append(out, owner+" owns the cpuset of cgroup "+group+
			": when it changes the group's CPUs, the kernel works the affinity out anew; set them there to keep them")
	}
	return append(out, m.unitOf(group, attributes)...)
}

// unitOf says what the systemd service of a group sets.
func (m machine) unitOf(group string, attributes []attr.Attribute) []string {
	unit, own := procfs.UnitOf(group)
	if unit = cmp.Or(own, unit); !strings.HasSuffix(unit, ".service") {
		return nil
	}
	set := m.unitSets(unit, attributes)
	if len(set) == 0 {
		return nil
	}
	return []string{"systemd unit " + unit + " sets " + strings.Join(set, ", ") +
		" whenever it starts its processes; change it there to keep it: systemctl edit " + unit}
}

// ownerOf names the manager of a container's cgroup.
func ownerOf(group string) string {
	short := procfs.ContainerOf(group)
	short = short[strings.LastIndexByte(short, ':')+1:]
	switch {
	case strings.Contains(group, "kubepods") && short != "":
		return "Kubernetes (kubelet) (container " + short + ")"
	case strings.Contains(group, "kubepods"):
		return "Kubernetes (kubelet)"
	case strings.Contains(group, "libpod"):
		return "Podman container " + short
	case strings.Contains(group, "lxc"):
		return "LXC container " + short
	case short != "" && strings.Contains(group, "docker"):
		return "Docker container " + short
	case short != "":
		return "container " + short
	case strings.HasPrefix(group, "/machine.slice/"):
		return "the machine manager of " + path.Base(group)
	}
	return ""
}
