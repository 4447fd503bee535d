package dialog

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"piton/internal/tui/theme"
)

// Stack is the open dialogs, the one that has the keyboard on top. The zero
// value is empty and ready.
type Stack struct {
	open   []opened
	serial int
}

type opened struct {
	Dialog
	then   func(Outcome) tea.Cmd
	serial int
	offer  *Confirm // the same dialog, if it can be passed over; see PushOffer
	x, y   int      // of the content, as last drawn
}

// Push opens a dialog that the user asked for. then gets its answer, after the
// dialog has closed, and each value it gives before that (see Outcome.Value). An offer
// below it expires: it would look as if it had the keyboard.
func (s *Stack) Push(d Dialog, then func(Outcome) tea.Cmd) tea.Cmd {
	var expired tea.Cmd
	if n := len(s.open) - 1; n >= 0 && s.open[n].offer != nil {
		top := s.open[n]
		s.open = s.open[:n]
		expired = top.then(Outcome{Done: true, Canceled: true, Expired: true})
	}
	s.serial++
	s.open = append(s.open, opened{Dialog: d, then: then, serial: s.serial})
	if st, ok := d.(starter); ok {
		return tea.Batch(expired, st.Start())
	}
	return expired
}

// PushUnasked opens a question that appears by itself, and is deaf at first.
func (s *Stack) PushUnasked(c *Confirm, then func(Outcome) tea.Cmd) tea.Cmd {
	return tea.Batch(s.Push(c, then), c.deafen())
}

// PushOffer opens a question that appears by itself and can be passed over: keys
// that are no answer, and all that come before it listens, are for what is behind
// it (see Lets).
func (s *Stack) PushOffer(c *Confirm, then func(Outcome) tea.Cmd) tea.Cmd {
	cmd := s.PushUnasked(c, then)
	s.open[len(s.open)-1].offer = c
	return cmd
}

// Lets reports whether the key is for what is behind the dialog on top. An offer
// that listens has been declined by such a key, and is closed.
func (s *Stack) Lets(k tea.KeyPressMsg) (through bool, cmd tea.Cmd) {
	if s.Empty() {
		return false, nil
	}
	switch top := s.open[len(s.open)-1]; {
	case top.offer == nil, !top.offer.deaf && top.offer.takes(k):
		return false, nil
	case top.offer.deaf:
		return true, nil
	default:
		s.open = s.open[:len(s.open)-1]
		return true, top.then(canceled)
	}
}

// Empty reports whether no dialog is open. Keys belong to the stack when one is.
func (s *Stack) Empty() bool { return len(s.open) == 0 }

// Top is the dialog that has the keyboard, nil when none is open.
func (s *Stack) Top() Dialog {
	if s.Empty() {
		return nil
	}
	return s.open[len(s.open)-1].Dialog
}

// Update hands keys and pastes to the dialog on top and other messages to every
// dialog (each knows its own), closes those that are done and tells their openers.
func (s *Stack) Update(msg tea.Msg) tea.Cmd {
	switch msg.(type) {
	case tea.KeyPressMsg, tea.PasteMsg:
		if s.Empty() {
			return nil
		}
		return s.give(s.open[len(s.open)-1].serial, msg)
	}
	var cmds []tea.Cmd
	for _, o := range append([]opened(nil), s.open...) {
		cmds = append(cmds, s.give(o.serial, msg))
	}
	return tea.Batch(cmds...)
}

// give updates one dialog, which may meanwhile have been closed by another's opener.
func (s *Stack) give(serial int, msg tea.Msg) tea.Cmd {
	for i, o := range s.open {
		if o.serial != serial {
			continue
		}
		out := o.Update(msg)
		if out.Done {
			s.open = append(s.open[:i:i], s.open[i+1:]...)
		}
		if (out.Done || out.Value != nil) && o.then != nil {
			return tea.Batch(out.Cmd, o.then(out))
		}
		return out.Cmd
	}
	return nil
}

// Overlay draws the open dialogs over a frame of width × height cells, each
// centred and none larger than the frame.
func (s *Stack) Overlay(base string, width, height int, th *theme.Theme) string {
	if s.Empty() || width < 1 || height < 1 {
		return base
	}
	lines := strings.Split(base, "\n")
	for len(lines) < height {
		lines = append(lines, "")
	}
	for i := range s.open {
		box, x, y := s.open[i].box(width, height, th)
		cover(lines, width, box, x, y)
	}
	return strings.Join(lines[:height], "\n")
}

// box draws the dialog with its frame, and remembers where its content is.
func (o *opened) box(width, height int, th *theme.Theme) (box *lipgloss.Layer, x, y int) {
	if _, ok := o.Dialog.(bottomLine); ok {
		o.x, o.y = 0, height-1
		return fill(o.Render(width, 1, th), width, 1), 0, height - 1
	}
	inW, inH, framed := inner(width, height)
	content := o.Render(inW, inH, th)
	if !framed {
		o.x, o.y = 0, 0
		return fill(content, width, height), 0, 0
	}
	box = frame(o.Title(), content, inW, inH, th)
	x, y = (width-box.Width())/2, (height-box.Height())/2
	o.x, o.y = x+frameLeft, y+frameTop
	return box, x, y
}

// Cursor is where the terminal's cursor belongs on the screen that Overlay drew
// last; nil hides it.
func (s *Stack) Cursor() *tea.Cursor {
	if s.Empty() {
		return nil
	}
	top := s.open[len(s.open)-1]
	c := top.Cursor()
	if c == nil {
		return nil
	}
	moved := *c
	moved.X += top.x
	moved.Y += top.y
	return &moved
}
