package tui

import (
	"math"
	"time"

	tea "charm.land/bubbletea/v2"

	"piton/internal/action"
	"piton/internal/change"
	"piton/internal/kernel"
	"piton/internal/place"
	"piton/internal/taskfacts"
	"piton/internal/tui/detail"
	"piton/internal/tui/dialog"
	"piton/internal/tui/proctable"
)

// Inspector reads what the detail pane shows beyond samples; detail.Inspector is
// the real one. It is called from commands, beside the screen.
type Inspector interface {
	Read(pid kernel.TID) detail.Reading
	Facts(pid kernel.TID) taskfacts.Facts
	Environ(pid kernel.TID) ([]string, error)
}

// factReads paces the reading of files and sockets for the pane: one at a time,
// and no more than a twentieth of the time is spent on it.
type factReads struct {
	pid  kernel.TID // of the last one
	busy bool
	next time.Time // not before
}

// Bounds of the pause between two readings of the same process's facts.
const (
	factsShare = 20
	factsEvery = 3 * time.Second
)

// openDetail opens the pane about the task under the cursor; where it is open, it
// gives the keys to the thread list, or closes a pane about a single thread.
func (p *processView) openDetail() tea.Cmd {
	if p.detailed && p.detail.Focus() {
		return nil
	}
	if row, ok := p.Selected(); ok && row.Sum() && !p.detailed {
		return p.noProcess()
	}
	return p.toggleDetail()
}

// noProcess says why there is nothing to show of a control group's row.
func (p *processView) noProcess() tea.Cmd {
	return p.say(info, "this row is a control group: select one of its processes")
}

func (p *processView) toggleDetail() tea.Cmd {
	p.detailed = !p.detailed
	p.detail.Leave()
	return p.noteDetail()
}

func (p *processView) leaveThreads() tea.Cmd {
	p.detail.Leave()
	return p.noteDetail()
}

func (p *processView) inThreads() bool {
	return p.view == action.Processes && p.detailed && p.detail.Focused()
}

// followThreads has the pane show the thread under the cursor of its list.
func (p *processView) followThreads() tea.Cmd {
	if p.inThreads() {
		return p.noteDetail()
	}
	return nil
}

// noteDetail gives the pane the selected row and has the rest read while it is
// on the screen.
func (p *processView) noteDetail() tea.Cmd {
	row, ok := p.Process()
	if !ok {
		return nil
	}
	p.detail.Note(row)
	if !p.detailed || p.view != action.Processes {
		return nil
	}
	pid, in := row.Task().TGID, p.deps.Inspect
	return tea.Batch(p.readFacts(pid), func() tea.Msg {
		reading := in.Read(pid)
		return func() tea.Cmd {
			if row, ok := p.Process(); ok && p.detailed {
				p.detail.Take(reading, row)
			}
			return nil
		}
	})
}

// readFacts reads files and sockets when they are shown and the last reading is
// old enough.
func (p *processView) readFacts(pid kernel.TID) tea.Cmd {
	r, now := &p.factReads, time.Now()
	if r.busy || !p.detail.WantsFacts() || pid == r.pid && now.Before(r.next) {
		return nil
	}
	r.pid, r.busy = pid, true
	in := p.deps.Inspect
	return func() tea.Msg {
		began := time.Now()
		facts := in.Facts(pid)
		took := time.Since(began)
		return func() tea.Cmd {
			p.factReads.busy = false
			p.factReads.next = time.Now().Add(max(factsEvery, factsShare*took))
			p.detail.TakeFacts(facts)
			return nil
		}
	}
}

// detailHeight is the open pane's share of the lines: what it has to show, and
// at most three fifths of them.
func (p *processView) detailHeight(width, height int) int {
	row, ok := p.Process()
	if !ok || !p.detailed || p.view != action.Processes || height < 6 {
		return 0
	}
	return min(p.detail.Height(row, width), height*3/5)
}

// readProcess reads something about the process under the cursor, beside the screen.
func (p *processView) readProcess(read func(in Inspector, pid kernel.TID) tea.Msg) tea.Cmd {
	row, ok := p.Process()
	if !ok {
		return p.noProcess()
	}
	pid, in := row.Task().TGID, p.deps.Inspect
	return func() tea.Msg { return read(in, pid) }
}

func (p *processView) showingText(title string, lines []string) tea.Msg {
	return func() tea.Cmd { return p.dialogs.Push(dialog.NewText(title, lines), nil) }
}

