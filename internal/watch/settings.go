package watch

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"piton/internal/bpf"
	"piton/internal/bpf/object"
	"piton/internal/change/attr"
	"piton/internal/change/attr/share"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/procfs"
)

// values makes settings of what the kernel reported.
type values struct {
	fs      procfs.FS
	own     bpf.Executable
	unified *object.Groups            // nil: there is no version 2
	groups  map[uint32]*object.Groups // by the device of the hierarchy: those that schedule
}

func newValues(fs procfs.FS) values {
	v := values{fs: fs, groups: map[uint32]*object.Groups{}}
	for _, controller := range []string{"cpu", "cpuset", ""} {
		names, err := object.FindGroups(controller)
		if err != nil {
			continue
		}
		if info, err := os.Stat(names.Mount.Point); err == nil {
			names.Scan() // so that groups that are removed meanwhile have a name
			v.groups[kernel.DeviceNumber(info.Sys().(*syscall.Stat_t).Dev)] = names
			if names.Mount.Unified {
				v.unified = names
			}
		}
	}
	return v
}

// settings are the attributes that a call set, or the one that it was to set.
func (v *values) settings(c *bpf.Change) []Setting {
	s := Setting{At: time.Duration(c.AtNs), By: v.changer(c), Errno: syscall.Errno(max(0, -min(c.Result, 0)))}
	if c.Call < bpf.WriteFile {
		return v.called(c, s)
	}
	if v.written(c, &s) {
		return []Setting{s}
	}
	return nil
}

func (v *values) changer(c *bpf.Change) Changer {
	by := Changer{PID: c.ByTGID, TID: c.ByTID, Comm: c.Changer(), Own: v.own.Inode != 0 && c.Running() == v.own}
	group := ""
	if v.unified != nil {
		group = v.unified.Path(c.ByGroup)
	}
	if group == "" || group == "/" { // systemd may use a hierarchy of version 1
		if groups, err := v.fs.Cgroup(by.PID); err == nil {
			group = groups.Main()
		}
	}
	unit, user := procfs.UnitOf(group)
	by.Unit = cmp.Or(user, unit)
	return by
}

func task(t *bpf.TaskSet) attr.Object {
	const tickNs = 1e7 // of USER_HZ
	return attr.Object{PID: t.TGID, TID: t.TID, StartTicks: t.StartNs / tickNs, Comm: t.Name()}
}

// called is what a system call about tasks set: of what it can set, that which is other than before.
func (v *values) called(c *bpf.Change, s Setting) (out []Setting) {
	who := uint32(c.Args[0])
	if c.Call == bpf.SetPriority || c.Call == bpf.SetIOPrio {
		who = uint32(c.Args[1])
		v.whole(c, &s)
	}
	before, after := &c.Before, &c.After
	known := before.StartNs != 0
	if s.Of = task(before); !known {
		s.Of = attr.Object{TID: kernel.TID(who)}
	}
	there := known && s.Errno == 0 && after.StartNs == before.StartNs
	for i, a := range callSets[c.Call] {
		s.Attribute = a.Attribute
		if s.From = ""; known {
			s.From = a.of(before, c.CPUsBefore)
		}
		if s.To = a.asked(c); there {
			s.To = a.of(after, c.CPUsAfter)
		}
		last := i == len(callSets[c.Call])-1
		if there && s.From != s.To || last && len(out) == 0 {
			out = append(out, s)
		}
	}
	return out
}

// whole fills in whose tasks are meant by a number that is of no task.
func (v *values) whole(c *bpf.Change, s *Setting) {
	kind, who := c.Args[0], uint32(c.Args[1])
	if c.Call == bpf.SetIOPrio {
		kind-- // IOPRIO_WHO_PROCESS is 1, PRIO_PROCESS 0
	}
	switch kind {
	case syscall.PRIO_PGRP:
		if st, err := v.fs.Stat(c.ByTGID); who == 0 && err == nil {
			who = uint32(st.Group)
		}
		s.whole, s.Whole = wholeOf{id: who}, fmt.Sprintf("process group %d", who)
	case syscall.PRIO_USER:
		if st, err := v.fs.Status(c.ByTGID); who == 0 && err == nil {
			who = st.UID
		}
		s.whole, s.Whole = wholeOf{user: true, id: who}, fmt.Sprintf("user %d", who)
	}
}

// callSet is an attribute that a call sets.
type callSet struct {
	attr.Attribute
	of    func(*bpf.TaskSet, cpuset.Set) string
	asked func(*bpf.Change) string
}

func affinityOf(_ *bpf.TaskSet, cpus cpuset.Set) string { return cpus.String() }

func niceOf(t *bpf.TaskSet, _ cpuset.Set) string {
	const niceZero = 120 // DEFAULT_PRIO of include/linux/sched/prio.h
	return strconv.Itoa(int(t.StaticPriority) - niceZero)
}

func ioPrioOf(t *bpf.TaskSet, _ cpuset.Set) string { return ioPrio(uint64(t.IOPrio)) }

func ioPrio(raw uint64) string { return attr.IOPrioValue(kernel.IOPrioOf(raw)).String() }

func policyOf(t *bpf.TaskSet, _ cpuset.Set) string {
	return policy(t.Policy, t.RTPrio, t.RuntimeNs, t.DeadlineNs, t.PeriodNs)
}

func policy(number, priority uint32, runtime, deadline, period uint64) string {
	const resetOnFork = 0x40000000 // SCHED_RESET_ON_FORK of sched_setscheduler(2)
	p := attr.PolicyValue{Policy: kernel.Policy(number &^ resetOnFork), RTPrio: int(priority), ResetOnFork: number&resetOnFork != 0}
	if p.Policy == kernel.Deadline {
		p.Runtime, p.Deadline, p.Period = time.Duration(runtime), time.Duration(deadline), time.Duration(period)
	}
	return p.String()
}

