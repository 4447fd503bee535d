package detail

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/change/attr"
	"piton/internal/cpuset"
	"piton/internal/field"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/procfs"
	"piton/internal/sample"
	"piton/internal/taskfacts"
	"piton/internal/topology"
	"piton/internal/topology/topologytest"
	"piton/internal/tui/theme"
	"piton/internal/tuitest"
	"piton/internal/tuitest/golden"
)

var th = theme.New(theme.Options{Depth: theme.Colors256})

// row is a process of the machine after n seconds.
func row(t *testing.T, m *model.Model, pid kernel.TID) field.Row {
	t.Helper()
	for i := range m.Sample.Tasks {
		if m.Sample.Tasks[i].TID == pid {
			return field.Row{M: m, I: i}
		}
	}
	require.Fail(t, "no such process", "%d", pid)
	return field.Row{}
}

// at is the reading of a process's threads some seconds after the first.
func at(second int, pid kernel.TID, threads int) Reading {
	r := Reading{PID: pid, At: time.Unix(int64(second), 0), Total: threads, Confinement: Confinement{Allowed: cpuset.Of(0, 1, 2, 3),
		Cpuset: cpuset.Of(0, 1, 2, 3, 4, 5), Owner: "/system.slice/nqueens.service"}}
	for i := range min(threads, mostThreads) {
		n := uint64(second * i)
		r.Threads = append(r.Threads, &sample.Task{TID: pid + kernel.TID(i), ID: &sample.Identity{Comm: "worker"}, State: 'S', LastCPU: int32((i + second) % 8),
			Affinity: cpuset.Of(0, 1, 2, 3), UserTicks: uint64(second * (60 / (i + 1))), Migrations: n * 7, RunDelayNs: n * 4e6,
			Have: sample.HaveMigrations | sample.HaveRun | sample.HaveAffinity, MigrationSource: sample.SourceSched})
	}
	return r
}

// someFacts are those of a server.
func someFacts(pid kernel.TID) taskfacts.Facts {
	return taskfacts.Facts{PID: pid,
		Exe:   taskfacts.Known[string]{Value: "/home/balu/src/nqueens/nqueens"},
		Cwd:   taskfacts.Known[string]{Value: "/home/balu/src/nqueens"},
		IO:    taskfacts.Known[taskfacts.IO]{Value: taskfacts.IO{Read: 12 << 20, Written: 3 << 20, DiskRead: 0, DiskWritten: 1 << 20}},
		Files: taskfacts.Known[[]taskfacts.File]{Value: []taskfacts.File{{FD: 0, Path: "/dev/pts/3"}, {FD: 5, Path: "socket:[77]"}, {FD: 6, Path: "socket:[78]"}}},
		Sockets: taskfacts.Known[[]taskfacts.Socket]{Value: []taskfacts.Socket{
			{FD: 6, Kind: "unix", Local: "/run/evil\x1b[2J", IncomingCPU: -1},
			{FD: 5, Kind: "tcp", Local: "10.0.0.1:80", Remote: "10.0.0.7:4711", State: "ESTABLISHED", IncomingCPU: 3}}},
	}
}

// someWakes are those of a server between its clients and a worker.
func someWakes(pid kernel.TID) sample.Wakes {
	self, worker := sample.WakeTask{TID: pid, TGID: pid}, sample.WakeTask{TID: 812, TGID: 800, Comm: "evil\x1b[2Jworker", CPU: 3}
	return sample.Wakes{Of: pid, Over: 2 * time.Second, List: []sample.Wake{{Waker: self, Wakee: worker, Count: 2468}, {Waker: worker, Wakee: self, Count: 2461},
		{Wakee: self, Count: 81}, {Waker: sample.WakeTask{TID: 90, TGID: 90, Comm: "client"}, Wakee: self, Count: 2}}}
}

// pane is the pane about a process after some seconds.
func pane(t *testing.T, topo *topology.Topology, pid kernel.TID, threads int) (*Pane, field.Row) {
	machine := tuitest.New(topo)
	p := New()
	var now *model.Model
	var r field.Row
	for second := range 30 {
		now = model.Next(now, machine.Tick(), topo)
		r = row(t, now, pid)
		p.Note(r)
		p.Take(at(second, pid, threads), r)
	}
	p.TakeFacts(someFacts(pid))
	p.Follow(&sample.Sample{Wakes: someWakes(pid)})
	return p, r
}

