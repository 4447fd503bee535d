package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/change/journal"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/rules"
	"piton/internal/sample"
)

// world is a made-up machine: its processes, what is reported of them, and what the daemon did.
type world struct {
	t         *testing.T
	d         *Daemon
	tasks     map[kernel.TID]*sample.Task
	script    []func(w *world) // one for each read of the source; the last one ends the run
	events    []kernel.ProcEvent
	lost      uint64
	hidden    bool // the source is not complete
	done      []string
	notes     []string
	reads     int // of all processes
	single    int // of one
	file      string
	refuse    error // of Use
	reload    chan struct{}
	readErr   error
	stop      context.CancelFunc
	busy      int          // times that nothing can be applied,
	passing   error        // because of this
	searchMu  sync.Mutex   // of searching, to which each search adds
	searching []kernel.TID // in order
	again     []kernel.TID // that were looked at once more
	finish    chan struct{}
	steering  []string // what was asked to follow, in order
	quiet     int      // times that nothing is to be steered
	online    cpuset.Set
	back      []string // what came back, and whom it was for
	changed   map[kernel.TID]bool
	looked    []time.Duration // when somebody was looked at
}

func (w *world) Read(into []kernel.ProcEvent, _ time.Duration) ([]kernel.ProcEvent, uint64, error) {
	if len(w.script) == 0 {
		w.stop()
		return into, 0, nil
	}
	step := w.script[0]
	w.script = w.script[1:]
	w.events, w.lost = nil, 0
	step(w)
	return append(into, w.events...), w.lost, w.readErr
}

func (w *world) Complete() bool { return !w.hidden }

// machine is the world as a Machine, whose Read is of tasks.
type machine struct{ *world }

func (m machine) Use(*rules.Set) error { return m.refuse }

func (m machine) Process(e kernel.ProcEvent) (*sample.Task, error) {
	m.single++
	return m.tasks[e.PID], nil
}

func (m machine) Read() (*model.Model, error) {
	m.reads++
	n := &sample.Sample{}
	for _, t := range m.tasks {
		n.Tasks = append(n.Tasks, t)
	}
	slices.SortFunc(n.Tasks, func(a, b *sample.Task) int { return int(a.TID - b.TID) })
	return &model.Model{Sample: n}, nil
}

func (m machine) Online() (cpuset.Set, error) { return m.online, nil }

func (w *world) Apply(_ context.Context, batch []rules.Decision) (out []Effect, later []rules.Decision, why error) {
	if w.busy > 0 {
		w.busy--
		return nil, batch, w.passing
	}
	for _, d := range batch {
		w.done = append(w.done, fmt.Sprintf("%d %s", d.PID, d.Rule.Name))
		out = append(out, Effect{Decision: d, Status: Done})
	}
	return out, nil, nil
}

// begin makes a process, whose start is its number in ticks.
func (w *world) begin(pid kernel.TID, comm string) kernel.ProcEvent {
	w.tasks[pid] = &sample.Task{TID: pid, TGID: pid, StartTicks: uint64(pid), State: 'S',
		ID: &sample.Identity{Comm: comm, Cmdline: comm, Cgroup: "/", User: "root", Full: true}}
	return kernel.ProcEvent{Kind: kernel.EventExec, PID: pid, StartNs: uint64(pid)*tickNs + 1, Comm: comm, At: kernel.Monotonic()}
}

func (w *world) tell(events ...kernel.ProcEvent) { w.events = append(w.events, events...) }

const one = "version = 1\n[[rule]]\nname = 'a'\ncomm = 'a'\nioprio = 'be:1'\n"

