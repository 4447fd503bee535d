package tuitest

import (
	"strings"
	"testing/synctest"

	tea "charm.land/bubbletea/v2"
)

// Loop does for a test what Bubble Tea's event loop does: commands run beside the
// screen, and what they say comes back as messages. It lives in a synctest bubble.
type Loop struct {
	Update func(tea.Msg) tea.Cmd
	Quit   bool // the program has been asked to end

	inbox chan tea.Msg
}

// NewLoop gives messages to update.
func NewLoop(update func(tea.Msg) tea.Cmd) *Loop {
	return &Loop{Update: update, inbox: make(chan tea.Msg, 10_000)}
}

// Run runs a command.
func (l *Loop) Run(cmd tea.Cmd) {
	if cmd != nil {
		go func() { l.inbox <- cmd() }()
	}
}

// Settle takes all messages that come without time passing.
func (l *Loop) Settle() {
	for {
		synctest.Wait()
		select {
		case msg := <-l.inbox:
			l.Send(msg)
		default:
			return
		}
	}
}

// Send gives a message and runs what comes of it.
func (l *Loop) Send(msg tea.Msg) {
	switch msg := msg.(type) {
	case nil, tea.SuspendMsg:
	case tea.QuitMsg:
		l.Quit = true
	case tea.BatchMsg:
		for _, cmd := range msg {
			l.Run(cmd)
		}
	default:
		l.Run(l.Update(msg))
	}
}

var keyCodes = map[string]rune{"enter": tea.KeyEnter, "esc": tea.KeyEscape, "up": tea.KeyUp, "down": tea.KeyDown,
	"left": tea.KeyLeft, "right": tea.KeyRight, "pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "home": tea.KeyHome,
	"end": tea.KeyEnd, "tab": tea.KeyTab, "backspace": tea.KeyBackspace,
	"f1": tea.KeyF1, "f2": tea.KeyF2, "f3": tea.KeyF3, "f4": tea.KeyF4, "f5": tea.KeyF5, "f6": tea.KeyF6,
	"f7": tea.KeyF7, "f8": tea.KeyF8, "f9": tea.KeyF9, "f10": tea.KeyF10}

// modifiers are in the order in which Bubble Tea writes them.
var modifiers = []struct {
	prefix string
	mod    tea.KeyMod
}{{"ctrl+", tea.ModCtrl}, {"alt+", tea.ModAlt}, {"shift+", tea.ModShift}}

// Key is a key by Bubble Tea's name: "ctrl+c", "space", "enter", or a single letter.
func Key(name string) tea.KeyPressMsg {
	k := tea.KeyPressMsg{}
	for _, m := range modifiers {
		if rest, ok := strings.CutPrefix(name, m.prefix); ok {
			k.Mod, name = k.Mod|m.mod, rest
		}
	}
	switch {
	case keyCodes[name] != 0:
		k.Code = keyCodes[name]
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
