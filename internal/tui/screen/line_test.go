package screen

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/creack/pty"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// way is a terminal at the end of a line of so many bytes a second, in a time of
// its own.
type way struct {
	line
	bytesPerS float64
	silent    bool // it does not answer
	now       time.Time
	queued    float64 // bytes that it has not taken
	answerAt  float64 // so many before it answers; negative: it is not asked
}

func newWay(bytesPerS float64, silent bool) *way {
	w := &way{bytesPerS: bytesPerS, silent: silent, now: time.Unix(1000, 0), answerAt: 60, queued: 60}
	w.question(w.now)
	return w
}

// pass lets time pass.
func (w *way) pass(d time.Duration) {
	for end := w.now.Add(d); w.now.Before(end); {
		w.now = w.now.Add(time.Millisecond)
		taken := min(w.queued, w.bytesPerS/1000)
		w.queued -= taken
		if w.answerAt -= taken; w.answerAt <= 0 && !w.asked.IsZero() && !w.silent {
			if w.answer(w.now); w.asksOn() {
				w.question(w.now)
				w.answerAt = w.queued
			}
		}
	}
}

// On a busy machine the first frame is written before the first answer has come.
func TestAFrameBeforeTheFirstAnswerIsMeasuredByASecondQuestion(t *testing.T) {
	for bytesPerS, fast := range map[float64]bool{960: false, 1e6: true} {
		w := newWay(bytesPerS, false)
		w.send(16000, true, false)
		w.pass(20 * time.Second)
		assert.Equal(t, fast, w.fast(), bytesPerS)
		room, _ := w.room(true, false, w.now)
		assert.NotZero(t, room, "%v", bytesPerS)
	}
}

// send writes up to bytes of a frame and returns what is left of it.
func (w *way) send(bytes int, figures, more bool) (left int) {
	room, _ := w.room(figures, more, w.now)
	if room == 0 {
		return bytes
	}
	n := bytes
	if room > 0 {
		n = min(n, room)
	}
	w.queued += float64(n)
	if w.write(n, figures, w.now) {
		w.answerAt = w.queued
	}
	w.wrote(n, 0, n == bytes)
	return bytes - n
}

// Whatever is drawn, a key waits for little.
func TestAKeyNeverWaitsForAFrame(t *testing.T) {
	for _, bytesPerS := range []float64{300, 960, 11520, 1e6} {
		for _, silent := range []bool{false, true} {
			if silent && bytesPerS < baud9600 {
				continue // nobody can know
			}
			w, left, r := newWay(bytesPerS, silent), 0, rand.New(rand.NewPCG(1, 1))
			w.pass(time.Second)
			w.send(500, true, false)
			for tick := range 120 {
				w.figuresCame(w.now)
				for range 20 {
					if left > 0 {
						left = w.send(left, true, true)
					} else if r.IntN(10) == 0 {
						left = w.send(1500, true, false)
					}
					w.pass(50 * time.Millisecond)
				}
				if tick > 20 && tick%15 == 0 {
					assert.LessOrEqual(t, w.queued/w.bytesPerS, 0.6, "%v bytes a second, silent: %v, after %d s", bytesPerS, silent, tick)
					room, _ := w.room(false, left > 0, w.now)
					assert.NotZero(t, room)
				}
			}
			assert.Equal(t, bytesPerS > fastRate && !silent, w.every == 0, "%v bytes a second", bytesPerS)
		}
	}
}

func TestALineThatAnswersAtOnceIsNotAsked(t *testing.T) {
	w := newWay(1e6, false)
	w.pass(time.Second)
	w.send(600, true, false)
	w.pass(time.Second)
	require.True(t, w.fast())
	for i := range manyFrames - 1 {
		w.send(300, true, false)
		assert.Zero(t, w.asked, i)
	}
	w.send(largeFrame, true, false)
	assert.NotZero(t, w.asked)
}

func TestAWriteThatWaitsIsASlowLine(t *testing.T) {
	w := newWay(1e6, true)
	w.write(3000, true, w.now)
	w.wrote(3000, 3*time.Second, true)
	assert.True(t, w.slow)
	assert.InDelta(t, 1000, w.rate, 1)
	for range 10 {
		w.write(300, true, w.now)
		w.wrote(300, 0, true)
	}
	assert.False(t, w.slow, "it may have been a pause")
}