// callSets are what each call sets; what is asked for is the last one, if nothing has changed.
var callSets = map[bpf.SetCall][]callSet{
	bpf.SetAffinity: {{attr.Affinity, affinityOf, func(c *bpf.Change) string { return c.CPUsAsked.String() }}},
	bpf.SetScheduler: {{attr.Policy, policyOf, func(c *bpf.Change) string {
		return policy(uint32(c.Args[1]), binary.NativeEndian.Uint32(c.Asked[:]), 0, 0, 0)
	}}},
	bpf.SetParam: {{attr.Policy, policyOf, func(c *bpf.Change) string {
		return policy(c.Before.Policy, binary.NativeEndian.Uint32(c.Asked[:]), 0, 0, 0)
	}}},
	bpf.SetPriority: {{attr.Nice, niceOf, func(c *bpf.Change) string { return strconv.Itoa(int(int32(c.Args[2]))) }}},
	bpf.SetIOPrio:   {{attr.IOPrio, ioPrioOf, func(c *bpf.Change) string { return ioPrio(c.Args[2]) }}},
	bpf.SetAttr: {
		{attr.Nice, niceOf, func(c *bpf.Change) string { return strconv.Itoa(int(int32(binary.NativeEndian.Uint32(c.Asked[16:])))) }},
		{attr.Policy, policyOf, func(c *bpf.Change) string { // struct sched_attr
			u32, u64 := binary.NativeEndian.Uint32, binary.NativeEndian.Uint64
			return policy(u32(c.Asked[4:]), u32(c.Asked[20:]), u64(c.Asked[24:]), u64(c.Asked[32:]), u64(c.Asked[40:]))
		}},
	},
}

// written fills in what a write to a file of a control group set. It is false for a file that
// schedules nothing.
func (v *values) written(c *bpf.Change, s *Setting) bool {
	names, set := v.groups[c.Device], fileSets[c.File()]
	if names == nil || set.Attribute == "" {
		return false
	}
	unified := c.Unified != 0
	folder := cmp.Or(names.Path(c.Folder), "?")
	if s.Attribute = set.Attribute; s.Attribute == Cgroup {
		s.Of, s.From, s.To = task(&c.Before), names.Path(c.Before.Group), folder
		if c.Before.StartNs == 0 {
			id, _ := strconv.Atoi(strings.TrimSpace(c.Text()))
			s.Of = attr.Object{TID: kernel.TID(id)}
		}
		if c.File() == "cgroup.procs" && s.Of.PID != 0 {
			s.Of.TID = s.Of.PID
		}
		return true
	}
	file := c.File()
	if set.files != nil {
		file = set.files(unified)[0] // of the attribute, as attr has it
	}
	s.Of = attr.Object{Path: names.Mount.File(folder, file), Name: "cgroup " + folder}
	s.From = set.of(&c.GroupBefore, unified, c.CPUsBefore)
	if s.To = set.of(&c.GroupAfter, unified, c.CPUsAfter); s.Errno != 0 {
		s.To = strings.TrimSpace(c.Text())
	}
	return true
}

// fileSet is an attribute that a file of a control group sets.
type fileSet struct {
	attr.Attribute
	files func(unified bool) []string
	of    func(g *bpf.GroupSet, unified bool, cpus cpuset.Set) string
}

var (
	weightSet = fileSet{attr.Weight, share.WeightFiles, weightOf}
	quotaSet  = fileSet{attr.Quota, share.QuotaFiles, quotaOf}
	moveSet   = fileSet{Attribute: Cgroup}
	fileSets  = map[string]fileSet{
		"cpu.weight": weightSet, "cpu.weight.nice": weightSet, "cpu.idle": weightSet, "cpu.shares": weightSet,
		"cpu.max": quotaSet, "cpu.max.burst": quotaSet,
		"cpu.cfs_quota_us": quotaSet, "cpu.cfs_period_us": quotaSet, "cpu.cfs_burst_us": quotaSet,
		"cpuset.cpus":  {Cpuset, nil, cpusOf},
		"cgroup.procs": moveSet, "cgroup.threads": moveSet, "tasks": moveSet,
	}
)

// weightOf is the weight as the group's files show it. The kernel keeps shares, scaled up by 1024
// (scale_load, sched_weight_to_cgroup and cpu_weight_read_u64 of kernel/sched).
func weightOf(g *bpf.GroupSet, unified bool, _ cpuset.Set) string {
	if g.CPU == 0 {
		return ""
	}
	n := g.Shares >> 10
	if unified {
		n = (n*100 + 512) / 1024
	}
	w, err := share.WeightOf(unified, []string{strconv.FormatUint(n, 10), strconv.Itoa(int(g.Idle))})
	if err != nil {
		return ""
	}
	return w.String()
}

func quotaOf(g *bpf.GroupSet, _ bool, _ cpuset.Set) string {
	if g.Bandwidth == 0 {
		return ""
	}
	const none = ^uint64(0) // RUNTIME_INF of kernel/sched/sched.h
	q := share.Quota{None: g.QuotaNs == none, Period: time.Duration(g.PeriodNs), Burst: time.Duration(g.BurstNs)}
	if !q.None {
		q.Quota = time.Duration(g.QuotaNs)
	}
	return q.String()
}

func cpusOf(g *bpf.GroupSet, unified bool, cpus cpuset.Set) string {
	switch {
	case g.Cpuset == 0:
		return ""
	case !cpus.Empty():
		return cpus.String()
	case unified:
		return "inherited" // from the group around
	}
	return "none"
}
