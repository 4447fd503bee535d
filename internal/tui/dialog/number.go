package dialog

import (
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
)

// number is a whole number between bounds that is typed or stepped.
type number struct {
	value, min, max int
	typed           string // digits typed so far; the next one is put behind them
}

// key handles digits, steps and backspace, and reports whether it was one of
// them. Where negative values are allowed "-" changes the sign, else it steps.
func (n *number) key(msg tea.KeyPressMsg) bool {
	switch key := msg.String(); key {
	case "right", "+":
		n.set(n.value + 1)
	case "left":
		n.set(n.value - 1)
	case "-":
		n.minus()
	case "backspace":
		n.retype(strings.TrimSuffix(n.typed, lastRune(n.typed)))
	case "0", "1", "2", "3", "4", "5", "6", "7", "8", "9":
		if !n.retype(n.typed + key) {
			n.retype(key)
		}
	default:
		return false
	}
	return true
}

func (n *number) minus() {
	switch {
	case n.min >= 0:
		n.set(n.value - 1)
	case n.typed == "" || n.typed == "-":
		n.typed = "-"
	default:
		n.set(-n.value)
	}
}

func (n *number) set(v int) { n.value, n.typed = max(n.min, min(v, n.max)), "" }

// retype takes the text as the value; text that is out of bounds is not taken.
func (n *number) retype(text string) bool {
	if text == "" || text == "-" {
		n.typed = text
		return true
	}
	v, err := strconv.Atoi(text)
	if err != nil || v < n.min || v > n.max {
		return false
	}
	n.value, n.typed = v, text
	return true
}

// text is the number as it stands while it is typed.
func (n *number) text() string {
	if n.typed == "-" {
		return "-"
	}
	return strconv.Itoa(n.value)
}

// Nice asks for an absolute nice value; the value is an int, -20..19.
type Nice struct {
	subject string
	before  int
	number  number
	notes   []string
}

// NewNice starts from the present value. notes are what the user should know,
// that autogroup makes nice moot, say.
func NewNice(subject string, current int, notes []string) *Nice {
	return &Nice{subject: subject, before: current, number: number{value: current, min: -20, max: 19}, notes: notes}
}

// Title names the subject.
func (n *Nice) Title() string { return "Nice value of " + n.subject }

// Cursor is hidden.
func (n *Nice) Cursor() *tea.Cursor { return nil }

// Update steps, types, answers.
func (n *Nice) Update(msg tea.Msg) Outcome {
	k, ok := msg.(tea.KeyPressMsg)
	if !ok {
		return Outcome{}
	}
	switch k.String() {
	case "esc", "ctrl+c", "ctrl+g":
		return canceled
	case "enter":
		return answered(n.number.value)
	case "up", "]", "f8":
		n.number.set(n.number.value + 1)
	case "down", "[", "f7":
		n.number.set(n.number.value - 1)
	default:
		n.number.key(k)
	}
	return Outcome{}
}

// Render draws the value on its scale.
func (n *Nice) Render(width, height int, th *theme.Theme) string {
	var value, scale rows.Row
	value.Add(th.Dim, "nice  ")
	value.Right(th, th.Text, strconv.Itoa(n.before), 3)
	value.Add(th.Dim, " "+th.Arrow+" ")
	value.Right(th, th.Strong, n.number.text(), 3)

	scale.Add(th.Dim, "first -20 ")
	left := n.number.value + 20
	scale.Add(th.Dim, strings.Repeat(th.Line, left))
	scale.Add(th.Accent, th.IntervalMid)
	scale.Add(th.Dim, strings.Repeat(th.Line, 39-left)+" 19 last")

	head := []string{value.Render(th, width), scale.Render(th, width)}
	var body []string
	for _, note := range n.notes {
		for _, line := range rows.Wrap(th, note, min(width, 60)) {
			body = append(body, th.Warn.Render(line))
		}
	}
	keys := rows.Keys(th, "0-9 -", "type", "up down", "step", "Enter", "apply", "Esc", "cancel")
	return rows.Stack(width, height, head, len(body), func(h int) []string { return body[:min(h, len(body))] },
		[]string{"", keys.Render(th, width)})
}
