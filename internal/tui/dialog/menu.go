package dialog

import (
	"cmp"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/sahilm/fuzzy"

	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

// Item is one entry of a Menu.
type Item struct {
	Key    string // that does the same without the menu, as people write it; "" = none
	Label  string
	Detail string // one line beside it
	Find   string // words besides Label and Detail that typing finds it by
	Value  any    // the answer
	Off    string // why it cannot be chosen; "" = it can
	More   string // shown below the list while the cursor is on it
}

// Menu asks for one of several, of which those stay that fit what is typed, the best
// first. Its value is the Item's.
type Menu struct {
	Titled
	items []Item
	hits  []int // indices of items
	input Input
	list  rows.Scroll
	note  string // why the last choice was refused
	room  int    // cells for an item's Detail
}

// NewMenu offers items, with the cursor on the one at index current.
func NewMenu(title string, items []Item, current int) *Menu {
	m := &Menu{Titled: Titled(title), items: items, input: NewInput("")}
	m.find()
	m.list.Cursor = current
	m.list.Clamp(len(items))
	return m
}

// Typed begins with a text.
func (m *Menu) Typed(text string) *Menu {
	m.input = NewInput(text)
	m.find()
	return m
}

// Update finds, moves, chooses.
func (m *Menu) Update(msg tea.Msg) Outcome {
	if k, ok := msg.(tea.KeyPressMsg); ok {
		m.note = ""
		switch k.String() {
		case "esc", "ctrl+c", "ctrl+g", "f10":
			return canceled
		case "enter":
			return m.choose()
		}
		if m.list.Key(k, len(m.hits), false) {
			return Outcome{}
		}
	}
	if m.input.Update(msg) {
		m.find()
	}
	return Outcome{}
}

func (m *Menu) choose() Outcome {
	if len(m.hits) == 0 {
		return Outcome{Done: len(m.items) == 0, Canceled: len(m.items) == 0}
	}
	it := m.items[m.hits[m.list.Cursor]]
	if it.Off != "" {
		m.note = it.Label + ": " + it.Off
		return Outcome{}
	}
	return answered(it.Value)
}

// How well an item fits what was typed, the better the smaller.
const (
	words  = iota // "1" is signal 1 and not 15, which stands first
	prefix        // of the label
	inside        // the label
	anywhere
	scattered // its letters, in their order
	noMatch
)

func (m *Menu) find() {
	text := strings.ToLower(m.input.Value())
	fit, names := make([]int, len(m.items)), make([]string, len(m.items))
	m.hits, m.list.Cursor = nil, 0
	for i, it := range m.items {
		label := strings.ToLower(strings.TrimSpace(it.Label))
		names[i] = label + " " + strings.ToLower(it.Find)
		switch {
		case text == "", label == text, strings.HasPrefix(label, text+" "):
			fit[i] = words
		case strings.HasPrefix(label, text):
			fit[i] = prefix
		case strings.Contains(label, text):
			fit[i] = inside
		case strings.Contains(names[i]+" "+strings.ToLower(it.Detail), text):
			fit[i] = anywhere
		default:
			fit[i] = noMatch
		}
	}
	for _, hit := range fuzzy.Find(text, names) {
		fit[hit.Index] = min(fit[hit.Index], scattered)
	}
	for i := range m.items {
		if fit[i] < noMatch {
			m.hits = append(m.hits, i)
		}
	}
	slices.SortStableFunc(m.hits, func(a, b int) int { return cmp.Compare(fit[a], fit[b]) })
}

// shortMenu is the number of items up to which what is typed has no line until something is.
const shortMenu = 15

func (m *Menu) finds() bool { return len(m.items) > shortMenu || m.input.Value() != "" }

// Cursor is in the text.
func (m *Menu) Cursor() *tea.Cursor {
	if !m.finds() {
		return nil
	}
	return tea.NewCursor(2+m.input.CursorX(), 0)
}

// The widths between which a menu takes what it needs: that of its keys, and what is easily read.
const (
	leastMenu = 48
	mostMenu  = 100
	moreWidth = 78 // of an item's More
)

// Render draws the items that fit what is typed with a line of keys below.
func (m *Menu) Render(width, height int, th *theme.Theme) string {
	keys, label, detail, more := 0, 0, 0, 0
	for _, it := range m.items {
		keys, label = max(keys, widget.Width(it.Key)+1), max(label, widget.Width(it.Label))
		detail = max(detail, widget.Width(it.Detail), widget.Width(it.Off))
		if it.More != "" {
			more = moreWidth
		}
	}
	if keys = min(keys, 10); keys == 1 {
		keys = 0
	}
	width = min(width, mostMenu, max(keys+label+detail+4, more, leastMenu))
	m.room = width - keys - label - 3
	var head []string
	if m.finds() {
		head = []string{th.Accent.Render("> ") + m.input.Render(max(width-2, 1), th), ""}
	}
	body := m.list.Body(th, len(m.hits), func(i int, selected bool) string {
		it := m.items[m.hits[i]]
		var r rows.Row
		style, text := th.Text, it.Detail
		if it.Off != "" {
			style, text = th.Dim, it.Off
		}
		r.Left(th, th.Key, it.Key, keys)
		r.Left(th, style, it.Label, label)
		if text != "" {
			r.Add(th.Dim, "  "+text)
		}
		return r.Item(th, width, selected)
	})
	full := func(h int) []string { // the dialog keeps its size while one types
		lines := body(h)
		return append(lines, make([]string, max(min(h, len(m.items))-len(lines), 0))...)
	}
	return rows.Stack(width, height, head, len(m.items), full, m.foot(width, th))
}

const moreLines = 3

// below are the lines below a list for what is cut beside its row at: as many as the longest of the
// texts takes, so that the dialog keeps its size, and not above most.
func below(texts []string, at, most, width int, th *theme.Theme) []string {
	height := 0
	var lines []string
	for i, text := range texts {
		if text == "" {
			continue
		}
		wrapped := rows.Wrap(th, text, max(width-2, 1))
		wrapped = wrapped[:min(len(wrapped), most)]
		height = max(height, len(wrapped))
		if i == at {
			lines = wrapped
		}
	}
	out := make([]string, height)
	for i := range out {
		out[i] = " " + th.Text.Render(widget.LineAt(lines, i))
	}
	return out
}

func (m *Menu) foot(width int, th *theme.Theme) []string {
	note, keys := m.note, []string{" Enter", "choose", "Esc", "cancel"}
	if len(m.hits) == 0 && len(m.items) > 0 {
		note = "nothing here fits this"
	}
	if len(m.items) > shortMenu {
		keys = []string{" type", "to find", "Enter", "choose", "Esc", "cancel"}
	}
	abouts, at := make([]string, len(m.items)), -1 // More, or else the text beside an item where that is cut
	for i, it := range m.items {
		text := cmp.Or(it.Off, it.Detail)
		if abouts[i] = it.More; it.More == "" && widget.Width(text) > m.room {
			abouts[i] = text
		}
	}
	if len(m.hits) > 0 {
		at = m.hits[m.list.Cursor]
	}
	more := below(abouts, at, moreLines, width, th)
	if len(more) > 0 {
		more = append([]string{""}, more...)
	}
	return append(more, "", noteOr(note, th, width, keys...))
}
