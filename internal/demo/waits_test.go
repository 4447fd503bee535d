package demo

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/kernel"
	"piton/internal/sample"
	"piton/internal/watch"
	"piton/internal/why"
)

// What tasks wait for adds up to their run delay.
func TestWaitsAddUp(t *testing.T) {
	m := machine(t, 4, 1)
	of := named(t, m, "nqueens").leader
	s, err := m.observe(watch.Targets{IDs: []kernel.TID{of.TID}})
	require.NoError(t, err)
	delay := func() (ns uint64) {
		for _, th := range of.threads {
			ns += th.RunDelayNs
		}
		return ns
	}
	before := delay()
	for range 10 {
		m.Tick(time.Second, sample.Needs{})
	}
	left, err := s.Look()
	require.NoError(t, err)
	assert.True(t, left)
	o, target, err := s.Take()
	require.NoError(t, err)
	assert.Equal(t, 10*time.Second, o.Span)
	assert.InDelta(t, float64(delay()-before), float64(o.Waited), 1e3)
	sum := time.Duration(0)
	for _, w := range o.By {
		sum += w.Time
		assert.Positive(t, w.Bins.Count(), w.By)
	}
	assert.Equal(t, o.Waited, sum)
	assert.Positive(t, o.Ran)
	a := why.Explain(o, target)
	assert.Equal(t, "NEIGHBOUR", a.Verdict.Word)
	assert.Contains(t, a.Rows[0].Remedy.Text, "piton nice ")
	again, _, err := s.Take()
	require.NoError(t, err)
	assert.Zero(t, again.Span)
	s.Close()
	assert.Empty(t, m.waits)
}

// TestWhyIsShown goes the way of a user: w says why, Enter and y carry the remedy out, z undoes it.
func TestWhyIsShown(t *testing.T) {
	fly(t, 16, 120, 40, func(p *pilot) {
		p.tick(2)
		p.press("/")
		p.typed("nqueens")
		p.press("enter", "w")
		p.tick(8)
		assert.Contains(t, p.text(), "NEIGHBOUR")
		p.press("enter")
		p.tick(2)
		assert.Contains(t, p.text(), "y apply")
		p.press("y")
		p.tick(3)
		assert.Contains(t, p.text(), "effect     piton nice")
		p.press("z")
		p.tick(2)
		assert.Contains(t, p.text(), "effect     undo: before | after")
		p.press("esc")
		p.tick(1)
		assert.Empty(t, p.machine.waits, "nothing is observed that is not shown")
	})
}
