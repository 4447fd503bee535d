// Package facts reads what package why needs to know of a target, from files: where it competes,
// what limits it, and who its rivals are. Without eBPF it observes what files alone tell, too.
//
// It changes nothing. Start at Open.
package facts

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"piton/internal/change/attr"
	"piton/internal/change/attr/share"
	"piton/internal/cpuset"
	"piton/internal/irq"
	"piton/internal/kernel"
	"piton/internal/place"
	"piton/internal/procfs"
	"piton/internal/watch"
	"piton/internal/why"
)

// Reader follows a target from when it was opened.
type Reader struct {
	fs      procfs.FS
	m       *attr.Machine
	targets watch.Targets
	began   time.Duration
	threads map[kernel.TID]procfs.Schedstat // when they were last read
	most    int                             // threads at once
	first   *why.Target                     // at Open, for a target that ends meanwhile
	sum     procfs.Schedstat                // grown, over all threads
	mount   procfs.CgroupMount              // of the cpu controller; Point "" without one
	groups  []group
	pressed time.Duration
}

// group is a control group of the target when it was opened.
type group struct {
	attr.CgroupDir
	stat procfs.CPUStat
}

// Open begins; the first error is that of the first file which is needed.
func Open(fs procfs.FS, t watch.Targets) (*Reader, error) {
	r := &Reader{fs: fs, m: attr.NewMachine(attr.Sources{Proc: fs}), targets: t}
	r.mount, _ = fs.CgroupMount("cpu")
	r.first = &why.Target{}
	r.machine(r.first)
	r.readThreads(r.first)
	if err := r.look(); err != nil {
		return nil, err
	}
	r.Restart()
	return r, nil
}

// Restart lets what follows count from now on.
func (r *Reader) Restart() {
	r.groups, r.pressed = r.chain(), -1
	if len(r.groups) > 0 {
		if stalled, err := r.groups[0].CPUStalled(r.groups[0].Path); err == nil {
			r.pressed = stalled
		}
	}
	r.sum, r.most, r.began = procfs.Schedstat{}, len(r.threads), kernel.Monotonic()
}

// Every is how often Look has to be called: what a thread does between the last look and its end
// is not seen.
const Every = 250 * time.Millisecond

// Look adds what the threads have done since the last time; left is whether there still is one.
func (r *Reader) Look() (left bool, err error) {
	err = r.look()
	return len(r.threads) > 0, err
}

func (r *Reader) look() error {
	next := make(map[kernel.TID]procfs.Schedstat, len(r.threads))
	err := r.targets.EachThread(r.fs, func(pid, tid kernel.TID) error {
		st, err := r.fs.Schedstat(pid, tid)
		if err != nil {
			return err
		}
		before := r.threads[tid]
		if st.RunNs < before.RunNs || st.Slices < before.Slices { // the number is another thread's now
			before = procfs.Schedstat{}
		}
		r.sum.RunNs += st.RunNs - before.RunNs
		r.sum.RunDelayNs += st.RunDelayNs - min(before.RunDelayNs, st.RunDelayNs)
		r.sum.Slices += st.Slices - before.Slices
		next[tid] = st
		return nil
	})
	if err == nil {
		r.threads, r.most = next, max(r.most, len(next))
	}
	return err
}

// Observe is what files tell since Open, or Restart: sums without causes.
func (r *Reader) Observe() why.Observation {
	return why.Observation{Span: kernel.Monotonic() - r.began, Threads: r.most,
		Ran: time.Duration(r.sum.RunNs), Waited: time.Duration(r.sum.RunDelayNs)}
}

// mostProcesses is of how many processes of the target the control groups are read.
const mostProcesses = 64

