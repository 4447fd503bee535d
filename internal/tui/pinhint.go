package tui

import (
	"fmt"
	"math"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"piton/internal/action"
	"piton/internal/change"
	"piton/internal/place"
	"piton/internal/tui/proctable"
)

// pinHint is where p would put the task under the cursor, as the status line says it.
// The choice is made beside the screen, one at a time: where control groups are used it
// reads files of every task that ran.
type pinHint struct {
	key    proctable.Key // the task, and when the sample was read that it was chosen by
	at     time.Duration
	choice *place.Choice // nil when it is not known
	busy   bool
	rest   time.Time // not before this
}

// hintShare keeps hints to 1/2000 of a CPU: the next one waits so many times as long as the
// last one took, which was 0.4 ms with 40 tasks that run and 2 CPUs.
const hintShare = 2000

// hintEvery is how often a hint is renewed for the same task.
const hintEvery = 5 * time.Second

// hinted delivers a hint.
type hinted struct {
	pinHint
	took time.Duration
}

// askPinHint asks where p would put the task under the cursor, when that has changed or
// samples have come since. With tagged rows, p acts on those.
func (m *Model) askPinHint() tea.Cmd {
	h := &m.pinHint
	if h.busy || m.deps.ReadOnly || m.newest == nil || m.view != action.Processes || m.table.Tags() > 0 || m.chooser.active() {
		return nil
	}
	row, ok := m.table.Process()
	now := pinHint{key: m.table.At(), at: m.newest.Sample.At}
	if !ok || now.key == h.key && now.at < h.at+hintEvery || time.Now().Before(h.rest) {
		return nil
	}
	h.busy = true
	targets, tuning, model := []change.Target{targetOf(row)}, m.deps.Tuning, m.newest
	return func() tea.Msg {
		began := time.Now()
		choices, _ := tuning.Choose(model, targets, pinning()) // without a choice there is no hint
		if len(choices) == 1 {
			now.choice = &choices[0]
		}
		return hinted{now, time.Since(began)}
	}
}

// pinning is what p does.
func pinning() action.Tuning { return action.Tuning{Strategy: place.LeastLoaded} }

// hintWords is a choice of one CPU in few words: "cpu 5 (1% busy, same L3)".
func hintWords(c place.Choice) string {
	words := fmt.Sprintf("%.0f%% busy", c.Busy*100)
	if c.Near != "" {
		words += ", " + strings.ReplaceAll(c.Near, " as now", "")
	}
	if c.Guess {
		words += ", a guess"
	}
	return fmt.Sprintf("cpu %s (%s)", c.CPUs, words)
}

// steady is a difference in load that is not worth a redraw.
const steady = 0.03

// take keeps a hint, and reports whether it is of another task: one that was renewed has
// time until the next sample is drawn.
func (h *pinHint) take(got hinted) bool {
	old := *h
	*h = got.pinHint
	h.rest = time.Now().Add(hintShare * got.took)
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
func (m *Model) pinFact() string {
	if m.pinHint.choice == nil || m.pinHint.key != m.table.At() || m.table.Tags() > 0 || m.deps.ReadOnly {
		return ""
	}
	return m.th.Accent.Render("p " + m.th.Arrow + " " + hintWords(*m.pinHint.choice))
}