func (p *processView) showEnvironment() tea.Cmd {
	return p.readProcess(func(in Inspector, pid kernel.TID) tea.Msg {
		vars, err := in.Environ(pid)
		switch {
		case err != nil:
			return p.saying(bad, "environment of "+itoa(pid)+" not readable: "+err.Error())
		case len(vars) == 0:
			return p.saying(info, "process "+itoa(pid)+" has no environment")
		}
		return p.showingText("Environment of "+itoa(pid), vars)
	})
}

func (p *processView) showFiles() tea.Cmd {
	return p.readProcess(func(in Inspector, pid kernel.TID) tea.Msg {
		facts := in.Facts(pid)
		return p.showingText("Open files of "+itoa(pid), facts.FileLines())
	})
}

// trace attaches strace to the process under the cursor, or to the thread that
// the pane's list has it on.
func (p *processView) trace() tea.Cmd {
	row, ok := p.Process()
	if !ok {
		return p.noProcess()
	}
	task := row.Task()
	if p.deps.MadeUp {
		return p.say(info, "strace: the tasks of this machine are made up")
	}
	if int(task.TGID) == p.deps.PID { // its output would be traced in turn
		return p.say(bad, "strace of piton itself: not from within it")
	}
	tid, whole := task.TID, task.IsProcess()
	if p.inThreads() {
		tid, whole = p.detail.Trace(), false
	}
	return detail.Strace(tid, whole, func(failure string) tea.Msg {
		if failure == "" {
			return nil
		}
		return p.saying(bad, failure)
	})
}

// pinHint is where p would put the task under the cursor, as the status line says it.
// The choice is made beside the screen, one at a time: where control groups are used it
// reads files of every task that ran.
type pinHint struct {
	key    proctable.Key // the task, and when the sample was read that it was chosen by
	at     time.Duration
	choice *place.Choice // nil when it is not known
	busy   bool          // one is being made
	rest   time.Time     // not before this
}

const (
	// hintShare keeps hints to 1/2000 of a CPU: the next one waits so many times as long as the
	// last one took, which was 0.4 ms with 40 tasks that run and 2 CPUs.
	hintShare = 2000
	hintEvery = 5 * time.Second // between two for the same task
	steady    = 0.03            // a difference in load that is not worth a redraw
)

// askPinHint asks where p would put the task under the cursor, when that has changed or
// samples have come since. With tagged rows, p acts on those.
func (p *processView) askPinHint() tea.Cmd {
	h := &p.pinHint
	if h.busy || p.deps.ReadOnly || p.newest == nil || p.view != action.Processes || p.Tags() > 0 {
		return nil
	}
	row, ok := p.Process()
	now := pinHint{key: p.At(), at: p.newest.Sample.At}
	if !ok || now.key == h.key && now.at < h.at+hintEvery || time.Now().Before(h.rest) {
		return nil
	}
	h.busy = true
	targets, tuning, model := []change.Target{targetOf(row)}, p.deps.Tuning, p.newest
	return func() tea.Msg {
		began := time.Now()
		choices, _ := tuning.Choose(model, targets, pinning()) // without a choice there is no hint
		if len(choices) == 1 {
			now.choice = &choices[0]
		}
		now.rest = time.Now().Add(hintShare * time.Since(began))
		return now
	}
}

// pinning is what p does.
func pinning() action.Tuning { return action.Tuning{Strategy: place.LeastLoaded} }

// take keeps a hint, and reports whether it is of another task: one that was renewed has
// time until the next sample is drawn.
func (h *pinHint) take(got pinHint) bool {
	old := *h
	*h = got
	if old.key != h.key {
		return true
	}
	if a, b := old.choice, h.choice; a != nil && b != nil &&
		a.CPUs.Equal(b.CPUs) && a.Near == b.Near && a.Guess == b.Guess && math.Abs(a.Busy-b.Busy) < steady {
		h.choice = a
	}
	return false
}

// pinFact says where p would put the task under the cursor; "" when that is not known, or
// was of another task.
func (p *processView) pinFact() string {
	if p.pinHint.choice == nil || p.pinHint.key != p.At() || p.Tags() > 0 || p.deps.ReadOnly {
		return ""
	}
	return p.th.Accent.Render("p " + p.th.Arrow + " " + p.pinHint.choice.Short())
}
