package screen

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
)

const (
	// escapeTime is how long an ESC waits for the rest of a sequence before it is the key
	// Escape, as long as Bubble Tea's decoder waits.
	escapeTime = 50 * time.Millisecond
	// tornTime is how soon after an ESC what comes is the rest of its sequence, whatever it
	// looks like; tailTime is the same for what looks like one.
	tornTime, tailTime = 100 * time.Millisecond, time.Second
	// silence ends a sequence that is not complete, pasteSilence a paste.
	silence, pasteSilence = time.Second, 10 * time.Second

	// No terminal sends more: a VT500 keeps 16 parameters, and a mouse's place in pixels
	// has five digits.
	longest, mostParams, mostDigits = 4 << 10, 16, 7

	pasteStart, pasteEnd = "\x1b[200~", "\x1b[201~"
	longestPaste         = 64 << 10
	longestKey           = 64 // bytes of a letter with all of its marks
)

// part is where in a sequence a cutter is.
type part uint8

const (
	between    part = iota // sequences
	escaped                // after an ESC
	runeRest               // in a letter of several bytes
	parameters             // of a CSI sequence
	consoleKey             // after ESC [ [, which the Linux console sends for F1 to F5
	oldMouse               // in the three bytes of an X10 mouse report
	single                 // after ESC O
	text                   // of an OSC, DCS, APC, PM or SOS string
	textEnd                // after an ESC in one
	paste                  // in a bracketed paste
)

// cutter cuts what a terminal sends into whole keys, mouse reports, pastes and answers.
// A sequence that is torn, malformed, out of range or of no use to piton is dropped as a
// whole: each of its letters is a key. It knows the time only by what it is told.
type cutter struct {
	decoder uv.EventDecoder
	events  []tea.Msg
	keys    []byte // whole letters that are not decoded yet: marks belong to the letter before
	part    part
	seq     []byte // the sequence under way, from its ESC
	bad     bool   // it is dropped at its end
	params  int    // of it, and digits of the last of them
	digits  int
	middle  bool // an intermediate byte has come
	pasted  []byte
	match   int       // bytes of the paste's end that have come
	came    time.Time // the last bytes
	escape  time.Time // when an ESC came that was taken for the key
}

func (c *cutter) feed(b []byte, now time.Time) []tea.Msg {
	if c.part == between && !c.escape.IsZero() {
		if after := now.Sub(c.escape); after <= tornTime || after <= tailTime && looksLikeTail(b) {
			c.begin(escaped, ansi.ESC)
			c.bad = true
		}
	}
	c.escape, c.came = time.Time{}, now
	for _, x := range b {
		c.take(x)
	}
	return c.flush()
}

// looksLikeTail reports whether bytes may be a sequence without its ESC.
func looksLikeTail(b []byte) bool {
	if len(b) < 2 {
		return false
	}
	switch next := b[1]; b[0] {
	case '[':
		return next >= ' ' && next < ansi.DEL
	case 'O':
		return strings.IndexByte("ABCDEFHMPQRS", next) >= 0
	case ']':
		return isDigit(next)
	case 'P':
		return isDigit(next) || next == '>' || next == '!'
	case '_':
		return next == 'G'
	}
	return false
}

func isDigit(x byte) bool { return x >= '0' && x <= '9' }

// deadline is when expire has to be called, if nothing comes before.
func (c *cutter) deadline() (at time.Time, ok bool) {
	switch c.part {
	case between:
		return time.Time{}, false
	case escaped:
		return c.came.Add(escapeTime), true
	case paste:
		return c.came.Add(pasteSilence), true
	}
	return c.came.Add(silence), true
}

// expire takes an ESC for the key, and drops another sequence, once nothing has come for
// long enough.
func (c *cutter) expire(now time.Time) []tea.Msg {
	if at, ok := c.deadline(); !ok || now.Before(at) {
		return nil
	}
	if c.part == escaped {
		c.escapeKey()
		c.escape = c.came
	}
	c.end()
	return c.flush()
}

func (c *cutter) escapeKey() {
	if !c.bad {
		c.decodeKeys()
		c.events = append(c.events, uv.KeyPressEvent{Code: uv.KeyEscape})
	}
}

