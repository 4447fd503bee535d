package demo

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/action"
	"piton/internal/bench"
	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/sample"
	"piton/internal/tui"
)

// machine returns a machine that is closed when the test ends.
func machine(t *testing.T, cpus int, seed uint64) *Machine {
	t.Helper()
	m, err := New(cpus, seed)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, m.Close()) })
	return m
}

func TestCheck(t *testing.T) {
	for _, n := range []int{2, 3, 16, 17, 512} {
		assert.NoError(t, Check(n))
	}
	for _, n := range []int{-1, 0, 1, 513} {
		assert.Error(t, Check(n))
	}
}

func TestTopologyHasEveryCPU(t *testing.T) {
	for n := LeastCPUs; n <= MostCPUs; n++ {
		topo := newTopology(n)
		require.Equal(t, n, topo.Online.Len(), n)
		inNodes := 0
		for _, node := range topo.Nodes {
			require.False(t, node.CPUs.Empty(), "%d CPUs", n)
			inNodes += node.CPUs.Len()
		}
		require.Equal(t, n, inNodes)
	}
	assert.Len(t, newTopology(16).Nodes, 2)
	assert.Len(t, newTopology(512).Nodes, 8)
}

// TestSamplesArePossible looks at the figures of machines of odd sizes: no share is
// above all of what there is, and the parts of each CPU's time add up.
func TestSamplesArePossible(t *testing.T) {
	for _, cpus := range []int{2, 3, 5, 16, 24, 100, 512} {
		m := machine(t, cpus, 1)
		var now *model.Model
		for i := range 20 {
			hop := named(t, m, "hop2")
			moved := hop.Migrations
			now = model.Next(now, m.Tick(time.Second, sample.Needs{Threads: i%2 == 0, Ledger: true, Trace: hop.TID}), m.Topology)
			if now.Elapsed == 0 {
				continue
			}
			assert.Len(t, now.Sample.Steps, int(hop.Migrations-moved), "each move is a step")
			full := 0
			for _, c := range now.CPUs {
				assert.LessOrEqual(t, c.Busy, float32(1.0001), "cpu %d of %d", c.ID, cpus)
				if c.Busy > 0.97 {
					full++
				}
			}
			assert.Positive(t, full, "one CPU of %d is full", cpus)
			for j, r := range now.Tasks {
				task := now.Sample.Tasks[j]
				if model.Known(r.CPUPercent) {
					most := 101 * float32(task.Threads)
					if !task.IsProcess() {
						most = 101
					}
					require.LessOrEqual(t, r.CPUPercent, most, "%d of %d CPUs", task.TID, cpus)
				}
				require.True(t, task.Affinity.Has(m.all().CPUs()[task.LastCPU]), "%s runs where it may", task.ID.Comm)
			}
		}
	}
}

// TestSameSeedSameSamples: what a machine does follows from its seed.
func TestSameSeedSameSamples(t *testing.T) {
	run := func(seed uint64) string {
		m := machine(t, 64, seed)
		var out strings.Builder
		for range 30 {
			s := m.Tick(time.Second, sample.Needs{Threads: true})
			for _, c := range s.CPUs {
				fmt.Fprint(&out, c)
			}
			for _, task := range s.Tasks {
				fmt.Fprint(&out, task.TID, task.LastCPU, task.RunNs, task.Migrations, task.State)
			}
		}
		return out.String()
	}
	first := run(7)
	assert.True(t, first == run(7), "the same seed")
	assert.False(t, first == run(8), "another seed")
}

// named is the first task with a name.
func named(t *testing.T, m *Machine, comm string) *task {
	t.Helper()
	for _, task := range m.tasks {
		if task.ID.Comm == comm {
			return task
		}
	}
	require.Fail(t, "no task is called "+comm)
	return nil
}

