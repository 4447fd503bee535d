package dialog

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

// Item is one entry of a Menu.
type Item struct {
	Label  string
	Detail string // one line beside it
	Value  any    // the answer
	Off    string // why it cannot be chosen; "" = it can
	More   string // shown below the list while the cursor is on it
}

// Menu asks for one of several. Typing jumps to the first label that is what was
// typed or has it as its first words, or else starts with it, or else contains it.
// Its value is the Item's.
type Menu struct {
	Titled
	items []Item
	list  rows.Scroll
	typed string
	note  string // why the last choice was refused
}

// NewMenu offers items, with the cursor on the one at index current.
func NewMenu(title string, items []Item, current int) *Menu {
	m := &Menu{Titled: Titled(title), items: items}
	m.list.Cursor = current
	m.list.Clamp(len(items))
	return m
}

// Update moves, jumps, chooses.
func (m *Menu) Update(msg tea.Msg) Outcome {
	k, ok := msg.(tea.KeyPressMsg)
	if !ok {
		return Outcome{}
	}
	m.note = ""
	switch k.String() {
	case "esc", "ctrl+c", "ctrl+g", "f10":
		return canceled
	case "enter":
		return m.choose()
	case "backspace":
		m.jump(strings.TrimSuffix(m.typed, lastRune(m.typed)))
		return Outcome{}
	}
	if m.list.Key(k, len(m.items), false) {
		m.typed = ""
	} else if k.Text != "" {
		m.jump(m.typed + k.Text)
	}
	return Outcome{}
}

func (m *Menu) choose() Outcome {
	if len(m.items) == 0 {
		return canceled
	}
	it := m.items[m.list.Cursor]
	if it.Off != "" {
		m.note = it.Label + ": " + it.Off
		return Outcome{}
	}
	return answered(it.Value)
}

// jump moves the cursor to the best match of typed, which is kept only while
// something matches.
func (m *Menu) jump(typed string) {
	want := strings.ToLower(typed)
	best, match := -1, noMatch
	for i, it := range m.items {
		if now := matches(strings.ToLower(strings.TrimSpace(it.Label)), want); now > match {
			best, match = i, now
		}
	}
	if best < 0 {
		m.note = "nothing here is called " + typed
		return
	}
	m.typed, m.list.Cursor = typed, best
}

// How well a label fits what was typed, the better the larger.
const (
	noMatch = iota
	inside
	prefix
	words // "1" is signal 1 and not 15, which stands first
)

func matches(label, want string) int {
	switch {
	case label == want, strings.HasPrefix(label, want+" "):
		return words
	case strings.HasPrefix(label, want):
		return prefix
	case strings.Contains(label, want):
		return inside
	}
	return noMatch
}

func lastRune(s string) string {
	r := []rune(s)
	if len(r) == 0 {
		return ""
	}
	return string(r[len(r)-1])
}

// moreWidth is the width in which an item's More is easily read.
const moreWidth = 78

// leastMenu is the width that the keys below a menu need.
const leastMenu = 48

// Render draws the items with a line of keys below.
func (m *Menu) Render(width, height int, th *theme.Theme) string {
	label, widest := 0, 0
	for _, it := range m.items {
		label = max(label, widget.Width(it.Label))
		widest = max(widest, widget.Width(it.Detail), widget.Width(it.Off))
	}
	for _, it := range m.items {
		if it.More != "" {
			widest = max(widest, moreWidth-label-4)
		}
	}
	width = min(width, max(label+widest+4, leastMenu))
	body := m.list.Body(len(m.items), func(i int, _ bool) string { return m.row(i, label, width, th) })
	return rows.Stack(width, height, nil, len(m.items), body, m.foot(width, th))
}

func (m *Menu) row(i, label, width int, th *theme.Theme) string {
	it := m.items[i]
	var r rows.Row
	style, detail := th.Text, it.Detail
	if it.Off != "" {
		style, detail = th.Dim, it.Off
	}
	r.Left(th, style, it.Label, label)
	if detail != "" {
		r.Add(th.Text, "  ")
		r.Add(th.Dim, detail)
	}
	return r.Item(th, width, i == m.list.Cursor)
}

// moreLines is how many lines an item's More has at most.
const moreLines = 3

// more is what there is to know of the item under the cursor, in as many lines as
// the longest takes, so that the dialog keeps its size.
func (m *Menu) more(width int, th *theme.Theme) []string {
	height := 0
	var lines []string
	for i, it := range m.items {
		if it.More == "" {
			continue
		}
		wrapped := rows.Wrap(th, it.More, max(width-2, 1))
		wrapped = wrapped[:min(len(wrapped), moreLines)]
		height = max(height, len(wrapped))
		if i == m.list.Cursor {
			lines = wrapped
		}
	}
	if height == 0 {
		return nil
	}
	out := []string{""}
	for i := range height {
		out = append(out, " "+th.Text.Render(widget.LineAt(lines, i)))
	}
	return out
}

func (m *Menu) foot(width int, th *theme.Theme) []string {
	keys := rows.Keys(th, " Enter", "choose", "Esc", "cancel")
	switch {
	case m.note != "":
		keys = nil
		keys.Add(th.Bad, " "+m.note)
	case m.typed != "":
		keys = rows.Keys(th, " Enter", "choose", m.typed, "typed")
	case len(m.items) > 9:
		keys = append(keys, rows.Keys(th, "  type", "to jump")...)
	}
	return append(m.more(width, th), "", keys.Render(th, width))
}
