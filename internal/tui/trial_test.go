package tui

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/tune"
)

// fakeGuard counts what a guard is told.
type fakeGuard struct {
	armed                   []time.Duration
	kept, dismissed, leaved int
	err                     error // of arming
	keepErr                 error
}

func (f *fakeGuard) Keep() error     { f.kept++; return f.keepErr }
func (f *fakeGuard) Dismiss() error  { f.dismissed++; return nil }
func (f *fakeGuard) Leave()          { f.leaved++ }
func (f *fakeGuard) Words() []string { return []string{"Process 4711 takes it back."} }

// onTrial runs a test in which FIFO for nqueens is dangerous.
func onTrial(t *testing.T, f func(r *rig, g *fakeGuard)) {
	g := &fakeGuard{}
	var tuning *fakeTuning
	onSmall(t, func(r *rig) {
		r.tuning.canUndo = true
		r.tuning.trial = "nqueens is busy all the time"
		r.tuning.warnings = []string{r.tuning.trial}
		tuning = r.tuning
		f(r, g)
	}, func(d *Deps) {
		d.Guard = func(ctx context.Context, p tune.Plan, after time.Duration) (tune.Result, Trial, error) {
			g.armed = append(g.armed, after)
			if g.err != nil {
				return tune.Result{}, nil, g.err
			}
			result, err := tuning.Apply(ctx, p)
			return result, g, err
		}
	})
}

func TestTrialIsUnderGuard(t *testing.T) {
	onTrial(t, func(r *rig, g *fakeGuard) {
		r.press("p")
		require.Equal(t, []time.Duration{guardTime}, g.armed)
		assert.Greater(t, guardTime, trialTime, "the screen has the first word")
		assert.Contains(t, r.text(), "Process 4711 takes it back.")
		r.wait(time.Second)
		r.press("y")
		assert.Equal(t, 1, g.kept)
		assert.Contains(t, r.text(), "kept: ")
		r.wait(20 * time.Second)
		assert.Len(t, r.tuning.applied, 1)
		assert.Zero(t, g.dismissed)
	})
}

func TestTrialWithoutAnAnswerEndsItsGuard(t *testing.T) {
	onTrial(t, func(r *rig, g *fakeGuard) {
		r.press("p")
		r.wait(20 * time.Second)
		assert.Len(t, r.tuning.applied, 2, "taken back by the screen")
		assert.Equal(t, 1, g.dismissed)
		assert.Zero(t, g.kept)
	})
}

func TestTrialWhoseGuardWasFaster(t *testing.T) {
	onTrial(t, func(r *rig, g *fakeGuard) {
		r.press("p")
		r.tuning.backAlready = true
		r.wait(20 * time.Second)
		assert.Len(t, r.tuning.applied, 1)
		assert.Contains(t, r.text(), "it has been taken back already")
		assert.Equal(t, 1, g.dismissed)
	})
	onTrial(t, func(r *rig, g *fakeGuard) {
		g.keepErr = errors.New("too late")
		r.press("p")
		r.wait(time.Second)
		r.press("y")
		assert.Contains(t, r.text(), "not kept: too late")
	})
}

func TestTrialWithoutGuardIsNotBegun(t *testing.T) {
	onTrial(t, func(r *rig, g *fakeGuard) {
		g.err = errors.New("nothing was changed, because the guard could not be started")
		r.press("p")
		assert.Empty(t, r.tuning.applied)
		assert.Contains(t, r.text(), "could not be started")
		assert.NotContains(t, r.text(), "Keep it?")
	})
}

func TestTrialAtTheEndOfTheProgram(t *testing.T) {
	onTrial(t, func(r *rig, g *fakeGuard) {
		r.press("p")
		require.NoError(t, r.m.endTrial())
		assert.Len(t, r.tuning.applied, 2)
		assert.Equal(t, 1, g.dismissed)
		require.NoError(t, r.m.endTrial())
		assert.Equal(t, 1, g.dismissed)
	})
}

// TestTakingBackAsksNobody has two targets, which a plan would be asked about.
func TestTakingBackAsksNobody(t *testing.T) {
	onTrial(t, func(r *rig, g *fakeGuard) {
		r.press("space", "space", "p")
		r.wait(time.Second)
		r.press("y") // apply
		require.Len(t, g.armed, 1)
		r.wait(20 * time.Second)
		assert.Len(t, r.tuning.applied, 2)
		assert.Equal(t, 1, g.dismissed)
	})
}

// TestTrialThatDrifted: the guard of what was left alone goes on.
func TestTrialThatDrifted(t *testing.T) {
	for _, all := range []bool{false, true} {
		onTrial(t, func(r *rig, g *fakeGuard) {
			r.press("p")
			r.tuning.drifted, r.tuning.allDrifted = true, all
			r.wait(20 * time.Second)
			assert.Contains(t, r.text(), "somebody else has changed it since")
			assert.NotContains(t, r.text(), "taken back already")
			assert.Zero(t, g.dismissed)
			assert.Equal(t, 1, g.leaved)
		})
	}
	onTrial(t, func(r *rig, g *fakeGuard) {
		r.press("p")
		r.tuning.drifted = true
		require.NoError(t, r.m.endTrial())
		assert.Zero(t, g.dismissed)
		assert.Equal(t, 1, g.leaved)
	})
}

// begin puts a change of its own guard on trial, as one that was on its way when
// another was asked about.
func (r *rig) begin(entry uint64) *fakeGuard {
	g := &fakeGuard{}
	c := tune.Change{PID: 3641, TID: 3641, Comm: "nqueens", Attribute: tune.Affinity, Before: "0-7", After: "5", Status: tune.Done}
	r.send(applied{planned: planned{job: job{what: "pin"}, plan: tune.Plan{Trial: "it is busy"}},
		result: tune.Result{Entry: entry, Changes: []tune.Change{c}}, guard: g})
	return g
}

func TestTwoTrials(t *testing.T) {
	onSmall(t, func(r *rig) {
		r.tuning.canUndo = true
		older, newer := r.begin(1), r.begin(2)
		r.wait(time.Second)
		r.press("y")
		assert.Equal(t, 1, newer.kept)
		r.wait(20 * time.Second)
		assert.Zero(t, older.kept)
		assert.Equal(t, 1, older.dismissed)
		assert.Equal(t, []uint64{1}, r.tuning.applied[0].Undoes)
	})
	onSmall(t, func(r *rig) {
		r.tuning.canUndo = true
		guards := []*fakeGuard{r.begin(1), r.begin(2)}
		require.NoError(t, r.m.endTrial())
		assert.Equal(t, []uint64{1, 2}, r.tuning.applied[0].Undoes)
		for _, g := range guards {
			assert.Equal(t, 1, g.dismissed)
		}
	})
}
