package screen

import (
	"time"

	"github.com/charmbracelet/x/ansi"
)

// Figures is a message that brings new figures. They can wait where the line to the
// terminal is slow; every other message is taken for the answer to a key, which cannot.
type Figures interface{ Figures() }

// Line says how often figures are drawn. It is sent to the model when that changes.
type Line struct {
	Every time.Duration // 0: at each tick
	Known bool          // false: the terminal does not say what it has taken
}

// line is what is known of the way to the terminal. A pseudo-terminal takes 17 KB
// before a write blocks and sshd two megabytes, and TIOCOUTQ is 0 for both, so only the
// terminal itself can say what it has taken: it is asked behind a frame what it is (DA1,
// which all answer since the VT100, multiplexers and test rigs too, and which no key
// sends), and answers once it has drawn that frame.
// A terminal that never answers may be a line of 9,600 baud, until more than its
// buffers can hold was written without a wait: figures are drawn at that pace
// then, and the answers to keys at once.
type line struct {
	answers bool    // the terminal has answered
	proven  bool    // and at once, behind a frame that tells a rate
	slow    bool    // by its answers, or by a write that waited
	rate    float64 // bytes a second, where slow or not known

	asked  time.Time // the question under way, zero without one
	of     float64   // bytes that were on the way then
	after  float64   // bytes written since
	trip   time.Duration
	frames int // written since the last question

	way float64 // bytes on the way, at
	at  time.Time

	frame       float64   // bytes of the frame under way
	mixed       bool      // it has the answer to a key
	began       time.Time // that or the last one
	ticked      time.Time // the last figures came
	tick, every time.Duration
}

const (
	ask = ansi.RequestPrimaryDeviceAttributes

	baud9600 = 960 // bytes a second
	fastRate = 8000
	leastOf  = 100 // bytes that tell a rate, and the least rate
	// felt is how long a frame may take on a line that is not slow.
	felt = 250 * time.Millisecond
	// pieceTime is how much of a slow line's time is written at once. A key waits for
	// one such piece at most.
	pieceTime = 300 * time.Millisecond
	// unanswered is when no answer is waited for any more, lost the same where answers
	// came at once: test rigs miss a question that two reads divide.
	unanswered, lost = 15 * time.Second, 4 * time.Second
	// A line that is not slow is asked about behind so large a frame, or so many frames.
	largeFrame, manyFrames = 2000, 16
	// buffers is more than a pseudo-terminal takes before a write waits.
	buffers = 24 << 10
)

// fast reports whether nothing has to wait.
func (l *line) fast() bool { return l.proven && !l.slow }

// drain lets what is on the way arrive, and returns how long the rest takes.
func (l *line) drain(now time.Time) time.Duration {
	if l.rate == 0 {
		l.rate = baud9600
	}
	l.way = max(0, l.way-l.rate*now.Sub(l.at).Seconds())
	l.at = now
	return l.time(l.way)
}

// time is how long bytes are on the way.
func (l *line) time(bytes float64) time.Duration {
	return time.Duration(bytes / l.rate * float64(time.Second))
}

// look notices an answer that is late or lost.
func (l *line) look(now time.Time) {
	switch waited := now.Sub(l.asked); {
	case l.asked.IsZero():
	case waited > l.patience():
		l.asked, l.answers, l.proven, l.slow = time.Time{}, false, false, false
	case l.fast() && waited > l.trip+felt:
		l.slow, l.rate = true, baud9600 // until the answer says
	}
}

// patience is how long an answer is waited for.
func (l *line) patience() time.Duration {
	if l.proven {
		return lost
	}
	return unanswered
}

// room is how many bytes may be written now, -1 for any number, or 0 and when to
// look again. more says that a part of the last frame is still to be written.
func (l *line) room(figures, more bool, now time.Time) (bytes int, again time.Duration) {
	l.look(now)
	drain := l.drain(now)
	piece := int(l.rate * pieceTime.Seconds())
	switch {
	case l.fast() || !figures && !l.slow:
		return -1, 0
	case !figures && drain <= pieceTime:
		return piece, 0
	case !figures:
		return 0, drain - pieceTime/2
	case l.answers && !l.asked.IsZero(): // the answer will say when
		return 0, l.asked.Add(l.patience()).Sub(now) + time.Millisecond
	case drain > pieceTime/8:
		return 0, drain
	case !more && now.Sub(l.began) < l.every-l.tick/4:
		return 0, l.every - now.Sub(l.began)
	}
	return piece, 0
}

// figuresCame notes when, for the time of a tick.
func (l *line) figuresCame(now time.Time) {
	if !l.ticked.IsZero() {
		l.tick = now.Sub(l.ticked).Round(100 * time.Millisecond)
	}
	l.ticked = now
}

// write takes bytes that are about to be written, and reports whether to ask behind
// them.
func (l *line) write(bytes int, figures bool, now time.Time) (asks bool) {
	l.drain(now)
	if l.fast() {
		l.way = 0
	}
	l.way += float64(bytes)
	l.after += float64(bytes)
	switch {
	case !figures:
		l.mixed = true
	case l.frame == 0:
		l.began = now
	}
	l.frame += float64(bytes)
	l.frames++
	if l.asked.IsZero() && (!l.fast() || bytes >= largeFrame || l.frames >= manyFrames) {
		l.question(now)
		return true
	}
	return false
}

// asksOn reports whether to ask again at once, about a frame that was written between
// the last question and its answer: the first one, where the machine is busy.
func (l *line) asksOn() bool { return l.asked.IsZero() && !l.fast() && l.after >= leastOf }

// question notes that the terminal is asked.
func (l *line) question(now time.Time) { l.asked, l.of, l.after, l.frames = now, l.way, 0, 0 }

// wrote takes how long the write took, and whether the frame is complete.
func (l *line) wrote(bytes int, took time.Duration, whole bool) {
	switch {
	case took > felt: // the buffers are full
		l.slow, l.rate = true, max(float64(bytes)/took.Seconds(), leastOf)
	case l.answers:
	case l.way > buffers:
		l.rate, l.way = 2*l.rate, 0
	case l.rate < baud9600:
		l.rate *= 1.1
	default:
		l.slow = false
	}
	if whole && !l.mixed {
		l.stretch(l.time(l.frame))
	}
	if whole {
		l.frame, l.mixed = 0, false
	}
}

// stretch makes the tick so long that a frame which takes so much has half of it at most.
func (l *line) stretch(took time.Duration) {
	switch {
	case l.fast(), l.tick <= 0:
		l.every = 0
	case took <= l.tick/2 && l.every <= l.tick: // and not to and fro
		l.every = 0
	default:
		l.every = (2*took + l.tick - 1).Truncate(l.tick)
	}
}

// answer notes that the terminal has taken what was written before it was asked.
func (l *line) answer(now time.Time) {
	if l.asked.IsZero() {
		return
	}
	took := now.Sub(l.asked)
	if l.trip == 0 || took < l.trip {
		l.trip = took
	}
	took = max(took-l.trip, time.Millisecond)
	l.drain(now)
	if l.of >= leastOf {
		rate := l.of / took.Seconds()
		if l.slow { // small frames tell little
			rate = min(rate, 2*l.rate)
		}
		l.rate = max(rate, leastOf)
		l.slow = took > felt || l.slow && rate < fastRate
		l.proven = l.proven || !l.slow && l.rate > fastRate
	}
	l.answers, l.way, l.asked = true, min(l.way, l.after), time.Time{}
}
