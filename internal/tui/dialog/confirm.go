package dialog

import (
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"piton/internal/tui/rows"
	"piton/internal/tui/theme"
)

// Tone is how a line of a Confirm is meant.
type Tone uint8

// The tones.
const (
	Plain Tone = iota
	Loud       // what will change
	Warning
	Refusal // what will not be done
	Quiet
)

// Line is one line of a Confirm; it is wrapped where it is too long.
type Line struct {
	Tone Tone
	Text string
}

// Confirm shows what will change before it changes. It has no value: Done
// without Canceled is yes.
type Confirm struct {
	Titled
	lines   []Line
	yes, no string
	onNo    bool // Enter means no
	text    scrolled
	left    time.Duration // until it answers no by itself; 0 = it waits
	deaf    bool          // keys are not taken yet
}

// NewConfirm asks a question with the words for yes and no ("apply", "cancel").
func NewConfirm(title string, lines []Line, yes, no string) *Confirm {
	return &Confirm{Titled: Titled(title), lines: lines, yes: yes, no: no}
}

// Careful makes Enter mean no, for what cannot be undone.
func (c *Confirm) Careful() *Confirm { c.onNo = true; return c }

// grace is how long a question that opened by itself is deaf: keys of a user who types on
// without looking arrive closer to each other than that.
const grace = 300 * time.Millisecond

// listenMsg ends that Confirm's deafness.
type listenMsg struct{ of *Confirm }

// deafen makes the question ignore keys, which were meant for what was there before it,
// until the message of the command comes.
func (c *Confirm) deafen() tea.Cmd {
	c.deaf = true
	return tea.Tick(grace, func(time.Time) tea.Msg { return listenMsg{c} })
}

// Countdown makes the dialog answer no by itself after d, and Enter mean no;
// "keep this?" for a change that may have taken the screen away.
func (c *Confirm) Countdown(d time.Duration) *Confirm { c.left, c.onNo = d, true; return c }

// secondMsg is a second of that Confirm's countdown.
type secondMsg struct{ of *Confirm }

func (c *Confirm) second() tea.Cmd {
	return tea.Tick(time.Second, func(time.Time) tea.Msg { return secondMsg{c} })
}

// Start begins the countdown, if there is one.
func (c *Confirm) Start() tea.Cmd {
	if c.left <= 0 {
		return nil
	}
	return c.second()
}

// Update answers.
func (c *Confirm) Update(msg tea.Msg) Outcome {
	switch msg := msg.(type) {
	case secondMsg:
		return c.tick(msg)
	case listenMsg:
		c.deaf = c.deaf && msg.of != c
	case tea.KeyPressMsg:
		if !c.deaf {
			return c.key(msg)
		}
	}
	return Outcome{}
}

func (c *Confirm) tick(msg secondMsg) Outcome {
	if msg.of != c {
		return Outcome{}
	}
	if c.left -= time.Second; c.left <= 0 {
		return Outcome{Done: true, Canceled: true, Expired: true}
	}
	return Outcome{Cmd: c.second()}
}

// replies are the keys of a question and what they mean: no, yes, whichever is bracketed, and
// to the other one. All others only scroll its text.
var replies = map[string]string{
	"esc": "no", "n": "no", "N": "no", "q": "no", "ctrl+c": "no", "ctrl+g": "no", "y": "yes", "Y": "yes", "enter": "bracketed",
	"left": "other", "right": "other", "tab": "other", "shift+tab": "other",
}

func (c *Confirm) takes(k tea.KeyPressMsg) bool { return replies[k.String()] != "" }

func (c *Confirm) key(k tea.KeyPressMsg) Outcome {
	switch replies[k.String()] {
	case "no":
		return canceled
	case "yes":
		return Outcome{Done: true}
	case "bracketed":
		return Outcome{Done: true, Canceled: c.onNo}
	case "other":
		c.onNo = !c.onNo
	default:
		c.text.key(k, true)
	}
	return Outcome{}
}

// Render draws the lines, scrolled where they are too many, and the two answers.
func (c *Confirm) Render(width, height int, th *theme.Theme) string {
	var lines []string
	for _, l := range c.lines {
		for _, part := range rows.Wrap(th, l.Text, min(width, 84)) {
			lines = append(lines, l.Tone.style(th).Render(part))
		}
	}
	return rows.Stack(width, height, nil, len(lines), c.text.body(lines), []string{"", c.answers(th).Render(th, width)})
}

// answers are bracketed and bright once they can be given.
func (c *Confirm) answers(th *theme.Theme) rows.Row {
	var r rows.Row
	if c.deaf {
		r.Add(th.Dim, fmt.Sprintf(" y %s   n %s ", c.yes, c.no))
		return r
	}
	button(&r, th, "y", c.yes, !c.onNo)
	r.Add(th.Text, " ")
	button(&r, th, "n", c.no, c.onNo)
	if c.left > 0 {
		r.Add(th.Strong, fmt.Sprintf("  %s in %2d s", c.no, int(c.left/time.Second)))
	}
	return r
}

// button draws an answer; the one that Enter gives is bracketed.
func button(r *rows.Row, th *theme.Theme, key, label string, enter bool) {
	if enter {
		r.Add(th.Selected, "["+key+" "+label+"]")
		return
	}
	r.Add(th.Text, " ")
	r.Add(th.Key, key)
	r.Add(th.Text, " "+label+" ")
}

func (t Tone) style(th *theme.Theme) theme.Style {
	switch t {
	case Loud:
		return th.Strong
	case Warning:
		return th.Warn
	case Refusal:
		return th.Bad
	case Quiet:
		return th.Dim
	}
	return th.Text
}