func TestGolden(t *testing.T) {
	for name, tt := range map[string]struct {
		cpus, w, h, threads int
		pid                 kernel.TID
	}{
		"2cpus-80x24":   {2, 80, 14, 1, 3641},
		"2cpus-120x40":  {2, 120, 18, 1, 3641},
		"8cpus-80x24":   {8, 80, 14, 4, 3642},
		"8cpus-120x40":  {8, 120, 18, 4, 3642},
		"8cpus-200x50":  {8, 200, 25, 4, 3642},
		"64cpus-80x24":  {64, 80, 14, 40, 3642},
		"64cpus-120x40": {64, 120, 18, 40, 3642},
		"64cpus-200x50": {64, 200, 25, 40, 3642},
		"512cpus":       {512, 150, 24, 300, 3642},
		"real-time":     {8, 120, 18, 1, 4000},
		"unmovable":     {8, 120, 18, 1, 17},
		"harmless":      {2, 80, 14, 1, 4711},
		"hardly-space":  {8, 40, 5, 4, 3642},
	} {
		t.Run(name, func(t *testing.T) {
			p, r := pane(t, topologytest.Sized(tt.cpus), tt.pid, tt.threads)
			golden.Check(t, name, strings.Join(p.Render(r, tt.w, tt.h, th), "\n"), tt.w, tt.h)
		})
	}
}

func TestPaneNeverOverflows(t *testing.T) {
	p, r := pane(t, topologytest.Sized(64), 3642, 40)
	for w := 16; w < 210; w += 5 {
		for h := 1; h < 40; h += 3 {
			if p.Leave(); h%2 == 0 {
				p.Focus()
			}
			lines := p.Render(r, w, h, th)
			assert.LessOrEqual(t, len(lines), h)
			for _, l := range lines {
				assert.LessOrEqual(t, ansi.StringWidth(l), w, "%dx%d %q", w, h, l)
			}
		}
	}
}

func TestASCII(t *testing.T) {
	p, r := pane(t, topologytest.Sized(8), 3642, 40)
	ascii := theme.New(theme.Options{ASCII: true})
	p.Focus()
	for _, width := range []int{80, 120, 200} {
		for _, c := range strings.Join(p.Render(r, width, 25, ascii), "") {
			require.Less(t, c, rune(128))
		}
	}
}

func TestReadingOfAnotherProcessIsDropped(t *testing.T) {
	p, r := pane(t, topologytest.Sized(8), 3641, 2)
	p.Take(Reading{PID: 1, Total: 99}, r)
	assert.Equal(t, 2, p.reading.Total)
}

func TestSelectingAnotherTaskStartsAnew(t *testing.T) {
	topo := topologytest.Sized(8)
	p, r := pane(t, topo, 3641, 2)
	assert.Greater(t, len(p.history.cpus), model.BounceLen)
	p.Note(row(t, r.M, 980))
	assert.Empty(t, p.reading.Threads)
	assert.LessOrEqual(t, len(p.history.cpus), model.BounceLen)
}

func TestHistoryIsBounded(t *testing.T) {
	topo := topologytest.Sized(2)
	machine := tuitest.New(topo)
	var h history
	var now *model.Model
	for range historyLen + 50 {
		now = model.Next(now, machine.Tick(), topo)
		h.note(row(t, now, 3641))
	}
	assert.Len(t, h.cpus, historyLen)
	before := len(h.cpus)
	h.note(row(t, now, 3641)) // the same sample again
	assert.Len(t, h.cpus, before)
}

func TestThreadRates(t *testing.T) {
	p, r := pane(t, topologytest.Sized(8), 3642, 2)
	rates := func() model.Task {
		t, _ := p.thread(3643)
		return *t.Rates()
	}
	assert.Equal(t, float32(30), rates().CPUPercent)
	assert.Equal(t, float32(7), rates().MigPerS)
	next := at(32, 3642, 2)
	next.Threads[1].Migrations = 0
	soon := at(30, 3642, 2)
	soon.At = p.reading.At.Add(soonest / 2)
	p.Take(soon, r)
	assert.Equal(t, float32(7), rates().MigPerS, "too soon to tell")
	p.Take(next, r)
	assert.False(t, model.Known(rates().MigPerS), "a counter that ran backwards has no rate")
}

// order is the threads as they are listed.
func (p *Pane) order() (tids []kernel.TID) {
	for i := range p.Len() {
		tids = append(tids, p.Row(i).Task().TID)
	}
	return tids
}

