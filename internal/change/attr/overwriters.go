package attr

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"piton/internal/kernel"
	"piton/internal/pattern"
)

// Overwriter is somebody who sets what a plan sets, and may set it again.
type Overwriter struct {
	Who string // "irqbalance", "systemd unit nginx.service"
	Why string // one sentence for the user
}

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

// setsOne reports whether who, a daemon or a directive, sets one of the attributes.
func setsOne(who string, attributes []Attribute) bool {
	return slices.ContainsFunc(attributes, func(a Attribute) bool { return slices.Contains(a.spec().setBy, who) })
}

// Overwriters finds out who may set again what the changes set: daemons that run,
// and the owners of the processes' cgroups. It reads no more than the changes
// give reason to.
func (m *Machine) Overwriters(changes []Change) []Overwriter {
	var touched []Attribute
	byProcess := map[kernel.TID][]Attribute{}
	var pids []kernel.TID
	for _, c := range changes {
		if c.Status != Planned {
			continue
		}
		if !slices.Contains(touched, c.Attribute) {
			touched = append(touched, c.Attribute)
		}
		if c.IsFile() || slices.Contains(byProcess[c.PID], c.Attribute) {
			continue
		}
		if byProcess[c.PID] == nil {
			pids = append(pids, c.PID)
		}
		byProcess[c.PID] = append(byProcess[c.PID], c.Attribute)
	}
	out := m.daemons(touched)
	known := map[string]bool{}
	for _, pid := range pids {
		for _, o := range m.groupOwners(pid, byProcess[pid]) {
			if !known[o.Why] {
				known[o.Why] = true
				out = append(out, o)
			}
		}
	}
	return out
}

// daemons returns those that run and set one of the attributes.
func (m *Machine) daemons(attributes []Attribute) []Overwriter {
	var out []Overwriter
	var running func(string) bool
	for _, d := range daemons {
		if !setsOne(d.names[0], attributes) {
			continue
		}
		if running == nil {
			running = m.running()
		}
		if slices.ContainsFunc(d.names, running) || slices.ContainsFunc(d.marks, m.markOfRunning) {
			out = append(out, Overwriter{d.names[0], d.why})
		}
	}
	return out
}

// markOfRunning reports whether a file says that a daemon runs: a PID file's
// process has to be there.
func (m *Machine) markOfRunning(file string) bool {
	name := filepath.Join(m.Proc.Root(), file)
	if !strings.HasSuffix(file, ".pid") {
		sockets, err := os.ReadDir(name)
		return err == nil && len(sockets) > 0
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return false
	}
	_, err = m.Proc.File(strings.TrimSpace(string(data)), "comm")
	return err == nil && strings.Trim(strings.TrimSpace(string(data)), "0123456789") == ""
}

// manyProcesses is how many names, at about 4 µs each, are read without another
// sign that one of the daemons could run.
const manyProcesses = 1000

// installed reports whether the program of a daemon is where packages put it.
func (m *Machine) installed() bool {
	for _, d := range daemons {
		for _, name := range d.names {
			for _, dir := range []string{"usr/sbin", "usr/bin", "usr/local/sbin", "usr/local/bin"} {
				if _, err := os.Stat(filepath.Join(m.Proc.Root(), dir, name)); err == nil {
					return true
				}
			}
		}
	}
	return false
}

// running returns what tells whether a program of a name runs. Under systemd a
// service's cgroup says so at the cost of a look; else the names of all processes
// are read, once.
func (m *Machine) running() func(name string) bool {
	root := m.Proc.Root()
	for _, mount := range []string{"sys/fs/cgroup", "sys/fs/cgroup/systemd", "sys/fs/cgroup/unified"} {
		slice := filepath.Join(root, mount, "system.slice")
		if _, err := os.Stat(slice); err != nil {
			continue
		}
		return func(name string) bool {
			data, err := os.ReadFile(filepath.Join(slice, name+".service", "cgroup.procs"))
			return err == nil && len(data) > 0
		}
	}
	names := map[string]bool{}
	pids, err := m.Proc.Processes()
	if err != nil || len(pids) > manyProcesses && !m.installed() {
		return func(string) bool { return false }
	}
	for _, pid := range pids {
		if comm, err := m.Proc.File(strconv.Itoa(int(pid)), "comm"); err == nil {
			names[strings.TrimSpace(string(comm))] = true
		}
	}
	return func(name string) bool { return names[name] }
}

// container recognises the cgroups of containers: Docker's, containerd's and
// CRI-O's below kubepods, Podman's and LXC's.
var container = pattern.Lazy(`(?:^|/)(?:docker[-/]|cri-containerd[-:]|crio-|libpod-|lxc(?:\.payload)?[./])([^/]+?)(?:\.scope)?(?:/|$)`)

// groupOwners returns who owns the process's cgroup and sets one of the attributes.
func (m *Machine) groupOwners(pid kernel.TID, attributes []Attribute) []Overwriter {
	groups, err := m.Proc.Cgroup(pid)
	if err != nil {
		return nil
	}
	group := groups.Main()
	if group == "" || group == "/" {
		return nil
	}
	var out []Overwriter
	if slices.Contains(attributes, Affinity) {
		if who := cpusetOwner(group); who != "" {
			out = append(out, Overwriter{who, who + " owns the cpuset of cgroup " + group +
				": when it changes the group's CPUs, the kernel works the affinity out anew; set them there to keep them"})
		}
	}
	if unit := unitOf(group); unit != "" {
		if set := m.unitSets(unit, attributes); len(set) > 0 {
			out = append(out, Overwriter{"systemd unit " + unit, "systemd unit " + unit + " sets " + strings.Join(set, ", ") +
				" whenever it starts its processes; change it there to keep it: systemctl edit " + unit})
		}
	}
	return out
}

// cpusetOwner names the manager of a container's cgroup.
func cpusetOwner(group string) string {
	short := ""
	if found := container().FindStringSubmatch(group); found != nil {
		short = found[1][:min(12, len(found[1]))]
	}
	switch {
	case strings.Contains(group, "kubepods"):
		return strings.TrimSpace("Kubernetes (kubelet) " + parens(short))
	case strings.Contains(group, "libpod"):
		return "Podman container " + short
	case strings.Contains(group, "lxc"):
		return "LXC container " + short
	case short != "":
		return "Docker container " + short
	case strings.HasPrefix(group, "/machine.slice/"):
		return "the machine manager of " + path.Base(group)
	}
	return ""
}

func parens(s string) string {
	if s == "" {
		return ""
	}
	return "(container " + s + ")"
}

// unitOf is the systemd service or scope of a cgroup's path, "" if there is none;
// those below a user's manager are that manager's.
func unitOf(group string) string {
	for _, part := range slices.Backward(strings.Split(group, "/")) {
		if strings.HasSuffix(part, ".service") {
			return part
		}
	}
	return ""
}
