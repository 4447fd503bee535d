package why

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/procfs"
)

const ms = time.Millisecond

func cpus(t *testing.T, list string) cpuset.Set {
	t.Helper()
	set, err := cpuset.Parse(list)
	require.NoError(t, err)
	return set
}

// target is nginx of five threads on CPUs 0 and 1 of eight, in web.service below web.slice.
func target(t *testing.T) *Target {
	out := &Target{Name: "nginx", Words: []string{"nginx"}, Owner: "web.service", Pressure: -1,
		Machine: Machine{Online: cpus(t, "0-7"), Rule: "by weight"},
		Arena:   Arena{Group: "/web.slice/web.service"},
		Groups: []Group{{Path: "/web.slice/web.service"}, {Path: "/web.slice", Limit: procfs.CPULimit{Quota: 50 * ms, Period: 100 * ms},
			CPUStat: procfs.CPUStat{Used: 4 * time.Second, Periods: 100, Throttled: 41, ThrottledTime: time.Second}}},
		Rivals: map[kernel.TID]Rival{7: {Allowed: cpus(t, "0-7"), Cpuset: cpus(t, "0-7")}},
		Weighed: map[string]string{"/build.slice/job": "/build.slice/job", "/web.slice/web.service": "/web.slice/web.service",
			"/": ""},
		Weights: map[string]int{"/build.slice": 100, "/web.slice": 100},
		IRQs:    map[string]IRQ{"irq eth0-rx-3": {Number: 132}},
		Rights:  Rights{true, true, true}}
	for tid := range kernel.TID(5) {
		out.Threads = append(out.Threads, Thread{TID: 812 + tid, PID: 812, Allowed: cpus(t, "0-1"), Cpuset: cpus(t, "0-7")})
	}
	return out
}

// waited is ten seconds of observation, of which the threads waited two for one.
func waited(by By, longest time.Duration) Observation {
	w := Waited{By: by, Time: 2 * time.Second, Waits: 100, Longest: longest}
	w.Bins[Bin(uint64(longest))] = 100
	return Observation{Span: 10 * time.Second, Threads: 5, Ran: 4 * time.Second, Waited: 2 * time.Second, By: []Waited{w},
		Preempted: w.Bins}
}