// TestPinStopsTheBouncer goes the way of a user: p pins, z undoes, all through the real
// change path.
func TestPinStopsTheBouncer(t *testing.T) {
	fly(t, 16, 120, 40, func(p *pilot) {
		p.tick(4)
		hop := named(t, p.machine, "bouncer")
		before := hop.Migrations
		p.tick(1)
		assert.Greater(t, hop.Migrations-before, uint64(200), "it bounces")
		p.press("/")
		p.typed("bouncer")
		p.press("enter", "p")
		p.tick(1)
		assert.Equal(t, 1, hop.Affinity.Len(), "it is pinned: %s", p.text())
		before = hop.Migrations
		p.tick(3)
		assert.Equal(t, before, hop.Migrations, "and bounces no more")
		entries, _, err := p.machine.journal.Entries()
		require.NoError(t, err)
		require.Len(t, entries, 1)
		p.press("z")
		p.tick(1)
		assert.Equal(t, 16, hop.Affinity.Len(), "z restores: %s", p.text())
		before = hop.Migrations
		p.tick(1)
		assert.Greater(t, hop.Migrations-before, uint64(200), "it bounces again")
	})
}

// TestDangerousChangeIsReverted makes a busy task real-time under a guard, and gives no
// answer.
func TestDangerousChangeIsReverted(t *testing.T) {
	fly(t, 16, 120, 40, func(p *pilot) {
		p.tick(4)
		full, tuner := named(t, p.machine, "nqueens"), p.machine.tuner
		target := change.Target{TID: full.TID, StartTicks: full.StartTicks}
		plan, err := tuner.Plan(t.Context(), []change.Request{{Targets: []change.Target{target},
			Set: []attr.Setting{attr.SetPolicy(attr.PolicyValue{Policy: kernel.FIFO, RTPrio: 10})}}})
		require.NoError(t, err)
		assert.NotEmpty(t, plan.Needs, "it is busy")
		_, err = tuner.Apply(t.Context(), plan, change.Confirmation{RevertAfter: 10 * time.Second})
		require.NoError(t, err)
		p.tick(2)
		assert.Equal(t, kernel.FIFO, full.Policy)
		armed, err := p.machine.guards.List()
		require.NoError(t, err)
		assert.Len(t, armed, 1)
		p.tick(12)
		assert.Equal(t, kernel.Other, full.Policy, "nobody confirmed it")
	})
}

// The kernel of the machine has fair servers, of which piton says what they keep.
func TestRealTimeLeavesOrdinaryTasksTheirPart(t *testing.T) {
	m := machine(t, 4, 1)
	assert.Equal(t, "5 % of it", m.tuner.Leftover())
	spinner, ordinary, light := &task{}, &task{}, &task{}
	spinner.Policy = kernel.FIFO
	c := cpu{cap: 1, queue: []queued{{task: ordinary, want: 1}, {task: spinner, want: 1}}}
	c.share(m.kept)
	assert.InDelta(t, 0.05, ordinary.got, 1e-9)
	assert.InDelta(t, 0.95, spinner.got, 1e-9)
	spinner.got = 0
	c = cpu{cap: 1, queue: []queued{{task: light, want: 0.01}, {task: spinner, want: 1}}}
	c.share(m.kept)
	assert.InDelta(t, 0.99, spinner.got, 1e-9, "what they do not want is not kept")
}

// TestIsolateMovesTheRestOff isolates a CPU with the code that isolates real ones.
func TestIsolateMovesTheRestOff(t *testing.T) {
	m := machine(t, 16, 1)
	m.Tick(time.Second, sample.Needs{})
	deps := m.Deps(tui.Options{}, NewSampler(m, time.Second))
	plan, err := deps.Tuning.Plan(t.Context(), nil, action.Request{Order: change.Order{Isolate: "3"}})
	require.NoError(t, err)
	assert.NotEmpty(t, plan.Isolation.Immovable, "threads of the kernel that are bound to it stay")
	out, err := m.tuner.Apply(t.Context(), plan.Plan, change.Confirmation{Yes: true})
	require.NoError(t, err)
	require.NoError(t, deps.Tuning.Settle(&plan.Isolation, &out))
	m.Tick(time.Second, sample.Needs{})
	for _, task := range m.tasks {
		if task.Flags&sample.FlagNoSetAffinity == 0 && task.Policy != kernel.Deadline {
			assert.False(t, task.may(3), "%d %q: %s", task.TID, task.ID.Comm, task.Affinity)
		}
	}
	back, err := deps.Tuning.Plan(t.Context(), nil, action.Request{Order: change.Order{Include: "3"}})
	require.NoError(t, err)
	_, err = m.tuner.Apply(t.Context(), back.Plan, change.Confirmation{Yes: true})
	require.NoError(t, err)
	m.Tick(time.Second, sample.Needs{})
	assert.True(t, named(t, m, "bouncer").may(3))
}

