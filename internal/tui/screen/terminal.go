package screen

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"

	"piton/internal/kernel"
)

// terminal is the terminal in full-screen use. Only the event loop of the
// program touches it while it runs.
type terminal struct {
	in, out *os.File
	env     []string
	profile colorprofile.Profile
	meter   *Meter
	keys    *keyboard
	width   int
	height  int

	modern  bool // the terminal is one of xterm's or the VT220's children
	console bool // it is the console of Linux

	owned   atomic.Pointer[term.State] // saved, for a crash
	crashed atomic.Bool                // nothing more is drawn

	saved   *term.State // modes to restore; nil while the terminal is not ours
	entered bool        // before
	sync    bool        // the terminal takes synchronised output (mode 2026)
	queue   bytes.Buffer
	cells   *uv.TerminalRenderer
	method  ansi.Method     // how cells are measured; see measure
	buffer  uv.ScreenBuffer // what the terminal shows
	next    uv.ScreenBuffer // what it is to show
	lines   []string        // the content that next holds
	pieces  []piece         // reused
	view    tea.View        // what the terminal was last told, without Content
	fresh   bool            // everything has to be drawn
	stale   bool            // cells does not know what buffer holds; see note

	asked time.Time // its last question, zero once it has answered
	heard bool      // it has answered once
	yield bool      // it is about to be given away, once it has answered
}

// ask is behind each question (DA1): all terminals answer since the VT100, multiplexers and test
// rigs too, and in order, so that no answer is under way after this one.
const ask = ansi.RequestPrimaryDeviceAttributes

func newTerminal(opt Options) (t *terminal, err error) {
	t = &terminal{in: opt.Input, out: opt.Output, env: opt.Env, profile: opt.Profile, meter: opt.Meter, method: ansi.GraphemeWidth}
	name := uv.Environ(opt.Env).Getenv("TERM")
	t.modern, t.console = modern(name), name == "linux"
	t.width, t.height, err = t.size()
	return t, err
}

// modern reports whether a terminal of that type is a child of xterm's or of the VT220, as
// all are that are in use today.
func modern(termType string) bool {
	family, _, _ := strings.Cut(termType, "-")
	return slices.Contains(strings.Fields("xterm screen tmux linux rxvt alacritty contour foot ghostty kitty konsole rio st wezterm"), family)
}

// A frame has at most so many cells: a terminal that says it is larger takes gigabytes.
const mostColumns, mostRows = 1000, 500

// size is the size of the terminal, or of a terminal that does not know it LINES and COLUMNS
// or 80×24, as of other programs; a serial console says 0×0.
func (t *terminal) size() (width, height int, err error) {
	if width, height, err = term.GetSize(t.out.Fd()); err != nil {
		return 0, 0, fmt.Errorf("read the size of the terminal: %w", err)
	}
	or := func(said int, name string, usual, most int) int {
		if said <= 0 {
			said, _ = strconv.Atoi(uv.Environ(t.env).Getenv(name))
		}
		if said <= 0 {
			said = usual
		}
		return min(said, most)
	}
	return or(width, "COLUMNS", 80, mostColumns), or(height, "LINES", 24, mostRows), nil
}

// enter takes the terminal: raw mode, alternate screen, no cursor. Entering
// again draws everything anew.
func (t *terminal) enter() error {
	// Also when it is ours already: a shell sets its own modes when it sees us
	// stopped by a signal that could not be caught.
	saved, err := term.MakeRaw(t.in.Fd())
	if err != nil {
		return fmt.Errorf("set the terminal to raw mode: %w", err)
	}
	if t.saved == nil {
		t.saved = saved
		t.owned.Store(saved)
	}
	t.queue.Reset()
	t.cells = uv.NewTerminalRenderer(&t.queue, t.env)
	t.cells.SetColorProfile(t.profile)
	t.cells.SetTabStops(-1)
	t.cells.EnterAltScreen()
	_, _ = t.cells.WriteString(ansi.ResetModeTextCursorEnable + ansi.SetModeBracketedPaste)
	if _, overSSH := uv.Environ(t.env).LookupEnv("SSH_TTY"); !overSSH && !t.sync {
		_, _ = t.cells.WriteString(ansi.RequestModeSynchronizedOutput)
	}
	if !t.entered && !t.console { // which does not tell its colours
		_, _ = t.cells.WriteString(ansi.RequestBackgroundColor)
	}
	t.entered = true
	t.view = tea.View{}
	t.resize(t.width, t.height)
	_ = t.cells.Flush()
	t.asked, t.yield = time.Now(), false
	_, _ = t.out.WriteString(t.queue.String() + ask)
	t.queue.Reset()
	return nil
}

// leave gives the terminal back as it was. It may be called again.
func (t *terminal) leave() {
	if t.saved == nil {
		return
	}
	if !kernel.InForeground(int(t.in.Fd())) { // it is the shell's, and changing it would stop the process
		t.saved = nil
		t.owned.Store(nil)
		return
	}
	var out bytes.Buffer
	if t.view.MouseMode != tea.MouseModeNone {
		out.WriteString(mouseOff)
	}
	if t.view.WindowTitle != "" {
		out.WriteString(ansi.SetWindowTitle(""))
	}
	out.WriteString(ansi.ResetModeBracketedPaste + ansi.ResetStyle + ansi.ResetModeAltScreenSaveCursor + ansi.SetModeTextCursorEnable)
	_, _ = t.out.Write(out.Bytes()) // after a hang-up nobody is there to see it
	_ = term.Restore(t.in.Fd(), t.saved)
	t.saved = nil
	t.owned.Store(nil)
}