func TestThreadsAreSortedByWhatIsLookedFor(t *testing.T) {
	p, r := pane(t, topologytest.Sized(8), 3642, 4)
	assert.Equal(t, []kernel.TID{3645, 3644, 3643, 3642}, p.order(), "by MIG/s")
	p.StepSort(false)
	assert.Equal(t, []kernel.TID{3642, 3643, 3644, 3645}, p.order(), "by CPU%")
	p.Invert()
	assert.Equal(t, []kernel.TID{3645, 3644, 3643, 3642}, p.order())
	p.Render(r, 120, 18, th)
	assert.True(t, p.Click(3, 2), "the heading TID")
	assert.Equal(t, []kernel.TID{3642, 3643, 3644, 3645}, p.order())
	assert.False(t, p.Click(100, 2), "the facts")
}

func TestChartFollowsTheThreadThatMovesMostOrTheCursor(t *testing.T) {
	p, r := pane(t, topologytest.Sized(8), 3642, 4)
	assert.Equal(t, kernel.TID(3645), p.Trace())
	assert.Contains(t, ansi.Strip(strings.Join(p.Render(r, 120, 18, th), "\n")), "3645, each tick")
	assert.True(t, p.Focus())
	p.Move(1)
	p.Note(r)
	assert.Equal(t, kernel.TID(3644), p.Trace())
	p.Take(at(31, 3642, 4), r)
	assert.Equal(t, kernel.TID(3644), p.Trace(), "the cursor is on its thread")
	p.End()
	p.Note(r)
	assert.Equal(t, kernel.TID(3642), p.Trace())
	p.Render(r, 120, 18, th)
	assert.True(t, p.Click(3, 3))
	p.Note(r)
	assert.Equal(t, kernel.TID(3645), p.Trace(), "a click chooses")
	gone := at(32, 3642, 4)
	gone.Threads = gone.Threads[:2]
	p.Take(gone, r)
	assert.Equal(t, kernel.TID(3643), p.Trace(), "its thread ended")
	p.Leave()
	assert.False(t, p.Focused())
}

func TestWorstThreadIsNamed(t *testing.T) {
	p, r := pane(t, topologytest.Sized(8), 3642, 4)
	assert.Contains(t, ansi.Strip(strings.Join(p.Render(r, 200, 25, th), "\n")), "worst 1.2 %: worker (3645)")
}

func TestMissingFactsSayWhy(t *testing.T) {
	p, r := pane(t, topologytest.Sized(8), 3642, 4)
	f := taskfacts.Facts{PID: 3642, NoCPU: "needs CAP_SYS_PTRACE"}
	f.Exe.Why = "needs CAP_SYS_PTRACE"
	f.Sockets.Value = []taskfacts.Socket{{FD: 5, Kind: "udp", Local: "0.0.0.0:53", IncomingCPU: -1}}
	p.TakeFacts(f)
	drawn := ansi.Strip(strings.Join(p.Render(r, 200, 25, th), "\n"))
	assert.Contains(t, drawn, "exe        – needs CAP_SYS_PTRACE")
	assert.Contains(t, drawn, "1; incoming CPU not known: needs CAP_SYS_PTRACE")
	p.TakeFacts(taskfacts.Facts{PID: 1})
	assert.Equal(t, kernel.TID(3642), p.facted.PID, "another process's come too late")
}

func TestCompetition(t *testing.T) {
	p, r := pane(t, topologytest.Sized(8), 3642, 4)
	draw := func(height int) string { return ansi.Strip(strings.Join(p.Render(r, 200, height, th), "\n")) }
	assert.NotContains(t, draw(25), "competes", "in the root group there is nothing to say")
	before, reading := p.Height(r, 200), at(32, 3642, 4)
	reading.Where, reading.Rule = "in the cgroup /web", "a group competes as one, by its weight"
	p.Take(reading, r)
	assert.Equal(t, before+2, p.Height(r, 200))
	assert.Regexp(t, `competes   in the cgroup /web *\n.* {11}a group competes as one, by its weight`, draw(p.Height(r, 200)))
}

func TestFileLines(t *testing.T) {
	f := someFacts(1)
	lines := strings.Join(f.FileLines(), "\n")
	assert.Contains(t, lines, "   0  /dev/pts/3")
	assert.Contains(t, lines, "   5  tcp 10.0.0.1:80 - 10.0.0.7:4711 ESTABLISHED, last packet in on cpu 3")
	f = taskfacts.Facts{}
	f.Files.Why = "needs CAP_SYS_PTRACE"
	assert.Equal(t, []string{"Open files: needs CAP_SYS_PTRACE"}, f.FileLines())
}