// TestInterruptGoesWhereItIsSent moves a queue's line; a managed one is refused.
func TestInterruptGoesWhereItIsSent(t *testing.T) {
	m := machine(t, 16, 1)
	send := func(number int) change.Plan {
		plan, err := m.tuner.Plan(t.Context(), []change.Request{{Files: []attr.FileSetting{attr.SetIRQ(number, "", cpuset.Of(5))}}})
		require.NoError(t, err)
		return plan
	}
	_, err := m.tuner.Apply(t.Context(), send(41), change.Confirmation{Yes: true})
	require.NoError(t, err)
	m.Tick(time.Second, sample.Needs{})
	table, err := m.IRQTable()
	require.NoError(t, err)
	for _, row := range table.Rows {
		if row.Number == 41 {
			assert.Equal(t, "5", row.Effective.String())
		}
	}
	assert.False(t, send(91).WillChange(), "its driver manages it")
}

// TestSignalEndsAProcess: what a signal ends is gone from the next sample.
func TestSignalEndsAProcess(t *testing.T) {
	m := machine(t, 4, 1)
	hop := named(t, m, "bouncer")
	require.NoError(t, m.tuner.Signal(change.Target{TID: hop.TID, StartTicks: hop.StartTicks}, syscall.SIGTERM))
	for _, task := range m.Tick(time.Second, sample.Needs{Threads: true}).Tasks {
		assert.NotEqual(t, hop.TID, task.TGID)
	}
}

// TestStudyIsMadeUp runs a study: its process is seen, and gone afterwards.
func TestStudyIsMadeUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := machine(t, 16, 1)
		study := bench.Study{Workload: "nqueens", Placements: []bench.Placement{"normal", "fifo:10"}, Runs: 5}
		tasks := len(m.tasks)
		seen := 0
		r, err := runner{m}.Run(t.Context(), study, func(e bench.Event) {
			if !e.Ended && m.byTID[e.Run.PID] != nil {
				seen++
			}
		})
		require.NoError(t, err)
		assert.Equal(t, 10, seen)
		assert.Len(t, r.Runs, 10)
		assert.Len(t, m.tasks, tasks)
		h, err := runner{m}.Read()
		require.NoError(t, err)
		assert.Equal(t, r.ID, h.Studies[len(h.Studies)-1].ID)
	})
}

// TestSearchIsReal races on the machine's own change path: only the rate is made up.
func TestSearchIsReal(t *testing.T) {
	fly(t, 16, 120, 40, func(p *pilot) {
		p.tick(3)
		p.press("R")
		p.tick(40)
		assert.Regexp(t, "Nothing is better than what the kernel does|Kept: ", p.text())
		p.press("esc", "R")
		p.tick(2) // less than the lead and one round take
		p.press("end", "enter")
		p.tick(1)
		assert.Contains(t, p.text(), "Kept by hand, not proved: ")
		assert.Contains(t, p.text(), "≡ piton pin")
		p.press("z")
		assert.NotContains(t, p.text(), "≡ piton pin")
	})
}

// keys are those that a monkey presses; quitting and stopping are left out.
var keys = []string{"up", "down", "left", "right", "pgup", "pgdown", "home", "end", "tab", "enter", "enter", "esc", "esc", "space", "backspace",
	"f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8", "f9", "1", "2", "3", "4", "5",
	"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "r", "s", "t", "u", "v", "w", "x", "y", "z",
	"A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K", "L", "M", "N", "P", "R", "S", "T", "U", "V", "W", "X", "Y", "Z",
	"+", "-", "/", "?", ".", ",", "<", ">", "[", "]", "*", "%", "0", "9", ":"}

