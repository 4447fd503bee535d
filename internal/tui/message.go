package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"piton/internal/field"
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
	text   string
	tone   tone
	serial int
}

// noticeOver takes the message with that serial number away.
type noticeOver struct{ serial int }

// say shows a message until a key or messageStays.
func (m *Model) say(t tone, text string) tea.Cmd {
	m.notice = notice{text: string(field.AppendClean(nil, text, m.th.ASCII)), tone: t, serial: m.notice.serial + 1}
	over := noticeOver{m.notice.serial}
	return tea.Tick(messageStays, func(time.Time) tea.Msg { return over })
}

// hush takes the message away.
func (m *Model) hush() { m.notice.text = "" }