// TestRemedies has a row for each rule of the table.
func TestRemedies(t *testing.T) {
	neighbour := By{Cause: Neighbour, Group: "/build.slice/job", Command: "cc1", PID: 7}
	rt := By{Cause: RealTime, Command: "rtapp", PID: 7, Policy: kernel.FIFO, Priority: 50}
	limit := By{Cause: Limit, Group: "/web.slice"}
	for _, c := range []struct {
		rule string
		by   By
		in   func(*Target)
		want string
	}{
		{"limit: not kept", limit, func(g *Target) { g.Machine.SchedExt, g.Groups[1].Throttled = "scx_x", 0 },
			"the sched_ext scheduler scx_x does not keep the limit"},
		{"limit: unknown", By{Cause: Limit, Group: "/gone"}, nil, "–"},
		{"limit: burst", limit, nil, "piton quota cgroup:web.slice 50% --burst 30ms"},
		{"limit: burst", limit, func(g *Target) { g.Groups[1].Limit.Burst = 20 * ms }, "piton quota cgroup:web.slice 50% --burst 40ms"},
		{"limit: quota", limit, func(g *Target) { g.Groups[1].Used = 5 * time.Second }, "piton quota cgroup:web.slice 60%"},
		{"limit: quota", limit, func(g *Target) { g.Groups[1].Used, g.Groups[1].Throttled = 0, 100 }, "piton quota cgroup:web.slice 60%"},
		{"limit: quota", limit, func(g *Target) { g.Groups[1].Used, g.Groups[1].ThrottledTime = 5*time.Second, 100*time.Second },
			"piton quota cgroup:web.slice 800%"},
		{"limit: quota", limit, func(g *Target) { g.Groups[1].Limit.Quota, g.Groups[1].Used = 800*ms, 80*time.Second },
			"the limit is all there is: it has 8 CPUs"},
		{"neighbour: sched_ext", neighbour, func(g *Target) { g.Machine.SchedExt = "scx_x" }, "the sched_ext scheduler scx_x decides who goes first"},
		{"neighbour: weight", neighbour, nil, "piton weight cgroup:build.slice 20"},
		{"neighbour: weight", neighbour, func(g *Target) { g.Rights.Groups = false }, "as root: piton weight cgroup:build.slice 20"},
		{"neighbour: weight", neighbour, func(g *Target) { g.Weights["/build.slice"] = 20 }, "piton weight cgroup:build.slice idle"},
		{"neighbour: weight", neighbour, func(g *Target) { g.Weights["/build.slice"] = 0 }, "build.slice has the least weight already"},
		{"neighbour: weight", neighbour, func(g *Target) { g.Arena.Group = "/build.slice" }, "piton weight cgroup:build.slice/job 20"},
		{"neighbour: gone", By{Cause: Neighbour, Group: "/", PID: 9}, nil, "it has ended"},
		{"neighbour: autogroup", By{Cause: Neighbour, Group: "/", PID: 7}, func(g *Target) {
			g.Arena = Arena{Autogroup: "/autogroup-1"}
			g.Rivals[7] = Rival{Autogroup: "/autogroup-2"}
		}, "piton nice --autogroup 7 10"},
		{"neighbour: autogroup", By{Cause: Neighbour, Group: "/", PID: 7}, func(g *Target) { g.Rivals[7] = Rival{Autogroup: "/autogroup-2", Leader: 5} },
			"piton nice --autogroup 5 10"},
		{"neighbour: nice", By{Cause: Neighbour, Group: "/", PID: 7}, func(g *Target) {
			g.Arena = Arena{Autogroup: "/autogroup-2"}
			g.Rivals[7] = Rival{Autogroup: "/autogroup-2"}
		}, "piton nice 7 10"},
		{"neighbour: nice", By{Cause: Neighbour, Group: "/", PID: 7}, nil, "piton nice 7 10"},
		{"neighbour: nice", By{Cause: Neighbour, Group: "/web.slice/web.service", PID: 7}, func(g *Target) { g.Rivals[7] = Rival{Nice: 12} }, "piton nice 7 19"},
		{"neighbour: nice", By{Cause: Neighbour, Group: "/", Command: "cc1", PID: 7}, func(g *Target) { g.Rivals[7] = Rival{Nice: 19} },
			"cc1 has the least weight already"},
		{"real time: move it", rt, nil, "piton pin 7 --cpu 2-7"},
		{"real time: move away", rt, func(g *Target) { g.Rivals[7] = Rival{Allowed: cpus(t, "0"), Cpuset: cpus(t, "0"), Bound: true} },
			"piton pin nginx --cpu 1"},
		{"real time: no CPU", rt, func(g *Target) { g.Rivals[7] = Rival{Allowed: cpus(t, "0-1"), Cpuset: cpus(t, "0-1")} },
			"FIFO goes first, and there is no CPU without it"},
		{"kernel: interrupt", By{Cause: Kernel, Command: "irq eth0-rx-3"}, nil, "piton irq move 132 --cpu 2-7"},
		{"kernel: bound interrupt", By{Cause: Kernel, Command: "irq eth0-rx-3"}, func(g *Target) { g.IRQs["irq eth0-rx-3"] = IRQ{132, true} },
			"its driver or the kernel decides where it goes"},
		{"kernel: thread", By{Cause: Kernel, Command: "kswapd0", PID: 7}, nil, "piton pin 7 --cpu 2-7"},
		{"kernel: bound", By{Cause: Kernel, Command: "migration/0", PID: 7}, func(g *Target) { g.Rivals[7] = Rival{Bound: true} }, "–"},
		{"self: more CPUs", By{Cause: Self}, func(g *Target) { g.Groups[1].Throttled = 0 }, "piton pin nginx --cpu 0-7"},
		{"self: crowded", By{Cause: Self}, nil, "5 threads on 2 allowed CPUs"},
		{"self: isolated", By{Cause: Self}, func(g *Target) { g.Machine.Isolated = cpus(t, "0-3") }, "piton spread 0-1 -t nginx"},
		{"self: few", By{Cause: Self}, func(g *Target) { g.Threads = g.Threads[:2] }, "–"},
		{"host: host", By{Cause: Host}, nil, "only its host can give it more"},
		{"waking: waking", By{Cause: Waking}, nil, "–"},
		{"unknown: unknown", By{Cause: Unknown}, nil, "–"},
	} {
		t.Run(c.rule+" "+c.want, func(t *testing.T) {
			g := target(t)
			if c.in != nil {
				c.in(g)
			}
			a := Explain(waited(c.by, 30*ms), g)
			require.Len(t, a.Rows, 1)
			r := &a.Rows[0]
			i := slices.IndexFunc(rules, func(rule rule) bool { return rule.cause == r.Cause && rule.when(a, r) })
			assert.Equal(t, c.rule, rules[i].cause.String()+": "+rules[i].name)
			assert.Equal(t, c.want, r.Remedy.Text)
			assert.Equal(t, strings.HasPrefix(c.want, "piton "), r.Remedy.Argv != nil)
			assert.Equal(t, strings.Contains(c.want, "piton "), r.Remedy.Set != nil)
			tested[c.rule] = true
		})
	}
	for _, rule := range rules {
		assert.True(t, tested[rule.cause.String()+": "+rule.name], "no test of %s: %s", rule.cause, rule.name)
	}
}

