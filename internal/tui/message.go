package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"piton/internal/field"
	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

// messageStays is how long a message is shown when no key is pressed.
const messageStays = 8 * time.Second

// tone is how a message is meant.
type tone uint8

const (
	info tone = iota
	good
	bad
)

// notice is the message on the line above the key bar.
type notice struct {
	text    string
	command string // a command line that does what the message says was done; see copyCommand
	tone    tone
	serial  int
}

// resume is a message that goes on in Update with what a command has found out.
type resume func(m *Model) tea.Cmd

// saying goes on with a message.
func saying(t tone, text string) resume { return func(m *Model) tea.Cmd { return m.say(t, text) } }

// say shows a message until a key or messageStays.
func (m *Model) say(t tone, text string) tea.Cmd {
	m.notice = notice{text: string(field.AppendClean(nil, text, m.th.ASCII)), tone: t, serial: m.notice.serial + 1}
	serial := m.notice.serial
	return tea.Tick(messageStays, func(time.Time) tea.Msg {
		return resume(func(m *Model) tea.Cmd {
			if serial == m.notice.serial {
				m.clearNotice()
			}
			return nil
		})
	})
}

// sayOwn shows a message about piton itself.
func (m *Model) sayOwn(text string, isError bool) tea.Cmd {
	if isError {
		return m.say(bad, text)
	}
	return m.say(good, text)
}

func (m *Model) clearNotice() { m.notice.text, m.notice.command = "", "" }

// noticeMost is the most lines that a message takes.
const noticeMost = 4

// lines draws the message, wrapped where it is longer than the screen is wide;
// nil when there is none.
func (n *notice) lines(width int, th *theme.Theme) []string {
	if n.text == "" {
		return nil
	}
	style := map[tone]theme.Style{info: th.Strong, good: th.Good, bad: th.Bad}[n.tone]
	var out []string
	for _, l := range widget.Wrap(n.text, max(1, width-2)) {
		out = append(out, widget.Fit(" "+style.Render(l), width, th.Ellipsis))
	}
	most := noticeMost
	if n.command != "" {
		most--
	}
	if len(out) > most {
		out = append(out[:most-1], widget.Fit(out[most-1], width-1, "")+th.Ellipsis)
	}
	if n.command != "" {
		keys := rows.Keys(th, "z", "undo", "y", "copy")
		line := widget.Cut(" "+th.Command+" "+n.command, max(width-keys.Width()-3, 1), th.Ellipsis)
		out = append(out, widget.Fit(th.Dim.Render(line)+"   "+keys.Render(th, width), width, th.Ellipsis))
	}
	return out
}

// copyCommand gives the command line below the last message to the terminal's clipboard
// (OSC 52, xterm's ctlseqs), and leaves the message.
func (m *Model) copyCommand() tea.Cmd {
	command := m.command
	if command == "" {
		return m.say(info, "there is no command to copy: make a change first")
	}
	return tea.Batch(tea.SetClipboard(command), m.say(info, "copied: "+command))
}
