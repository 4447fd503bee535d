package dialog

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/sahilm/fuzzy"

	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
	"piton/internal/tui/widget"
)

// Choice is an action that a Palette offers.
type Choice struct {
	ID      string // the answer
	Key     string // as people write it; "" = it has none
	Name    string // two words at most
	Help    string // one line
	Command string // command-line verb that does the same, "" = none
	Off     string // why it cannot be used; "" = it can
}

// Palette asks for one of many actions, of which those stay that fit what is typed, the
// best first. Its value is the Choice's ID.
type Palette struct {
	Titled
	choices []Choice
	hits    []int // indices of choices
	input   Input
	list    rows.Scroll
	note    string // why the last choice was refused
}

// NewPalette offers choices, in their order as long as nothing is typed.
func NewPalette(title string, choices []Choice) *Palette {
	p := &Palette{Titled: Titled(title), choices: choices, input: NewInput("")}
	p.find()
	return p
}

// find lists what fits: those with the text in their name, in their command or sentence,
// and then those that have its letters in that order.
func (p *Palette) find() {
	text := strings.ToLower(p.input.Value())
	p.hits, p.list.Cursor = nil, 0
	take := func(i int) {
		if !slices.Contains(p.hits, i) {
			p.hits = append(p.hits, i)
		}
	}
	all, names := make([]string, len(p.choices)), make([]string, len(p.choices))
	for i, c := range p.choices {
		names[i] = strings.ToLower(c.Name + " " + c.ID)
		all[i] = strings.ToLower(c.Name + " " + c.Command + " " + c.ID + " " + c.Help)
		if strings.HasPrefix(all[i], text) {
			take(i)
		}
	}
	for i := range all {
		if strings.Contains(all[i], text) {
			take(i)
		}
	}
	for _, hit := range fuzzy.Find(text, names) {
		take(hit.Index)
	}
}

// Update finds, moves, chooses.
func (p *Palette) Update(msg tea.Msg) Outcome {
	k, isKey := msg.(tea.KeyPressMsg)
	if isKey {
		p.note = ""
		switch k.String() {
		case "esc", "ctrl+c", "ctrl+g":
			return canceled
		case "enter":
			return p.choose()
		}
		if p.list.Key(k, len(p.hits), false) {
			return Outcome{}
		}
	}
	if p.input.Update(msg) {
		p.find()
	}
	return Outcome{}
}

func (p *Palette) choose() Outcome {
	if len(p.hits) == 0 {
		return Outcome{}
	}
	c := p.choices[p.hits[p.list.Cursor]]
	if c.Off != "" {
		p.note = c.Name + ": " + c.Off
		return Outcome{}
	}
	return answered(c.ID)
}

// Cursor is in the text.
func (p *Palette) Cursor() *tea.Cursor { return tea.NewCursor(2+p.input.CursorX(), 0) }

// paletteWidth is the width in which an action's help is easily read.
const paletteWidth = 100

// Render draws the text and the actions that fit it.
func (p *Palette) Render(width, height int, th *theme.Theme) string {
	width = min(width, paletteWidth)
	keys, names := 0, 0
	for i := range p.choices {
		keys, names = max(keys, widget.Width(p.choices[i].Key)), max(names, widget.Width(p.choices[i].Name))
	}
	keys, names = min(keys, 9), min(names, 14)
	head := []string{th.Accent.Render("> ") + p.input.Render(max(width-2, 1), th), ""}
	body := p.list.Body(len(p.hits), func(i int, selected bool) string {
		c := p.choices[p.hits[i]]
		var r rows.Row
		name, help, text := th.Text, th.Dim, c.Help
		if c.Off != "" {
			name, text = th.Dim, c.Off
		}
		r.Left(th, th.Key, c.Key, keys)
		r.Left(th, name, " "+c.Name, names+2)
		r.Add(help, text)
		return r.Item(th, width, selected)
	})
	foot := rows.Keys(th, "type", "to find", "Enter", "run", "Esc", "cancel")
	if p.note != "" {
		foot = nil
		foot.Add(th.Bad, p.note)
	} else if len(p.hits) == 0 {
		foot = nil
		foot.Add(th.Dim, "no action fits this")
	}
	full := func(h int) []string { // the dialog keeps its size while one types
		lines := body(h)
		for len(lines) < min(h, len(p.choices)) {
			lines = append(lines, "")
		}
		return lines
	}
	return rows.Stack(width, height, head, len(p.choices), full, []string{"", foot.Render(th, width)})
}