func (c *cutter) flush() []tea.Msg {
	c.decodeKeys()
	events := c.events
	c.events = nil
	return events
}

func (c *cutter) begin(p part, bytes ...byte) {
	if p != runeRest {
		c.decodeKeys()
	}
	c.part, c.seq, c.bad, c.params, c.digits, c.middle = p, append(c.seq[:0], bytes...), false, 0, 0, false
}

func (c *cutter) end() { c.part, c.pasted, c.match = between, nil, 0 }

// finish is the end of a sequence that is complete.
func (c *cutter) finish() {
	if !c.bad {
		if n, e := c.decoder.Decode(c.seq); n == len(c.seq) {
			c.keep(e)
		}
	}
	c.end()
}

func (c *cutter) take(x byte) {
	switch {
	case c.part == paste:
		c.takePasted(x)
	case c.part == textEnd:
		c.takeTextEnd(x)
	case x == ansi.ESC && c.part == text:
		c.part = textEnd
	case x == ansi.ESC:
		if c.part == escaped {
			c.escapeKey()
		}
		c.begin(escaped, x)
	case c.part == between:
		c.takeFirst(x)
	case c.part == runeRest:
		c.takeRune(x)
	case c.part == oldMouse: // anything
		c.takeLast(x, len(c.seq) == len("\x1b[M.."))
	case x == ansi.CAN || x == ansi.SUB:
		c.end()
	case c.part == escaped:
		c.takeSecond(x)
	case c.part == text:
		c.takeText(x)
	case x < ' ': // what it was in is torn
		c.end()
		c.take(x)
	case c.part == consoleKey:
		c.takeConsoleKey(x)
	case c.part == single:
		c.takeLast(x, !isDigit(x))
	default:
		c.takeParameter(x)
	}
}

// add adds a byte to the sequence, unless that is too long.
func (c *cutter) add(x byte) {
	if len(c.seq) < longest {
		c.seq = append(c.seq, x)
	} else {
		c.bad = true
	}
}

// takeLast adds a byte, which is the last one or not.
func (c *cutter) takeLast(x byte, last bool) {
	if c.add(x); last {
		c.finish()
	}
}

// takeFirst takes the first byte of a key or sequence. A terminal that speaks UTF-8 sends no
// C1 controls as bytes: what they introduce is dropped.
func (c *cutter) takeFirst(x byte) {
	switch {
	case x < utf8.RuneSelf:
		c.keys = append(c.keys, x)
	case x >= 0xc2 && x < 0xf5:
		c.begin(runeRest, x)
	case x == ansi.CSI:
		c.begin(parameters, ansi.ESC, '[')
		c.bad = true
	case x == ansi.SS3:
		c.begin(single, ansi.ESC, 'O')
		c.bad = true
	case x == ansi.DCS, x == ansi.SOS, x == ansi.OSC, x == ansi.PM, x == ansi.APC:
		c.begin(text, x)
		c.bad = true
	}
}

func (c *cutter) takeRune(x byte) {
	if x < 0x80 || x > 0xbf {
		c.end()
		c.take(x)
		return
	}
	c.seq = append(c.seq, x)
	letter := c.seq
	if letter[0] == ansi.ESC {
		letter = letter[1:]
	}
	switch {
	case !utf8.FullRune(letter):
	case c.seq[0] == ansi.ESC:
		c.finish()
	default:
		if r, _ := utf8.DecodeRune(letter); r != utf8.RuneError && !unicode.IsControl(r) {
			c.keys = append(c.keys, letter...)
		}
		c.end()
	}
}

func (c *cutter) takeSecond(x byte) {
	c.seq = append(c.seq, x)
	switch {
	case x == '[':
		c.part = parameters
	case x == 'O':
		c.part = single
	case strings.IndexByte("]P_^X", x) >= 0:
		c.part = text
	case x >= 0xc2 && x < 0xf5:
		c.part = runeRest
	case x < utf8.RuneSelf: // with Alt
		c.finish()
	default:
		c.end()
	}
}

