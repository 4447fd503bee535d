// Package whytest has a made-up target with waits of most causes, for tests.
package whytest

import (
	"time"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/procfs"
	"piton/internal/why"
)

const (
	ms = time.Millisecond
	us = time.Microsecond
)

// Target is nginx of five threads on CPUs 4 to 7 of eight, in web.service below the limited web.slice.
func Target() *why.Target {
	var b cpuset.Builder
	b.AddRange(0, 7)
	all := b.Set()
	own := all.AndNot(cpuset.Of(0, 1, 2, 3))
	t := &why.Target{Name: "nginx", Words: []string{"nginx"}, Owner: "web.service", Sleeps: "ep_poll", Pressure: 2 * time.Second, Slices: 8412,
		Machine: why.Machine{Online: all, Rule: "a group's weight is divided among its CPUs by load"},
		Arena:   why.Arena{Group: "/web.slice/web.service"},
		Groups: []why.Group{{Path: "/web.slice/web.service"}, {Path: "/web.slice", Limit: procfs.CPULimit{Quota: 50 * ms, Period: 100 * ms},
			CPUStat: procfs.CPUStat{Used: 4 * time.Second, Periods: 100, Throttled: 41, ThrottledTime: 800 * ms}}},
		Rivals:  map[kernel.TID]why.Rival{4711: {Allowed: all, Cpuset: all}, 901: {Allowed: all, Cpuset: all}},
		Weighed: map[string]string{"/build.slice/job": "/build.slice/job"},
		Weights: map[string]int{"/build.slice": 100, "/web.slice": 100},
		IRQs:    map[string]why.IRQ{"irq eth0-rx-3": {Number: 132}},
		Rights:  why.Rights{Tasks: true, Groups: true, IRQs: true}}
	for tid := range kernel.TID(5) {
		t.Threads = append(t.Threads, why.Thread{TID: 812 + tid, PID: 812, Allowed: own, Cpuset: all})
	}
	return t
}

func part(by why.By, d time.Duration, waits uint64, usual, longest time.Duration) why.Waited {
	w := why.Waited{By: by, Time: d, Waits: waits, Longest: longest}
	w.Bins[why.Bin(uint64(usual))] = waits - 1
	w.Bins[why.Bin(uint64(longest))]++
	return w
}

// Observation is ten seconds of it.
func Observation() why.Observation {
	cc1 := why.By{Cause: why.Neighbour, Group: "/build.slice/job", Command: "cc1", PID: 901}
	as := why.By{Cause: why.Neighbour, Group: "/build.slice/job", Command: "as", PID: 902}
	irq := why.By{Cause: why.Kernel, Command: "irq eth0-rx-3"}
	limit := why.By{Cause: why.Limit, Group: "/web.slice"}
	o := why.Observation{Span: 10 * time.Second, Threads: 5, Ran: 19 * time.Second, Waited: 10500 * ms, Cost: 30 * ms, By: []why.Waited{
		part(irq, 200*ms, 700, 60*us, 90*us), part(why.By{Cause: why.Kernel, Command: "softirq NET_RX"}, 115*ms, 300, 30*us, 50*us),
		part(cc1, 6*time.Second, 3000, 2*ms, 7200*us), part(as, 510*ms, 120, 3*ms, 12*ms),
		part(why.By{Cause: why.Self, Command: "nginx", PID: 812}, 1890*ms, 1900, ms, 4*ms),
		part(limit, 945*ms, 41, 23*ms, 31*ms),
		part(why.By{Cause: why.RealTime, Command: "rtapp", PID: 4711, Policy: kernel.FIFO, Priority: 50}, 630*ms, 600, ms, 2*ms),
		part(why.By{Cause: why.Waking}, 210*ms, 1700, 40*us, 100*us),
	}}
	for i, w := range o.By {
		if i%2 == 0 {
			o.Woken.Add(&w.Bins)
		} else {
			o.Preempted.Add(&w.Bins)
		}
	}
	o.Avoidable = why.Avoidable{Mask: 1310 * ms, Idle: cpuset.Of(0, 1)}
	o.Longest = why.LongestWait{TID: 815, CPU: 5, Time: 31 * ms, End: time.Date(2026, 11, 29, 21, 4, 11, 382e6, time.UTC), Parts: []why.Waited{
		{By: limit, Time: 28400 * us}, {By: cc1, Time: 2100 * us}, {By: irq, Time: 500 * us}}}
	return o
}
