package demo

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"

	"piton/internal/sample"
	"piton/internal/tui"
	"piton/internal/tui/theme"
)

// pilot plays Bubble Tea and the user: it gives the screen keys and samples, and feeds
// back what its commands say. It runs in the time of a synctest bubble.
type pilot struct {
	t       *testing.T
	machine *Machine
	screen  *tui.Model
	width   int
	height  int
	needs   sample.Needs
	out     chan *sample.Sample
	inbox   chan tea.Msg
	quit    bool
}

func (p *pilot) Samples() <-chan *sample.Sample { return p.out }
func (p *pilot) SetNeeds(n sample.Needs)        { p.needs = n }
func (p *pilot) SetInterval(time.Duration)      {}
func (p *pilot) Refresh()                       {}

// fly runs a test on a screen that shows a machine.
func fly(t *testing.T, cpus, width, height int, do func(p *pilot)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 11, 20, 9, 14, 2, 0, time.UTC))) // no time passes
		m, err := New(cpus, 1)
		require.NoError(t, err)
		p := &pilot{t: t, machine: m, width: width, height: height, out: make(chan *sample.Sample), inbox: make(chan tea.Msg, 10_000)}
		p.screen = tui.New(m.Deps(tui.Options{Theme: theme.Options{Depth: theme.Colors256}, Interval: time.Second, Version: "demo"}, p))
		p.run(p.screen.Init())
		p.send(tea.WindowSizeMsg{Width: width, Height: height})
		defer p.end()
		do(p)
	})
}

// end lets guards, studies and commands end that wait for time.
func (p *pilot) end() {
	close(p.out)
	require.NoError(p.t, p.machine.Close())
	for range 100 {
		time.Sleep(time.Minute)
		p.settle()
	}
}

// run runs a command beside the screen.
func (p *pilot) run(cmd tea.Cmd) {
	if cmd != nil {
		go func() { p.inbox <- cmd() }()
	}
}

// settle takes all messages that come without time passing.
func (p *pilot) settle() {
	for {
		synctest.Wait()
		select {
		case msg := <-p.inbox:
			p.send(msg)
		default:
			return
		}
	}
}

func (p *pilot) send(msg tea.Msg) {
	switch msg := msg.(type) {
	case nil, tea.SuspendMsg:
	case tea.QuitMsg:
		p.quit = true
	case tea.BatchMsg:
		for _, cmd := range msg {
			p.run(cmd)
		}
	default:
		var cmd tea.Cmd
		_, cmd = p.screen.Update(msg)
		p.run(cmd)
	}
}

// tick lets a second pass.
func (p *pilot) tick(n int) {
	for range n {
		time.Sleep(time.Second)
		p.settle()
		p.out <- p.machine.Tick(time.Second, p.needs)
		p.settle()
	}
}

// press types keys: names as Bubble Tea has them, or single letters.
func (p *pilot) press(names ...string) {
	for _, name := range names {
		p.send(key(name))
		p.settle()
	}
}

// typed types a text.
func (p *pilot) typed(text string) { p.press(strings.Split(text, "")...) }

var special = map[string]rune{"enter": tea.KeyEnter, "esc": tea.KeyEscape, "up": tea.KeyUp, "down": tea.KeyDown, "left": tea.KeyLeft,
	"right": tea.KeyRight, "pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "home": tea.KeyHome, "end": tea.KeyEnd, "tab": tea.KeyTab,
	"backspace": tea.KeyBackspace, "f1": tea.KeyF1, "f2": tea.KeyF2, "f3": tea.KeyF3, "f4": tea.KeyF4, "f5": tea.KeyF5, "f6": tea.KeyF6,
	"f7": tea.KeyF7, "f8": tea.KeyF8, "f9": tea.KeyF9}

func key(name string) tea.KeyPressMsg {
	k := tea.KeyPressMsg{}
	if rest, ok := strings.CutPrefix(name, "alt+"); ok {
		k.Mod, name = tea.ModAlt, rest
	}
	switch {
	case special[name] != 0:
		k.Code = special[name]
	case name == "space":
		k.Code, k.Text = ' ', " "
	default:
		k.Code = []rune(name)[0]
		if k.Mod == 0 {
			k.Text = name
		}
	}
	return k
}

// frame is what is drawn now.
func (p *pilot) frame() string { return p.screen.View().Content }

// text is the frame without styles.
func (p *pilot) text() string { return ansi.Strip(p.frame()) }
