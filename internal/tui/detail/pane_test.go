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

	"piton/internal/cpuset"
	"piton/internal/field"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/procfs"
	"piton/internal/topology"
	"piton/internal/topology/topologytest"
	"piton/internal/tui/golden"
	"piton/internal/tui/theme"
	"piton/internal/tui/tuitest"
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

func reading(pid kernel.TID, threads int) Reading {
	r := Reading{PID: pid, Total: threads, Confinement: Confinement{Allowed: cpuset.Of(0, 1, 2, 3),
		Cpuset: cpuset.Of(0, 1, 2, 3, 4, 5), Owner: "/system.slice/nqueens.service"}}
	for i := range min(threads, mostThreads) {
		r.Threads = append(r.Threads, Thread{TID: pid + kernel.TID(i), Comm: "worker", State: 'S', CPU: i % 8,
			Ticks: uint64(i * 7), Allowed: cpuset.Of(0, 1, 2, 3)})
	}
	return r
}

// pane is the pane about a process after some seconds.
func pane(t *testing.T, topo *topology.Topology, pid kernel.TID, threads int) (*Pane, field.Row) {
	machine := tuitest.New(topo)
	p := &Pane{}
	var now *model.Model
	var r field.Row
	for range 30 {
		now = model.Next(now, machine.Tick(), topo)
		r = row(t, now, pid)
		p.Note(r)
		p.Take(reading(pid, threads), r)
	}
	return p, r
}

func TestGolden(t *testing.T) {
	for name, tt := range map[string]struct {
		cpus, w, h, threads int
		pid                 kernel.TID
	}{
		"wide":         {8, 118, 20, 4, 3641},
		"narrow":       {8, 80, 19, 4, 3641},
		"many-cpus":    {512, 150, 24, 300, 3642},
		"real-time":    {8, 118, 16, 1, 4000},
		"unmovable":    {8, 118, 16, 1, 17},
		"harmless":     {2, 80, 14, 1, 4711},
		"hardly-space": {8, 40, 5, 4, 3641},
	} {
		t.Run(name, func(t *testing.T) {
			p, r := pane(t, topologytest.Sized(tt.cpus), tt.pid, tt.threads)
			golden.Check(t, name, strings.Join(p.Render(r, tt.w, tt.h, th), "\n"), tt.w, tt.h)
		})
	}
}

func TestPaneNeverOverflows(t *testing.T) {
	p, r := pane(t, topologytest.Sized(64), 3641, 40)
	for w := 16; w < 210; w += 5 {
		for h := 1; h < 40; h += 3 {
			lines := p.Render(r, w, h, th)
			assert.LessOrEqual(t, len(lines), h)
			for _, l := range lines {
				assert.LessOrEqual(t, ansi.StringWidth(l), w, "%dx%d %q", w, h, l)
			}
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
	var h History
	var now *model.Model
	for range historyLen + 50 {
		now = model.Next(now, machine.Tick(), topo)
		h.Note(row(t, now, 3641))
	}
	assert.Len(t, h.cpus, historyLen)
	before := len(h.cpus)
	h.Note(row(t, now, 3641)) // the same sample again
	assert.Len(t, h.cpus, before)
}

func TestThreadRates(t *testing.T) {
	p := &Pane{}
	r := Reading{PID: 5, Threads: []Thread{{TID: 5, Ticks: 100}, {TID: 6, Ticks: 100}, {TID: 7, Ticks: 9}}}
	p.rate(r, 10*time.Second, 100)
	assert.False(t, model.Known(p.percent[5]))
	r.Threads = []Thread{{TID: 5, Ticks: 110}, {TID: 6, Ticks: 190}, {TID: 7, Ticks: 3}}
	p.rate(r, 11*time.Second, 100)
	assert.InDelta(t, 10, p.percent[5], 0.01)
	assert.InDelta(t, 90, p.percent[6], 0.01)
	assert.False(t, model.Known(p.percent[7]), "a counter that ran backwards has no rate")
	assert.Equal(t, kernel.TID(6), r.Threads[0].TID)
}

type noCpusets struct{}

func (noCpusets) Cpuset(kernel.TID) (cpuset.Set, string, error) {
	return cpuset.Set{}, "", errors.New("no cgroup")
}

func TestInspectorReadsThisProcess(t *testing.T) {
	in := Inspector{FS: procfs.New("/"), Cpusets: noCpusets{}}
	pid := kernel.TID(os.Getpid())
	r := in.Read(pid)
	assert.Empty(t, r.Err)
	assert.NotEmpty(t, r.Threads)
	assert.GreaterOrEqual(t, r.Total, len(r.Threads))
	assert.False(t, r.Allowed.Empty())
	assert.Contains(t, r.Confinement.Err, "cannot be read")
	t.Setenv("PITON_TEST", "x")
	env, err := in.Environ(pid)
	require.NoError(t, err)
	assert.IsIncreasing(t, append([]string{""}, env...)[:2])
}

func TestInspectorSaysThatAProcessHasEnded(t *testing.T) {
	r := Inspector{FS: procfs.New("/")}.Read(1 << 22) // above pid_max's limit, so never there
	assert.Contains(t, r.Err, "has ended")
}