type withoutCgroup struct{}

func (withoutCgroup) LapsedPin([]attr.Change) string { return "" }

func (withoutCgroup) Competition(kernel.TID) (where, rule string) {
	return "in the cgroup /x", "as one"
}

func (withoutCgroup) Cpuset(kernel.TID) (cpuset.Set, string, error) {
	return cpuset.Set{}, "", errors.New("no cgroup")
}

func TestInspectorReadsThisProcess(t *testing.T) {
	in := Inspector{FS: procfs.New("/"), Tuner: withoutCgroup{}}
	pid := kernel.TID(os.Getpid())
	r := in.Read(pid)
	assert.Empty(t, r.Err)
	assert.NotEmpty(t, r.Threads)
	assert.GreaterOrEqual(t, r.Total, len(r.Threads))
	assert.False(t, r.Allowed.Empty())
	assert.Contains(t, r.Confinement.Err, "cannot be read")
	assert.Equal(t, "in the cgroup /x: as one", r.Where+": "+r.Rule)
	t.Setenv("PITON_TEST", "x")
	env, err := in.Environ(pid)
	require.NoError(t, err)
	assert.IsIncreasing(t, append([]string{""}, env...)[:2])
}

func TestInspectorSaysThatAProcessHasEnded(t *testing.T) {
	r := Inspector{FS: procfs.New("/")}.Read(1 << 22) // above pid_max's limit, so never there
	assert.Contains(t, r.Err, "has ended")
}

func TestWakeups(t *testing.T) {
	p, r := pane(t, topologytest.Sized(8), 3641, 1)
	draw := func() string { return ansi.Strip(strings.Join(p.Render(r, 120, 25, th), "\n")) }
	assert.Contains(t, draw(), "wakeups    to 1,230 from 1,230/s: evil?[2Jworker 812,")
	p.Follow(&sample.Sample{Wakes: sample.Wakes{Of: 1, Over: 1}})
	assert.Contains(t, draw(), "worker 812", "another process's change nothing")
	p.Follow(&sample.Sample{Wakes: sample.Wakes{Of: 3641, Over: 1}})
	assert.Contains(t, draw(), "wakeups    none")
	p.Follow(&sample.Sample{Collectors: []sample.Collector{{Name: "wakes", Err: errors.New("task wakeups by eBPF: it takes CAP_BPF")}}})
	assert.Contains(t, draw(), "wakeups    – it takes CAP_BPF")
	assert.Contains(t, draw(), "received   –")
	p.Follow(&sample.Sample{Flows: sample.Flows{Of: 3641, Over: 1e9, List: []sample.Flow{{Bytes: 3e6}, {Handled: 1, Bytes: 1e6}}}})
	assert.Contains(t, draw(), "received   4 MB/s of 1 flow, 75 %")
	p.Follow(&sample.Sample{Collectors: []sample.Collector{{Name: "flows", Err: errors.New("network flows by eBPF: it takes CAP_BPF")}}})
	assert.Contains(t, draw(), "received   – it takes CAP_BPF")
	p.Note(row(t, r.M, 980))
	r = row(t, r.M, 980)
	assert.Regexp(t, `wakeups    – *\n`, draw(), "of another process nothing is known")
	var n sample.Needs
	p.Needs(&n)
	assert.Equal(t, sample.Needs{Trace: 980, Wakes: 980, Flows: 980}, n)
	p.noRoom, n = true, sample.Needs{}
	p.Needs(&n)
	assert.Zero(t, n.Flows, "only while they are shown")
}

// TestWhereWithoutItsCPUs is where a process may run whose CPUs are offline.
func TestWhereWithoutItsCPUs(t *testing.T) {
	_, r := pane(t, topologytest.Sized(8), 3642, 1)
	c := Confinement{Allowed: cpuset.Of(3), Cpuset: cpuset.Of(0, 1, 2, 3), Owner: "/", Online: cpuset.Of(0, 1, 2)}
	line := func(c Confinement) string { return where(r, c, th) }
	assert.Equal(t, "none online of CPU 3: the kernel gives it all CPUs when it next runs", line(c))
	c.Allowed = cpuset.Of(0, 1, 2, 3)
	assert.Equal(t, "0-2 = its mask ∩ cpuset (0-3, set by cgroup /) ∩ online 0-2", line(c))
	c.Lapsed = "pin to CPU 3 no longer in force (entry 1): CPU 3 went offline"
	assert.Equal(t, "0-2: "+c.Lapsed, line(c))
}