// newWorld has a daemon with a file of rules, which runs through a script.
func newWorld(t *testing.T, file string) *world {
	w := &world{t: t, tasks: map[kernel.TID]*sample.Task{}, file: file, reload: make(chan struct{}, 1), finish: make(chan struct{})}
	var err error
	w.d, err = New(Options{
		Load:   func() (*rules.Set, error) { return rules.Parse([]byte(w.file)) },
		Reload: w.reload, Source: w, Machine: machine{w}, Applier: w, Searcher: w, Follower: w, Self: 99,
		Report: func(r Report) {
			if r.Steered != nil {
				w.notes = append(w.notes, fmt.Sprintf("%s %s %d %v", r.Steered.Event, r.Steered.Rule.Follow, len(r.Steered.PIDs), r.Steered.Err))
			} else if r.Search != nil {
				w.notes = append(w.notes, fmt.Sprintf("searched %d %v", r.Search.PID, r.Search.Err))
			} else if r.Effect != nil && r.Effect.Status != Done {
				w.notes = append(w.notes, fmt.Sprintf("%s %d %s", r.Effect.Status, r.Effect.PID, r.Effect.Why))
			} else if r.Effect == nil {
				w.notes = append(w.notes, string(r.Kind)+": "+r.Note)
			}
		},
	})
	require.NoError(t, err)
	return w
}

func (w *world) run(script ...func(w *world)) error {
	var ctx context.Context
	ctx, w.stop = context.WithCancel(context.Background())
	defer w.stop()
	w.script = script
	return w.d.Run(ctx)
}

// wait lets what is held become due.
func wait(*world) { time.Sleep(holdFor + time.Millisecond) }

// TestWhatPasses is that processes are met while nothing can be changed, and that each gets
// its rule afterwards.
func TestWhatPasses(t *testing.T) {
	for _, passing := range []error{journal.ErrBusy, syscall.ENOSPC} {
		w := newWorld(t, one)
		w.busy, w.passing = 3, passing
		require.NoError(t, w.run(
			func(w *world) { w.tell(w.begin(6, "a")) },
			func(w *world) { w.tell(w.begin(7, "a")) },
			func(w *world) { w.tell(w.begin(8, "a")) },
			func(*world) {},
		))
		assert.Equal(t, []string{"6 a", "7 a", "8 a"}, w.done)
		if passing == syscall.ENOSPC {
			assert.Equal(t, []string{"trouble: no space left on device; 2 processes wait for their rules"}, w.notes)
		} else {
			assert.Empty(t, w.notes)
		}
	}
}

func TestRunMeetsProcesses(t *testing.T) {
	w := newWorld(t, one)
	w.begin(5, "a") // runs already
	w.begin(99, "a")
	require.NoError(t, w.run(
		func(w *world) { w.tell(w.begin(6, "a"), w.begin(7, "b"), w.begin(6, "a")) },
		func(w *world) { w.tell(w.begin(99, "a")) },
	))
	assert.Equal(t, []string{"5 a", "6 a"}, w.done)
	assert.Equal(t, 1, w.reads)
	assert.Equal(t, 2, w.single, "nothing is read of what no rule can mean, nor of the daemon")
	assert.Empty(t, w.d.began)
}

// TestForksWait is that a fork is met when no exec follows, and only then.
func TestForksWait(t *testing.T) {
	w := newWorld(t, one)
	fork := func(pid kernel.TID, comm string) kernel.ProcEvent {
		e := w.begin(pid, comm)
		e.Kind = kernel.EventFork
		return e
	}
	require.NoError(t, w.run(
		func(w *world) {
			w.tell(fork(5, "a"), fork(6, "a"), fork(7, "b"), fork(8, "a"))
			renamed := w.begin(7, "a")
			renamed.Kind = kernel.EventComm
			w.tell(renamed, w.begin(6, "sh"))
			w.tell(kernel.ProcEvent{Kind: kernel.EventExit, PID: 8, StartNs: 8*tickNs + 1, At: kernel.Monotonic()})
		},
		wait,
	))
	assert.Equal(t, []string{"5 a", "7 a"}, w.done)
	assert.Empty(t, w.d.delayed.waits)
	assert.Empty(t, w.d.delayed.queue)
}

