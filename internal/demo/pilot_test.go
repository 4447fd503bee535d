package demo

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	_ "piton/internal/lab/study"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"

	"piton/internal/sample"
	"piton/internal/tui"
	"piton/internal/tui/theme"
	"piton/internal/tuitest"
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
	*tuitest.Loop
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
		p := &pilot{t: t, machine: m, width: width, height: height, out: make(chan *sample.Sample)}
		p.screen = tui.New(m.Deps(tui.Options{Saved: tui.Saved{Theme: theme.Options{Depth: theme.Colors256}, Interval: time.Second}, Version: "demo"}, p))
		p.Loop = tuitest.NewLoop(func(msg tea.Msg) tea.Cmd {
			_, cmd := p.screen.Update(msg)
			return cmd
		})
		p.Run(p.screen.Init())
		p.Send(tea.WindowSizeMsg{Width: width, Height: height})
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
		p.Settle()
	}
}

// tick lets a second pass.
func (p *pilot) tick(n int) {
	for range n {
		time.Sleep(time.Second)
		p.Settle()
		p.out <- p.machine.Tick(time.Second, p.needs)
		p.Settle()
	}
}

// press types keys: names as Bubble Tea has them, or single letters.
func (p *pilot) press(names ...string) {
	for _, name := range names {
		p.Send(tuitest.Key(name))
		p.Settle()
	}
}

// typed types a text.
func (p *pilot) typed(text string) { p.press(strings.Split(text, "")...) }

// frame is what is drawn now.
func (p *pilot) frame() string { return p.screen.View().Content }

// text is the frame without styles.
func (p *pilot) text() string { return ansi.Strip(p.frame()) }