// takeParameter takes a byte of a CSI sequence, as a VT500 does.
func (c *cutter) takeParameter(x byte) {
	first := len(c.seq) == len("\x1b[")
	switch {
	case first && x == '[':
		c.part = consoleKey
		return
	case first && x == 'M':
		c.part = oldMouse
	case isDigit(x):
		c.digits++
		c.bad = c.bad || c.middle || c.digits > mostDigits
	case x == ';' || x == ':':
		c.params++
		c.digits = 0
		c.bad = c.bad || c.middle || c.params >= mostParams
	case x >= '<' && x <= '?':
		c.bad = c.bad || !first
	case x < '0':
		c.middle = true
		if c.add(x); x == '$' && c.params == 0 && c.digits > 0 && isDigit(c.seq[2]) { // rxvt, with Shift
			c.finish()
		}
		return
	case x >= ansi.DEL:
		c.bad = true
	default:
		c.add(x)
		c.complete()
		return
	}
	c.add(x)
}

// complete is the end of a CSI sequence.
func (c *cutter) complete() {
	if string(c.seq) == pasteStart { // a torn one too: its letters are no keys
		c.part = paste
		return
	}
	c.finish()
}

// takeConsoleKey takes the letter of F1 to F5 on the Linux console; Bubble Tea's decoder
// knows the same keys of xterm.
func (c *cutter) takeConsoleKey(x byte) {
	if x >= 'A' && x <= 'E' {
		c.seq = append(c.seq[:0], "\x1b[1"+string('1'+x-'A')+"~"...)
		c.finish()
		return
	}
	c.end()
}

func (c *cutter) takeText(x byte) {
	switch {
	case x == ansi.BEL && isOSC(c.seq), x == ansi.ST && c.seq[0] != ansi.ESC:
		c.finishText()
	default:
		c.add(x)
	}
}

func isOSC(seq []byte) bool { return seq[0] == ansi.OSC || len(seq) > 1 && seq[1] == ']' }

// takeTextEnd takes the byte after an ESC in a string: the end is ESC \.
func (c *cutter) takeTextEnd(x byte) {
	if x == '\\' {
		c.finishText()
		return
	}
	c.begin(escaped, ansi.ESC)
	c.take(x)
}

// finishText is the end of a string. Of all strings piton asks for one, the colour of the
// background.
func (c *cutter) finishText() {
	const asked, most = "\x1b]11;", 64
	data, ok := strings.CutPrefix(string(c.seq), asked)
	if !ok || len(data) > most || strings.ContainsFunc(data, func(r rune) bool { return r <= ' ' || r >= ansi.DEL }) {
		c.end()
		return
	}
	c.seq = append(c.seq, ansi.BEL)
	c.finish()
}

func (c *cutter) takePasted(x byte) {
	if x == pasteEnd[c.match] {
		if c.match++; c.match == len(pasteEnd) {
			if !c.bad {
				c.events = append(c.events, tea.PasteMsg{Content: plain(c.pasted)})
			}
			c.end()
		}
		return
	}
	more := append([]byte(pasteEnd[:c.match]), x)
	if c.match = 0; x == pasteEnd[0] {
		c.match, more = 1, more[:len(more)-1]
	}
	if len(c.pasted)+len(more) <= longestPaste {
		c.pasted = append(c.pasted, more...)
	}
}

// plain is the text of a paste without control characters.
func plain(b []byte) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || unicode.IsControl(r) && r != '\t' && r != '\n' && r != '\r' {
			return -1
		}
		return r
	}, string(b))
}

func (c *cutter) decodeKeys() {
	for keys := c.keys; len(keys) > 0; {
		n, e := c.decoder.Decode(keys)
		c.keep(e)
		keys = keys[max(n, 1):]
	}
	c.keys = c.keys[:0]
}

// keep keeps what piton has a use for.
func (c *cutter) keep(e uv.Event) {
	switch e := e.(type) {
	case uv.MultiEvent:
		for _, one := range e {
			c.keep(one)
		}
	case uv.MouseEvent:
		if at := e.Mouse(); at.X >= 0 && at.Y >= 0 {
			c.events = append(c.events, e)
		}
	case uv.KeyPressEvent:
		if len(e.Text) <= longestKey {
			c.events = append(c.events, e)
		}
	case uv.BackgroundColorEvent, uv.ModeReportEvent, uv.PrimaryDeviceAttributesEvent:
		c.events = append(c.events, e)
	}
}