func TestALostAnswerIsNotWaitedFor(t *testing.T) {
	w := newWay(1e6, false)
	w.pass(time.Second)
	w.send(600, true, false)
	w.pass(time.Second)
	w.silent = true // attached from another terminal
	w.send(largeFrame, true, false)
	w.pass(lost + time.Second)
	room, _ := w.room(true, false, w.now)
	assert.NotZero(t, room)
	assert.False(t, w.answers)
}

func TestAKeyThatChangesNothingIsAnswered(t *testing.T) {
	tt, written := fileTerminal(t, colorprofile.ANSI256)
	tt.draw(frame("first row"), anew)
	written()
	tt.draw(frame("first row"), key)
	assert.Equal(t, "\r", written())
	tt.draw(frame("first row 2"), anew)
	assert.Contains(t, written(), "2")
}

// noise is a model that changes all of its screen at each tick, and answers keys.
type noise struct {
	tick    int
	pressed string
}

type noiseTick struct{}

func (noiseTick) Figures() {}

func (n *noise) next() tea.Cmd {
	return tea.Tick(100*time.Millisecond, func(time.Time) tea.Msg { return noiseTick{} })
}

func (n *noise) Init() tea.Cmd { return n.next() }

func (n *noise) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case noiseTick:
		n.tick++
		return n, n.next()
	case tea.KeyPressMsg:
		if msg.String() == "q" {
			return n, tea.Quit
		}
		n.pressed = strings.Repeat(msg.String(), 8)
	}
	return n, nil
}

func (n *noise) View() tea.View {
	lines := []string{"", "", n.pressed}
	for y := range 20 {
		lines = append(lines, strings.Repeat(fmt.Sprint(n.tick*7919*(y+1)), 8))
	}
	return frame(lines...)
}

// A terminal takes 9,600 baud, and is behind from the first tick on; a key's answer
// comes before more than a second's bytes, in whatever time that is.
func TestKeysOnAThinLine(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped with -short: sends 10 s of bytes at 9600 baud")
	}
	master, slave, err := pty.Open()
	require.NoError(t, err)
	defer master.Close()
	require.NoError(t, pty.Setsize(slave, &pty.Winsize{Rows: 24, Cols: 80}))
	var mu sync.Mutex
	var got []byte
	go func() {
		buf := make([]byte, baud9600/50)
		for {
			n, err := master.Read(buf)
			if err != nil {
				return
			}
			mu.Lock()
			before := bytes.Count(got, []byte(ask))
			got = append(got, buf[:n]...)
			now := bytes.Count(got, []byte(ask))
			mu.Unlock()
			_, _ = master.WriteString(strings.Repeat("\x1b[?62;22c", now-before))
			time.Sleep(time.Second * time.Duration(n) / baud9600) // the speed of the line
		}
	}()
	seen := func(what string, from int) (at int) {
		require.Eventually(t, func() bool {
			mu.Lock()
			defer mu.Unlock()
			at = bytes.Index(got[min(from, len(got)):], []byte(what))
			return at >= 0
		}, time.Minute, 5*time.Millisecond)
		return at
	}
	length := func() int { mu.Lock(); defer mu.Unlock(); return len(got) }
	ended := make(chan error, 1)
	go func() {
		_, err := Run(context.Background(), &noise{}, Options{Input: slave, Output: slave, Env: []string{"TERM=xterm-256color"},
			Profile: colorprofile.ANSI256})
		ended <- err
		slave.Close()
	}()
	for i, k := range []string{"x", "y", "z"} {
		require.Eventually(t, func() bool { return length() > 2500*(i+1) }, time.Minute, 5*time.Millisecond)
		from := length()
		_, _ = master.WriteString(k)
		assert.Less(t, seen(strings.Repeat(k, 8), from), baud9600, "bytes before the answer to %s", k)
	}
	_, _ = master.WriteString("q")
	assert.NoError(t, <-ended)
}
