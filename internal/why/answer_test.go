package why

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"piton/internal/cpuset"
	"piton/internal/kernel"
)

func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		name string
		o    Observation
		in   func(*Target)
		word string
		text string
	}{
		{"limit", waited(By{Cause: Limit, Group: "/web.slice"}, 30*ms), nil, "LIMIT", "the CPU limit of web.slice (50 % of a CPU) took 100 % of its waiting."},
		{"limit that is not kept", waited(By{Cause: Limit, Group: "/web.slice"}, 30*ms), func(g *Target) {
			g.Machine.SchedExt, g.Groups[1].Throttled = "scx_x", 0
		}, "UNKNOWN", "the cause of its waiting is not known."},
		{"neighbour", waited(By{Cause: Neighbour, Group: "/", Command: "cc1"}, 30*ms), nil, "NEIGHBOUR", "cc1 took 100 % of its waiting."},
		{"neighbours one by one", two(), nil, "NEIGHBOUR", "cc1 took 67 % of its waiting, all neighbours 100 %."},
		{"self", waited(By{Cause: Self}, 30*ms), nil, "SELF", "its own threads took 100 % of its waiting."},
		{"host", waited(By{Cause: Host}, 30*ms), nil, "HOST", "the hypervisor, which ran something else (steal), took 100 % of its waiting."},
		{"real time", waited(By{Cause: RealTime, Command: "rtapp", PID: 3, Policy: kernel.RR, Priority: 1}, 30*ms), nil, "REALTIME", "rtapp 3 (RR:1) took 100 % of its waiting."},
		{"kernel", waited(By{Cause: Kernel, Command: "softirq NET_RX"}, 30*ms), nil, "KERNEL", "the kernel (softirq NET_RX) took 100 % of its waiting."},
		{"waking", waited(By{Cause: Waking}, 30*ms), nil, "WAKING", "CPUs coming out of idle took 100 % of its waiting."},
		{"unknown", waited(By{}, 30*ms), nil, "UNKNOWN", "what is not known took 100 % of its waiting."},
		{"mask", avoidable(Avoidable{Mask: time.Second, Idle: cpuset.Of(5)}), nil, "MASK", "for 50 % of its waiting a CPU was idle that its mask (0-1) excludes."},
		{"mask of some", avoidable(Avoidable{Mask: time.Second, Idle: cpuset.Of(1)}), func(g *Target) { g.Threads[4].Allowed = cpuset.Of(0) }, "MASK",
			"for 50 % of its waiting a CPU was idle that the mask (0) of 1 of 5 threads excludes."},
		{"masks of some", avoidable(Avoidable{Mask: time.Second, Idle: cpuset.Of(1, 2)}), func(g *Target) {
			g.Threads[3].Allowed, g.Threads[4].Allowed = cpuset.Of(0), cpuset.Of(1)
			for i := range 3 {
				g.Threads[i].Allowed = cpuset.Of(1, 2)
			}
		}, "MASK", "for 50 % of its waiting a CPU was idle that the masks of 2 of 5 threads exclude."},
		{"mask of those that ended", avoidable(Avoidable{Mask: time.Second}), nil, "MASK", "for 50 % of its waiting a CPU was idle that the mask of threads that have ended excludes."},
		{"cpuset", avoidable(Avoidable{Cpuset: time.Second, Idle: cpuset.Of(5)}), func(g *Target) {
			for i := range g.Threads {
				g.Threads[i].Cpuset = cpuset.Of(0, 1)
			}
		}, "MASK", "for 50 % of its waiting a CPU was idle that its cpuset (0-1) excludes."},
		{"mostly not by the mask", avoidable(Avoidable{Mask: 999 * ms}), nil, "SELF", "its own threads took 100 % of its waiting."},
		{"runs", Observation{Span: time.Second, Threads: 1, Ran: 990 * ms, Waited: 4 * ms}, nil, Nothing, "it waited 0.4 % of the time; it runs 99 %."},
		{"sleeps", Observation{Span: time.Second, Threads: 1, Ran: ms, Waited: 4 * ms}, func(g *Target) { g.Sleeps = "futex_wait" }, Nothing,
			"it waited 0.4 % of the time; it sleeps: futex_wait."},
		{"hardly ever", Observation{Span: time.Second, Threads: 1, Waited: 2 * time.Microsecond}, nil, Nothing, "it waited less than 0.01 % of the time; it sleeps."},
		{"sleeps, and waits long at times", rare(), nil, "SELF", "its own threads took 100 % of its waiting."},
		{"one of many threads", Observation{Span: time.Second, Threads: 1000, Ran: 500 * ms, Waited: 500 * ms, By: []Waited{{By: By{Cause: Self}, Time: 500 * ms}}}, nil,
			"SELF", "its own threads took 100 % of its waiting."},
		{"gone", Observation{Span: time.Second}, nil, Nothing, "no thread of it was seen."},
		{"files", Observation{Span: time.Second, Threads: 1, Ran: 500 * ms, Waited: 200 * ms}, func(g *Target) { g.Lacking = "needs CAP_BPF" }, "UNKNOWN",
			"it waited 20 % of the time; what for is not known: needs CAP_BPF"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := target(t)
			if c.in != nil {
				c.in(g)
			}
			assert.Equal(t, Verdict{c.word, c.text}, Explain(c.o, g).Verdict)
		})
	}
}

