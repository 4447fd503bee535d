package tui

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"piton/internal/action"
	"piton/internal/auto"
	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/cpuset"
	"piton/internal/search"
	"piton/internal/tuitest/golden"
)

// twoCandidates is a search after some periods.
func twoCandidates() auto.State {
	of := func(level float64, rates ...float64) search.Candidate {
		return search.Candidate{Rates: rates, Level: level, Error: 0.02}
	}
	return auto.State{Metric: "instructions", Candidates: []auto.Candidate{
		{Name: auto.Kernel, CPUs: all8, Reason: "as it is now"}, {Name: "least-loaded", CPUs: cpuset.Of(5), Reason: "cpu 5: 99 % of a CPU expected"},
		{Name: "llc", CPUs: cpuset.Of(4, 5, 6, 7), Reason: "3.9 CPUs free"},
	}, Now: search.Result{Periods: 12, Budget: 130, Rounds: 2, P: 1, Effect: math.NaN(),
		Candidates: []search.Candidate{of(0, 98, 101, 100, 103, 99, 100), of(0.11, 110, 114, 111), of(0.04, 104, 102, 106)}}}
}

// onRace runs a test on a screen whose searches say what twoCandidates does.
func onRace(t *testing.T, f func(r *rig)) {
	onSmall(t, func(r *rig) {
		r.tuning.race, r.tuning.canUndo = twoCandidates(), true
		r.run(r.m.changes.checkUndo())
		f(r)
	})
}

func TestRaceIsKeptByHand(t *testing.T) {
	onRace(t, func(r *rig) {
		r.press("R")
		assert.Equal(t, [][]change.Target{{{TID: r.selected(), StartTicks: r.tuning.searched[0][0].StartTicks}}}, r.tuning.searched)
		golden.Check(t, "race-120x40", r.text(), 120, 40)
		r.press("enter")
		assert.Contains(t, r.text(), "Kept by hand, not proved: least-loaded, CPUs 5: +11.6 % (+7.3 to +16.1) of instructions")
		assert.Contains(t, r.text(), "≡ piton pin")
		r.press("z")
		assert.Contains(t, r.tuning.undone, change.UndoRequest{IDs: []uint64{61}})
		assert.Empty(t, r.m.changes.made)
		r.press("enter")
		assert.Contains(t, r.text(), "no search is under way")
	})
}

func TestRaceKeepsWhatTheUserSelects(t *testing.T) {
	onRace(t, func(r *rig) {
		r.press("R", "down", "enter")
		assert.Contains(t, r.text(), "not proved: llc, CPUs 4-7: +4.1 %")
		r.press("esc", "R", "up", "enter")
		assert.Contains(t, r.text(), "no candidate leads", "the kernel's choice is not kept by hand")
		assert.True(t, r.m.race.Running())
	})
}

func TestRaceEndsWithEsc(t *testing.T) {
	onRace(t, func(r *rig) {
		r.press("R", "esc")
		assert.False(t, r.m.race.Running())
		assert.Contains(t, r.text(), "everything is as it was")
		assert.Empty(t, r.m.changes.made)
		r.press("esc")
		assert.Equal(t, action.Processes, r.m.view)
	})
}

func TestRaceGoesOnBesideOtherViews(t *testing.T) {
	onRace(t, func(r *rig) {
		r.press("R", "1")
		assert.Contains(t, r.text(), "a search is under way, R shows it")
		r.press("z")
		assert.Contains(t, r.text(), "Esc there ends it and restores")
		r.press("ctrl+z")
		assert.Contains(t, r.text(), "Esc there ends it and restores")
		r.press("down", "R")
		assert.Equal(t, action.Race, r.m.view)
		assert.Len(t, r.tuning.searched, 1)
	})
}

func TestRaceEndsBeforeTheProgramDoes(t *testing.T) {
	onRace(t, func(r *rig) {
		r.press("R", "q")
		assert.False(t, r.m.race.Running())
		assert.True(t, r.Quit)
	})
}

func TestRaceSaysWhatItKept(t *testing.T) {
	onRace(t, func(r *rig) {
		s := twoCandidates()
		o := done(70, change.Plan{Changes: []change.Change{pinned(change.Target{TID: 3641}, attr.Planned)}})
		s.Found = &auto.Found{Result: s.Now, Kept: s.Candidates[1], Outcome: &o}
		s.Found.Finalist, s.Found.Effect, s.Found.Low, s.Found.High, s.Found.HaveInterval = 1, 1.1, 1.06, 1.15, true
		r.tuning.race = s
		r.press("R")
		assert.Contains(t, r.text(), "Kept: least-loaded, CPUs 5: +10.0 % (+6.0 to +15.0) of instructions, after 12 periods")
		assert.Contains(t, r.text(), "≡ piton auto")
		assert.Equal(t, []made{{entry: 70}}, r.m.changes.made)
		s.Found = &auto.Found{Result: s.Now, Kept: s.Candidates[0]}
		r.tuning.race = s
		r.press("1", "R")
		assert.Contains(t, r.text(), "Nothing is better than what the kernel does")
	})
}

func TestRaceSaysWhyItFailed(t *testing.T) {
	onRace(t, func(r *rig) {
		r.tuning.raceErr = attr.ErrGone
		r.press("R")
		assert.Contains(t, r.text(), attr.ErrGone.Error())
		assert.Contains(t, r.text(), "Nothing is kept.")
		r.tuning.race = twoCandidates()
		o := done(71, change.Plan{Changes: []change.Change{pinned(change.Target{TID: 3641}, attr.Planned)}})
		r.tuning.race.Found = &auto.Found{Result: r.tuning.race.Now, Kept: r.tuning.race.Candidates[0], Outcome: &o}
		r.press("1", "R")
		assert.NotContains(t, r.text(), "Nothing is kept.", "a part of it is")
		assert.Equal(t, []made{{entry: 71}}, r.m.changes.made, "z undoes that")
	})
}
