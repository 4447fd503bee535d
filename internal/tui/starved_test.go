package tui

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// fakePriority says how long piton waits between two looks.
type fakePriority struct {
	ran, waited   time.Duration // so far
	wait          time.Duration // more with each look
	raises, drops int
	err           error
}

func (f *fakePriority) Delay() (ran, waited time.Duration, err error) {
	f.ran += 50 * time.Millisecond
	f.waited += f.wait
	return f.ran, f.waited, nil
}
func (f *fakePriority) Raise() error { f.raises++; return f.err }
func (f *fakePriority) Drop() error  { f.drops++; return nil }

func onStarved(t *testing.T, wait time.Duration, f func(r *rig, p *fakePriority)) {
	p := &fakePriority{wait: wait}
	onSmall(t, func(r *rig) { f(r, p) }, func(d *Deps) { d.Priority = p })
}

// looks lets a screen that has just been started look n times more.
func (r *rig) looks(n int) {
	if !r.looked {
		r.looked = true
		r.run(r.m.starved.Look()) // Init does
	}
	r.wait(time.Duration(n) * time.Second)
}

func TestStarvedScreenAsksForPriority(t *testing.T) {
	onStarved(t, 2*time.Second, func(r *rig, p *fakePriority) {
		r.looks(0)
		assert.Contains(t, r.text(), "piton waited 2s for a CPU to run 50ms")
		assert.Zero(t, p.raises, "not unasked")
		r.wait(time.Second)
		r.press("y")
		assert.Equal(t, 1, p.raises)
		assert.Contains(t, r.text(), "this screen has a real-time priority")
		r.looks(3)
		assert.Equal(t, 4, p.raises, "threads that came meanwhile are raised, too")
		r.looks(32)
		assert.Equal(t, 1, p.drops, "it looks whether it is still needed")
		before := p.raises
		r.looks(3)
		assert.Greater(t, p.raises, before, "it is")
		p.wait = 0
		for i := 0; i < 40 && !strings.Contains(r.text(), "not starved any more"); i++ {
			r.looks(1)
		}
		assert.Equal(t, 2, p.drops)
		assert.Contains(t, r.text(), "not starved any more")
		before = p.raises
		r.looks(5)
		assert.Equal(t, before, p.raises)
	})
}

func TestStarvedScreenLetsKeysThrough(t *testing.T) {
	onStarved(t, 2*time.Second, func(r *rig, p *fakePriority) {
		r.press("\\")
		r.looks(3)
		assert.NotContains(t, r.text(), "Starved", "not while somebody types")
		r.press("esc")
		r.looks(1)
		assert.Contains(t, r.text(), "Starved")
		r.wait(time.Second)
		r.press("2")
		assert.Contains(t, r.text(), "[2 Cores]", "a key that is no answer does what it always does")
		assert.NotContains(t, r.text(), "Starved", "and declines")
		assert.Zero(t, p.raises)
	})
	onStarved(t, 2*time.Second, func(r *rig, p *fakePriority) {
		r.looks(0)
		r.press("y")
		assert.Zero(t, p.raises, "it was on its way before the question stood there")
		r.press("2")
		assert.Contains(t, r.text(), "Starved", "the question waits until it has been read")
		r.wait(time.Second)
		r.press("esc")
		assert.Contains(t, r.text(), "[2 Cores]")
	})
}

// TestStarvedScreenAsksAgain after a dialog that was opened while the question did not listen yet.
func TestStarvedScreenAsksAgain(t *testing.T) {
	onStarved(t, 2*time.Second, func(r *rig, p *fakePriority) {
		r.looks(0)
		r.press("\\", "n")
		assert.Contains(t, r.text(), "Filter: n", "the filter has the keyboard")
		assert.NotContains(t, r.text(), "Starved", "and the question does not look as if it had")
		r.press("esc")
		r.looks(1)
		assert.Contains(t, r.text(), "Starved")
		r.wait(time.Second)
		r.press("n")
		r.looks(3)
		assert.NotContains(t, r.text(), "Starved")
		assert.Zero(t, p.raises)
	})
}

func TestStarvedScreenStaysOrdinary(t *testing.T) {
	onStarved(t, 2*time.Second, func(r *rig, p *fakePriority) {
		r.looks(1)
		r.press("n")
		r.looks(5)
		assert.Zero(t, p.raises)
		assert.NotContains(t, r.text(), "Starved", "it asks once")
	})
	onStarved(t, 2*time.Second, func(r *rig, p *fakePriority) {
		p.err = errors.New("operation not permitted")
		r.looks(1)
		r.press("y")
		assert.Contains(t, r.text(), "stays an ordinary task: operation not permitted")
		r.looks(3)
		assert.Equal(t, 1, p.raises)
	})
}

func TestBusyScreenAsksNothing(t *testing.T) {
	onStarved(t, 200*time.Millisecond, func(r *rig, p *fakePriority) {
		r.looks(4)
		p.wait = time.Minute // later than at its start
		r.looks(10)
		assert.NotContains(t, r.text(), "Starved")
	})
}