var tested = map[string]bool{}

func TestWeightSaysWhatItExpects(t *testing.T) {
	by := By{Cause: Neighbour, Group: "/build.slice/job", Command: "cc1", PID: 7}
	a := Explain(waited(by, 30*ms), target(t))
	assert.Equal(t, "83 % of a CPU that both want, for web.slice (weights 100 and 20; by weight)", a.Rows[0].Remedy.Expect)
	g := target(t)
	g.Machine.PerTask = true
	o := waited(by, 30*ms)
	for pid := range kernel.TID(3) {
		more := o.By[0]
		more.PID = 20 + pid
		o.By = append(o.By, more)
	}
	a = Explain(o, g)
	assert.Equal(t, "56 % of a CPU that both want, for web.slice (weights 100 and 20; by weight)", a.Rows[0].Remedy.Expect, "four processes count four times")
}

func TestSeveralRivalsAreNamed(t *testing.T) {
	by := By{Cause: Neighbour, Group: "/", Command: "cc1", PID: 7}
	for name, want := range map[string]string{"cc1": "piton nice cc1 10", "nginx": "piton nice 7 10", "a b": "piton nice 7 10", "12": "piton nice 7 10"} {
		g := target(t)
		g.Threads[0].Comm = "nginx"
		g.Rivals[7] = Rival{Comm: name}
		o := waited(by, 30*ms)
		o.By = append(o.By, o.By[0])
		o.By[0].Command, o.By[1].Command, o.By[1].PID = name, name, 8
		o.By[1].Time--
		assert.Equal(t, want, Explain(o, g).Rows[0].Remedy.Text, name)
	}
}

func TestBelow(t *testing.T) {
	for _, c := range [][3]string{
		{"/a/b/c", "/a/x/y", "/a/b"}, {"/a/b", "/a/b/c", ""}, {"/a/b/c", "/a/b", "/a/b/c"}, {"", "/a", ""}, {"/a", "", "/a"},
		{"/ab", "/a", "/ab"}, {"/a", "/ab/c", "/a"}, {"/", "/", ""},
	} {
		assert.Equal(t, c[2], below(c[0], c[1]), "%s beside %s", c[0], c[1])
	}
}
