package cli

import (
	"context"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cli/app"
	"piton/internal/cpuset"
	"piton/internal/irq"
	"piton/internal/kernel"
	"piton/internal/sample"
	"piton/internal/tui"
)

// liveScreen is the screen on this machine, with what it works with but without a
// terminal.
type liveScreen struct {
	t    *testing.T
	m    *tui.Model
	msgs chan tea.Msg
}

func openLiveScreen(t *testing.T, h *home, width, height int) *liveScreen {
	a := &app.App{IO: app.IO{Env: h.env}, HostRoot: "/"}
	s, err := sample.New(sample.Options{Interval: time.Second})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-ended
		require.NoError(t, s.Close())
	})
	deps, err := screenDeps(a, tui.Options{Saved: tui.Saved{Interval: time.Second}}, nil, s)
	require.NoError(t, err)
	deps.Priority = nil // emulated CPUs are slow
	l := &liveScreen{t: t, m: tui.New(deps), msgs: make(chan tea.Msg, 100)}
	l.run(l.m.Init())
	l.give(tea.WindowSizeMsg{Width: width, Height: height})
	return l
}

// run runs a command beside the screen.
func (l *liveScreen) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	go func() {
		switch msg := cmd().(type) {
		case nil:
		case tea.BatchMsg:
			for _, c := range msg {
				l.run(c)
			}
		default:
			select {
			case l.msgs <- msg:
			case <-l.t.Context().Done():
			}
		}
	}()
}

func (l *liveScreen) give(msg tea.Msg) {
	_, cmd := l.m.Update(msg)
	l.run(cmd)
}

func (l *liveScreen) text() string { return ansi.Strip(l.m.View().Content) }

// until feeds messages until the screen shows all words.
func (l *liveScreen) until(words ...string) {
	l.t.Helper()
	for end := time.After(patience()); ; {
		missing := ""
		text := l.text()
		for _, w := range words {
			if !strings.Contains(text, w) {
				missing = w
			}
		}
		if missing == "" {
			return
		}
		select {
		case msg := <-l.msgs:
			l.give(msg)
		case <-end:
			require.Fail(l.t, "the screen never showed it", "%q in\n%s", missing, text)
		}
	}
}

// rest lets messages come in for a time; a dialog that opened by itself takes no
// keys before.
func (l *liveScreen) rest(d time.Duration) {
	for end := time.After(d); ; {
		select {
		case msg := <-l.msgs:
			l.give(msg)
		case <-end:
			return
		}
	}
}

func (l *liveScreen) press(keys ...string) {
	codes := map[string]rune{"enter": tea.KeyEnter, "esc": tea.KeyEscape, "down": tea.KeyDown}
	for _, k := range keys {
		msg := tea.KeyPressMsg{Text: k, Code: []rune(k)[0]}
		if code, ok := codes[k]; ok {
			msg = tea.KeyPressMsg{Code: code}
		}
		l.give(msg)
	}
}

// answer says yes to the question that shows these words.
func (l *liveScreen) answer(words ...string) {
	l.t.Helper()
	l.until(words...)
	l.rest(500 * time.Millisecond)
	l.press("y")
}

func maskOf(t *testing.T, tid kernel.TID) string {
	t.Helper()
	set, err := kernel.System().Affinity(tid)
	require.NoError(t, err)
	return set.String()
}

// TestVMScreenIsolates sets a CPU apart with the core panel's keys, keeps that
// before the guard reverts it, and includes the CPU again.
func TestVMScreenIsolates(t *testing.T) {
	needNIC(t)
	tid := child(t, "sleep", "600")
	before, mask := masks(t), maskOf(t, tid)
	l := openLiveScreen(t, newHome(t), 120, 40)
	l.until("[1 Processes]", "sleep")
	l.press("C", "5", " ", "I")
	l.answer("Isolate cpu 5?", "set affinity of", "stays:", "[y apply]")
	l.answer("Keep it?", "[n revert]")
	l.until("kept:")
	set, err := cpuset.Parse(maskOf(t, tid))
	require.NoError(t, err)
	assert.False(t, set.Has(5), "%s", set)
	table := irqTableOf(t)
	for _, row := range table.Rows {
		if row.Control == irq.Settable {
			assert.False(t, row.Requested.Has(5), row.Title())
		}
	}
	l.press("i")
	l.answer("Include cpu 5?", "[y apply]")
	l.until("may use cpu 5 again")
	assert.Empty(t, differences(before, masks(t)))
	assert.Equal(t, mask, maskOf(t, tid))
}

// TestVMScreenMovesIRQs drops a card's queues on a CPU and undoes it; a line that
// its driver manages says why it stays.
func TestVMScreenMovesIRQs(t *testing.T) {
	_, nic := needNIC(t)
	before := masks(t)
	l := openLiveScreen(t, newHome(t), 120, 80) // every line is on it
	l.until("[1 Processes]", "load")
	l.press("3")
	l.until("Interrupts", nic.Name+" rx")
	l.press("\\", "i", "n", "p", "u", "t", ".", "enter", " ", " ", "d", "6")
	l.until("placing 2 IRQs → cpu 6")
	l.press("enter")
	l.until("piton irq move ")
	moved := 0
	for file, was := range before {
		if strings.HasSuffix(file, "/smp_affinity") && masks(t)[file] != was {
			moved++
		}
	}
	assert.Equal(t, 2, moved)
	l.press("z")
	l.rest(time.Second)
	if strings.Contains(l.text(), "[y apply]") {
		l.press("y")
	}
	l.until("undo: ")
	assert.Empty(t, differences(before, masks(t)))

	l.press("esc", "\\", "n", "v", "m", "e", "0", "q", "1", "enter", "d", "3", "enter")
	l.until("its driver manages it")
	assert.NotContains(t, l.text(), "[y apply]", "there is nothing to say yes to")
}

// TestVMScreenIsolatesForATask sets a CPU apart for a process with the place menu:
// without an answer that is reverted, and the process is not placed.
func TestVMScreenIsolatesForATask(t *testing.T) {
	needNIC(t)
	tid := child(t, "sleep", "600")
	before, mask := masks(t), maskOf(t, tid)
	l := openLiveScreen(t, newHome(t), 120, 40)
	l.until("[1 Processes]", "sleep", "▸") // by then the load is known
	l.press("\\", "s", "l", "e", "e", "p", "enter")
	isolate := func() {
		l.press("o")
		l.until("Place sleep", "isolate")
		l.press("i", "s", "o", "enter")
		l.answer("Isolate cpu ", "[y apply]")
		l.until("Keep it?")
	}
	isolate()
	assert.NotEmpty(t, differences(before, masks(t)))
	for end := time.Now().Add(patience()); strings.Contains(l.text(), "Keep it?") && time.Now().Before(end); {
		l.rest(100 * time.Millisecond) // nobody answers
	}
	l.until("revert: ")
	assert.Empty(t, differences(before, masks(t)))
	assert.Equal(t, mask, maskOf(t, tid))

	isolate()
	l.answer("Keep it?", "[n revert]")
	l.until("piton pin ")
	assert.NotContains(t, maskOf(t, tid), "-", "it is on the CPU that was isolated for it")
	for range 2 { // first the place, then the CPU
		l.press("z")
		l.rest(2 * time.Second)
		if strings.Contains(l.text(), "[y apply]") {
			l.press("y")
		}
		l.until("undo: ")
		l.press("down") // takes the message away
	}
	assert.Empty(t, differences(before, masks(t)))
	assert.Equal(t, mask, maskOf(t, tid))
}