// chain are the groups of the cpu controller that the target is in, the first process's first, each
// with its ancestors, without the root.
func (r *Reader) chain() (out []group) {
	for _, pid := range r.processes() {
		dir, err := r.m.Cgroup(pid, "cpu")
		if err != nil {
			continue
		}
		for path := dir.Path; strings.Trim(path, "/") != "" && dir.Has(path); path = path[:strings.LastIndexByte(path, '/')] {
			if slices.ContainsFunc(out, func(g group) bool { return g.Path == path }) {
				break // and so are its ancestors
			}
			g := group{CgroupDir: attr.CgroupDir{CgroupMount: dir.CgroupMount, Path: path}}
			g.stat, _ = g.CPUStat(path) // 0 where the group counts nothing
			out = append(out, g)
		}
	}
	return out
}

// processes are some of the target's, in the order of their numbers.
func (r *Reader) processes() (pids []kernel.TID) {
	_ = r.targets.EachThread(r.fs, func(pid, _ kernel.TID) error { // what cannot be read is left out
		if len(pids) < mostProcesses && !slices.Contains(pids, pid) {
			pids = append(pids, pid)
		}
		return nil
	})
	return pids
}

// Target is what is known of the target now, and of those that had the CPU meanwhile.
func (r *Reader) Target(o *why.Observation) *why.Target {
	t := &why.Target{Slices: r.sum.Slices, Pressure: -1, Rivals: map[kernel.TID]why.Rival{}, Weighed: map[string]string{},
		Weights: map[string]int{}, IRQs: map[string]why.IRQ{}}
	r.machine(t)
	if r.readThreads(t); len(t.Threads) == 0 {
		t.Threads = r.first.Threads
	}
	r.readGroups(t)
	if pids := r.processes(); len(pids) > 0 {
		group, auto := r.m.TaskGroup(pids[0])
		if auto {
			t.Arena.Autogroup = group
		} else {
			t.Arena.Group = group
		}
		r.weigh(t, group)
		t.Owner = r.owner(pids)
	}
	for _, by := range leaders(o.By) {
		r.rival(t, by)
	}
	return t
}

// leaders are those of parts, sorted by time, that may be the first of a row: of thousands of short
// processes which are called the same, one is read about.
func leaders(parts []why.Waited) (out []*why.By) {
	type like struct {
		why.Cause
		group, command string
		pid            kernel.TID
	}
	seen := map[like]bool{}
	for i := range parts {
		by := &parts[i].By
		one := like{Cause: by.Cause, group: by.Group, command: by.Command}
		if by.Cause == why.RealTime { // a row each
			one.pid = by.PID
		}
		if !seen[one] {
			seen[one] = true
			out = append(out, by)
		}
	}
	return out
}

func (r *Reader) machine(t *why.Target) {
	t.Machine.Online, _ = r.m.Online()
	t.Machine.Isolated, _ = attr.ReadCPUs(r.fs.Root(), "isolated")
	t.Machine.SchedExt = r.m.SchedExt()
	mode, _ := r.m.GroupMode()
	t.Machine.Rule, t.Machine.PerTask = r.m.GroupRule(), mode == place.GroupsConcur || mode == place.GroupsTasks
	root := r.m.EUID() == 0
	t.Rights = why.Rights{Tasks: r.m.Has(kernel.CapSysNice), Groups: root || r.m.Has(kernel.CapDACOverride), IRQs: root || r.m.Has(kernel.CapDACOverride)}
}

// readThreads reads what the threads may use, and where most of them sleep.
func (r *Reader) readThreads(t *why.Target) {
	sets := map[kernel.TID]cpuset.Set{} // by process
	asleep := map[string]int{}
	_ = r.targets.EachThread(r.fs, func(pid, tid kernel.TID) error { // what cannot be read is left out
		st, err := r.fs.ThreadStatus(pid, tid)
		if err != nil {
			return err
		}
		set, known := sets[pid]
		if !known {
			set = r.cpuset(pid, t.Machine.Online)
			sets[pid] = set
		}
		t.Threads = append(t.Threads, why.Thread{TID: tid, PID: pid, Comm: st.Comm, Allowed: st.CPUsAllowed.And(t.Machine.Online), Cpuset: set})
		if name, err := r.fs.File(strconv.Itoa(int(pid)), "task", strconv.Itoa(int(tid)), "wchan"); err == nil && string(name) != "0" {
			asleep[string(name)]++
		}
		return nil
	})
	for name, n := range asleep {
		if n > asleep[t.Sleeps] || n == asleep[t.Sleeps] && name < t.Sleeps {
			t.Sleeps = name
		}
	}
}