// two neighbours compete by themselves.
func two() Observation {
	o := waited(By{Cause: Neighbour, Group: "/", Command: "cc1"}, 30*ms)
	o.By = append(o.By, Waited{By: By{Cause: Neighbour, Group: "/", Command: "as"}, Time: time.Second})
	o.Waited += time.Second
	return o
}

func avoidable(of Avoidable) Observation {
	o := waited(By{Cause: Self}, 30*ms)
	o.Avoidable = of
	return o
}

// rare waits of 12 ms are 0.4 % of the time.
func rare() Observation {
	w := Waited{By: By{Cause: Self}, Time: 36 * ms, Waits: 3, Longest: 12 * ms}
	w.Bins[Bin(uint64(12*ms))] = 3
	return Observation{Span: 9 * time.Second, Threads: 1, Ran: ms, Waited: 36 * ms, By: []Waited{w}, Woken: w.Bins}
}

func TestAvoidableHasACommand(t *testing.T) {
	g := target(t)
	g.Flags = []string{"--tree"}
	o := avoidable(Avoidable{Mask: time.Second, Idle: cpus(t, "0-2")})
	assert.Equal(t, none, Explain(o, g).Mask, "the limit is the wall")
	g.Groups[1].Throttled = 0
	assert.Equal(t, "piton pin nginx --cpu 0-7 --tree", Explain(o, g).Mask.Text)
	assert.Equal(t, none, Explain(waited(By{Cause: Self}, ms), g).Mask)
	g.Threads[0].Allowed = cpus(t, "0-2")
	assert.Equal(t, "piton pin 813 814 815 816 --cpu 0-7 --thread", Explain(o, g).Mask.Text, "threads of a process")
	g.Threads[0].PID = 700
	assert.Equal(t, "piton pin 812 --cpu 0-7", Explain(o, g).Mask.Text, "one process of two")
}

func TestFilesAlone(t *testing.T) {
	g := target(t)
	g.Lacking = "needs CAP_BPF"
	a := Explain(Observation{Span: 10 * time.Second, Threads: 5, Ran: 11 * time.Second, Waited: 10 * time.Second}, g)
	var names []string
	for _, r := range a.Rows {
		names = append(names, r.Name+": "+r.Remedy.Text)
		assert.Zero(t, r.Share)
	}
	assert.Equal(t, []string{"web.slice, 41 of 100 periods: piton quota cgroup:web.slice 50% --burst 1ms", "own threads: 5 threads on 2 allowed CPUs"}, names)
	assert.Empty(t, a.Tail)
}

func TestQuantile(t *testing.T) {
	var b Bins
	assert.Zero(t, b.Quantile(0.5, time.Second))
	for us := range uint64(1000) {
		b[Bin(us*1000)]++
	}
	assert.InDelta(t, 500, b.Quantile(0.5, time.Second).Microseconds(), 500*0.13, "within a bin of an eighth to a quarter")
	assert.InDelta(t, 990, b.Quantile(0.99, time.Second).Microseconds(), 990*0.13)
	assert.Equal(t, 600*time.Microsecond, b.Quantile(1, 600*time.Microsecond), "none was longer")
	assert.EqualValues(t, 1000, b.Count())
	assert.Len(t, b.Octaves(), 11, "1,000 µs is below the tenth octave's end")
	var last Bins
	last[len(last)-1] = 1
	assert.Equal(t, time.Hour, last.Quantile(0.5, 2*time.Hour).Truncate(time.Hour)+time.Hour, "the last bin has no middle")
}