// TestLostEvents are made good for by a scan.
func TestLostEvents(t *testing.T) {
	w := newWorld(t, one)
	require.NoError(t, w.run(
		func(w *world) { w.begin(5, "a"); w.lost = 3 },
		func(*world) {},
	))
	assert.Equal(t, []string{"5 a"}, w.done)
	assert.Equal(t, 2, w.reads)
	assert.Contains(t, strings.Join(w.notes, "\n"), "lost: 3 or more events of processes were lost")
}

// TestReusedNumber is an event of a process that has ended when it is looked at.
func TestReusedNumber(t *testing.T) {
	w := newWorld(t, one)
	require.NoError(t, w.run(func(w *world) {
		late := w.begin(5, "a")
		w.tasks[5].StartTicks = 77 // another process by now
		w.tell(late)
		gone := w.begin(6, "a")
		delete(w.tasks, 6)
		w.tell(gone)
		again := w.begin(7, "a")
		w.tell(again)
	}, func(w *world) { // the exit was missed
		again := w.begin(7, "a")
		w.tasks[7].StartTicks, again.StartNs = 700, 700*tickNs+5
		w.tell(again)
	}))
	assert.Equal(t, []string{"7 a", "7 a"}, w.done)
}

func TestReload(t *testing.T) {
	w := newWorld(t, one)
	w.begin(5, "b")
	asked := func(file string) func(*world) {
		return func(w *world) { w.file = file; w.reload <- struct{}{} }
	}
	require.NoError(t, w.run(
		asked("version = 1\n[[rule]]\nnise = 1\n"),
		func(w *world) { w.tell(w.begin(6, "a")) }, // the old rules stay
		asked(strings.ReplaceAll(one, "comm = 'a'", "comm = 'b'")),
		func(*world) {},
		func(w *world) { w.tell(w.begin(7, "a")) },
	))
	assert.Equal(t, []string{"6 a", "5 a"}, w.done)
	assert.Equal(t, []string{
		`refused: line 3, column 1: there is no setting "rule.nise"; the 1 rules of before stay in force`,
		"reloaded: 1 rules are in force",
	}, w.notes)
	w.refuse = errors.New("there is no CPU 9")
	require.NoError(t, w.run(asked(one), func(*world) {}))
	assert.Contains(t, w.notes[2], "refused: there is no CPU 9")
}

// TestConflict is told once for a pair of rules.
func TestConflict(t *testing.T) {
	w := newWorld(t, one+"[[rule]]\nname = 'b'\ncomm = 'a*'\nnice = 2\n")
	require.NoError(t, w.run(func(w *world) { w.tell(w.begin(5, "a"), w.begin(6, "a"), w.begin(7, "ab")) }))
	assert.Equal(t, []string{"7 b"}, w.done)
	require.Len(t, w.notes, 1)
	assert.Contains(t, w.notes[0], `conflict: a 5 gets no rule, nor do others like it: rules "a" (line 2) and "b" (line 6)`)
}

func TestRunEnds(t *testing.T) {
	w := newWorld(t, one)
	assert.ErrorContains(t, w.run(func(w *world) { w.readErr = errors.New("no more") }), "no more")
	_, err := New(Options{Load: func() (*rules.Set, error) { return rules.Parse([]byte("version = 3")) }})
	assert.Error(t, err)
}

// TestHeldIsBounded is that a process which renames itself all the time waits once.
func TestHeldIsBounded(t *testing.T) {
	h := newDelayed()
	for i := range 1000 {
		h.add(kernel.ProcEvent{Kind: kernel.EventComm, PID: 5, Comm: fmt.Sprint(i), At: time.Duration(i)})
	}
	assert.Len(t, h.queue, 1)
	due := h.due(holdFor)
	require.Len(t, due, 1)
	assert.Equal(t, "999", due[0].Comm)
	h.add(kernel.ProcEvent{Kind: kernel.EventFork, PID: 6, At: 1})
	h.add(kernel.ProcEvent{Kind: kernel.EventFork, PID: 6, At: 2}) // its exit was missed
	assert.Len(t, h.due(holdFor+5), 1)
	_, waits := h.next()
	assert.False(t, waits)
}