// cpuset is what a process's control group allows, all where that cannot be read.
func (r *Reader) cpuset(pid kernel.TID, online cpuset.Set) cpuset.Set {
	set, _, err := r.m.Cpuset(pid)
	if err != nil || set.Empty() {
		return online
	}
	return set.And(online)
}

func (r *Reader) readGroups(t *why.Target) {
	for _, g := range r.groups {
		limit, _ := g.CPULimit(g.Path) // none where it cannot be read
		now, err := g.CPUStat(g.Path)
		if err != nil {
			now = g.stat
		}
		t.Groups = append(t.Groups, why.Group{Path: g.Path, Limit: limit, CPUStat: now.Since(g.stat)})
	}
	if len(r.groups) == 0 || r.pressed < 0 {
		return
	}
	if stalled, err := r.groups[0].CPUStalled(r.groups[0].Path); err == nil {
		t.Pressure = stalled - r.pressed
	}
}

// weigh reads the weights of a group and its ancestors.
func (r *Reader) weigh(t *why.Target, path string) {
	for ; strings.HasPrefix(path, "/") && path != "/"; path = path[:strings.LastIndexByte(path, '/')] {
		o, err := r.m.GroupAt(path, attr.Weight)
		if err != nil {
			continue // it has none of its own
		}
		if v, err := r.m.Read(attr.Weight, o); err == nil {
			t.Weights[path] = int(v.(share.Weight).Hundredths / 100)
		}
	}
}

// owner is the unit, container or group of processes, "" where they differ.
func (r *Reader) owner(pids []kernel.TID) (owner string) {
	for _, pid := range pids {
		groups, err := r.fs.Cgroup(pid)
		if err != nil {
			continue
		}
		of := procfs.OwnerOf(groups.Main())
		if owner = cmp.Or(owner, of); of != owner {
			return ""
		}
	}
	return strings.Trim(owner, "/")
}

// rival reads about one who had the CPU.
func (r *Reader) rival(t *why.Target, b *why.By) {
	if name, is := strings.CutPrefix(b.Command, "irq "); is && b.Cause == why.Kernel {
		r.interrupt(t, b.Command, name)
		return
	}
	if b.Cause != why.Neighbour && b.Cause != why.RealTime && b.Cause != why.Kernel {
		return
	}
	if _, known := t.Weighed[b.Group]; !known && b.Cause == why.Neighbour && b.Group != "" && r.mount.Point != "" {
		t.Weighed[b.Group] = attr.CgroupDir{CgroupMount: r.mount, Path: b.Group}.Weighed()
		r.weigh(t, t.Weighed[b.Group])
	}
	st, err := r.fs.Stat(b.PID)
	if err != nil || b.PID == 0 {
		return
	}
	status, err := r.fs.Status(b.PID)
	if err != nil {
		return
	}
	rival := why.Rival{Comm: status.Comm, Nice: int(st.Nice), Bound: st.Flags&procfs.FlagNoSetAffinity != 0, Allowed: status.CPUsAllowed,
		Cpuset: r.cpuset(b.PID, t.Machine.Online)}
	if group, auto := r.m.TaskGroup(b.PID); auto {
		rival.Autogroup = group
		if of, _ := r.m.TaskGroup(st.Session); of == group {
			rival.Leader = st.Session
		}
	}
	t.Rivals[b.PID] = rival
}

// interrupt finds a line by its number or its handler's name.
func (r *Reader) interrupt(t *why.Target, command, name string) {
	table, err := irq.NewMonitor(r.fs.Root()).Table()
	if err != nil {
		return
	}
	lines, _ := table.Choose([]string{name}) // none matches: it is not known
	if len(lines) == 1 {
		control := lines[0].Control
		t.IRQs[command] = why.IRQ{Number: lines[0].Number, Bound: control == irq.Managed || control == irq.Fixed}
	}
}