// rescue gives the terminal back from any goroutine of a program that crashes.
func (t *terminal) rescue() {
	t.crashed.Store(true)
	if saved := t.owned.Swap(nil); saved != nil {
		_, _ = t.out.WriteString(mouseOff + ansi.ResetModeBracketedPaste + ansi.ResetModeSynchronizedOutput + ansi.ResetStyle +
			ansi.ResetModeAltScreenSaveCursor + ansi.SetModeTextCursorEnable)
		_ = term.Restore(t.in.Fd(), saved)
	}
}

// collect takes the answer that is under way, once nothing else reads: it would be
// typed into the shell, or where sudo asks for a password. In the background, or when the
// terminal is not ours any more, there is nothing to read but by being stopped.
func (t *terminal) collect() {
	if t.saved == nil || !kernel.InForeground(int(t.in.Fd())) {
		return
	}
	for end := time.Now().Add(t.patience()); time.Now().Before(end) && !t.keys.answered.After(t.asked); {
		if ready, err := kernel.AwaitData(int(t.in.Fd()), time.Until(end)); err != nil || !ready {
			return
		}
		if _, err := t.keys.take(); err != nil {
			return
		}
	}
}

// answer notes that the terminal has answered all that it was asked.
func (t *terminal) answer() { t.asked, t.heard = time.Time{}, true }

// patience is how long the answer under way is waited for before the terminal is given
// away: 0 without one.
func (t *terminal) patience() time.Duration {
	switch {
	case t.asked.IsZero():
		return 0
	case t.heard:
		return lateAnswer
	}
	return max(firstAnswer-time.Since(t.asked), 0) // it may never answer
}

// How late the first answer of a terminal may be, and then that of a busy machine.
const firstAnswer, lateAnswer = 1500 * time.Millisecond, time.Second

// resize makes the next draw a full one of that size.
func (t *terminal) resize(width, height int) {
	t.width, t.height = max(width, 0), max(height, 0)
	t.buffer, t.next = uv.NewScreenBuffer(t.width, t.height), uv.NewScreenBuffer(t.width, t.height)
	t.setMethod()
	t.lines = nil
	t.cells.Resize(t.width, t.height)
	t.repaint()
}

func (t *terminal) repaint() {
	t.cells.Erase()
	t.fresh, t.stale = true, false
}

const (
	mouseOn  = ansi.SetModeMouseButtonEvent + ansi.SetModeMouseExtSgr
	mouseOff = ansi.ResetModeMouseButtonEvent + ansi.ResetModeMouseExtSgr
)

// draw brings the terminal to show v, with one write of what differs; key says that it
// answers one, which is acknowledged if it changes nothing. Alternate screen and bracketed
// paste are always on; MouseMode, WindowTitle and Cursor are followed.
func (t *terminal) draw(v tea.View, key bool) {
	if t.saved == nil || t.width == 0 || t.height == 0 {
		return
	}
	if t.console {
		v.Content = onConsole.Replace(v.Content)
	}
	changed := t.fill(strings.Split(v.Content, "\n"))
	moves := len(changed) > 0 || t.fresh
	if moves {
		t.render(changed, key)
	}
	t.fresh = false
	t.modes(v)
	if v.Cursor != nil && (moves || t.view.Cursor == nil || *v.Cursor != *t.view.Cursor) {
		t.cells.MoveTo(v.Cursor.X, v.Cursor.Y)
	}
	t.view = v
	t.view.Content = ""
	_ = t.cells.Flush() // into queue, which takes everything
	if t.queue.Len() == 0 && key && v.Cursor == nil {
		t.acknowledge()
	}
	t.flush()
}

// acknowledge answers a key that changes nothing, such as Up on the first row, by
// moving the hidden cursor: a program that types for somebody (expect, a recorder, a
// meter of latency) need not wait for the next tick to know that it was taken.
func (t *terminal) acknowledge() {
	_, y := t.cells.Position()
	t.cells.SetPosition(0, y)
	t.queue.WriteByte('\r')
}

func (t *terminal) flush() {
	if t.queue.Len() == 0 || t.crashed.Load() {
		return
	}
	out := t.queue.Bytes()
	if t.sync {
		out = slices.Concat([]byte(ansi.SetModeSynchronizedOutput), out, []byte(ansi.ResetModeSynchronizedOutput))
	}
	_, _ = t.out.Write(out) // a lost terminal comes with SIGHUP, which ends the program
	t.meter.frame(len(out))
	t.queue.Reset()
}

// fill draws the lines that differ from the last draw into next and returns which
// they are.
func (t *terminal) fill(lines []string) (changed []int) {
	lines = lines[:min(len(lines), t.height)]
	for y := range t.height {
		now, before := "", ""
		if y < len(lines) {
			now = lines[y]
		}
		if y < len(t.lines) {
			before = t.lines[y]
		}
		if now == before {
			continue
		}
		changed = append(changed, y)
		t.measure(now)
		uv.NewStyledString(now).Draw(t.next, uv.Rect(0, y, t.width, 1))
	}
	t.lines = lines
	return changed
}

// modes queues what has to be said when the view's modes differ from the last.
func (t *terminal) modes(v tea.View) {
	if on := v.MouseMode != tea.MouseModeNone; on != (t.view.MouseMode != tea.MouseModeNone) {
		if on {
			_, _ = t.cells.WriteString(mouseOn)
		} else {
			_, _ = t.cells.WriteString(mouseOff)
		}
	}
	if v.WindowTitle != t.view.WindowTitle {
		_, _ = t.cells.WriteString(ansi.SetWindowTitle(v.WindowTitle))
	}
	if on := v.Cursor != nil; on != (t.view.Cursor != nil) {
		if on {
			_, _ = t.cells.WriteString(ansi.SetModeTextCursorEnable)
		} else {
			_, _ = t.cells.WriteString(ansi.ResetModeTextCursorEnable)
		}
	}
}