// TestMonkey drives the screen at every size with random keys. Whatever it shows fits
// the window and has no impossible share.
func TestMonkey(t *testing.T) {
	presses := 150
	if testing.Short() {
		presses = 25
	}
	for _, cpus := range []int{2, 16, 64, 256, 512} {
		for _, size := range [][2]int{{80, 24}, {200, 50}} {
			t.Run(fmt.Sprintf("%dcpus%dx%d", cpus, size[0], size[1]), func(t *testing.T) {
				fly(t, cpus, size[0], size[1], func(p *pilot) {
					rng := rand.New(rand.NewPCG(uint64(cpus), uint64(size[0])))
					p.tick(2)
					p.check("at first")
					var pressed []string
					for i := range presses {
						k := keys[rng.IntN(len(keys))]
						pressed = append(pressed, k)
						p.press(k)
						if p.Quit {
							return
						}
						if i%5 == 0 {
							p.tick(1)
						}
						p.check(strings.Join(pressed[max(0, len(pressed)-20):], " "))
						if t.Failed() {
							return
						}
					}
				})
			})
		}
	}
}

// share is one without a blank before its sign, as the core panel and the bars have it.
var share = regexp.MustCompile(`(\d+)%`)

// check looks at the frame.
func (p *pilot) check(after string) {
	p.t.Helper()
	lines := strings.Split(p.frame(), "\n")
	assert.LessOrEqual(p.t, len(lines), p.height, "after %s", after)
	for i, line := range lines {
		if w := ansi.StringWidth(line); w > p.width {
			assert.Failf(p.t, "too wide", "line %d has %d cells after %s: %q", i, w, after, ansi.Strip(line))
		}
		for _, found := range share.FindAllStringSubmatch(ansi.Strip(line), -1) {
			n, err := strconv.Atoi(found[1])
			assert.True(p.t, err == nil && n <= 100, "a share of %s%% after %s: %q", found[1], after, ansi.Strip(line))
		}
	}
}

// TestSmallWindows draws at sizes where little fits.
func TestSmallWindows(t *testing.T) {
	fly(t, 512, 80, 24, func(p *pilot) {
		p.tick(2)
		for _, size := range [][2]int{{1, 1}, {20, 5}, {40, 12}, {300, 80}} {
			p.width, p.height = size[0], size[1]
			p.Send(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
			p.check(fmt.Sprint(size))
		}
	})
}

func TestWakesOfAProcess(t *testing.T) {
	m := machine(t, 8, 1)
	busy := m.Tick(time.Second, sample.Needs{}).Tasks[0]
	for _, task := range m.Tick(time.Second, sample.Needs{}).Tasks {
		if task.RunNs > busy.RunNs {
			busy = task
		}
	}
	needs := sample.Needs{Wakes: busy.TID, Flows: busy.TID}
	first := m.Tick(time.Second, needs)
	assert.Zero(t, first.Wakes, "from the second sample on")
	assert.Zero(t, first.Flows)
	second := m.Tick(time.Second, needs)
	w := second.Wakes
	flows := model.LocalityOf(second.Flows.List, m.Topology)
	share, ok := flows.Share(flows.SameCPU)
	assert.True(t, ok)
	assert.InDelta(t, 0.8, share, 0.01)
	assert.Equal(t, busy.TID, w.Of)
	partners := model.Partners([]kernel.TID{w.Of}, w.List, w.Over)
	require.Len(t, partners, 2)
	assert.Positive(t, partners[0].WakesPerS)
	assert.Positive(t, partners[0].WokenPerS)
	assert.Zero(t, partners[1].TID, "interrupts")
	assert.Zero(t, m.Tick(time.Second, sample.Needs{}).Wakes)
}
