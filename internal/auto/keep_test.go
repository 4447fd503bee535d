package auto

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/change"
	"piton/internal/change/changetest"
	"piton/internal/change/history"
	"piton/internal/cpuset"
	"piton/internal/search"
)

// standing is a guard that never has to act.
type standing struct{ change.Guard }

func (s standing) Arm(time.Duration) (change.Guard, error) { return s, nil }
func (standing) Undone(e []uint64) ([]uint64, error)       { return e, nil }
func (standing) List() ([]history.GuardState, error)       { return nil, nil }
func (standing) Tell([]byte) error                         { return nil }
func (standing) Stands() error                             { return nil }
func (standing) Dismiss() error                            { return nil }

// cut is a search of process 10 that is ended for a cause after its third period.
func cut(t *testing.T, cause error) (*changetest.Machine, []change.Entry, Found, error) {
	t.Helper()
	m := changetest.New(t)
	m.Spawn(10, 10)
	tuner := m.Tuner(change.Options{Journal: changetest.Journal(t), Guards: standing{}})
	j := &Job{Tuner: tuner, Targets: []change.Target{{TID: 10}}, Metric: NewMetric("steps", "/s", Grown(func() (float64, error) { return 1000, nil }))}
	for i, name := range []string{Kernel, "one", "two"} {
		c := Candidate{Name: name, Reason: "for the test"}
		c.Give(10, cpuset.Of(cpuset.CPU(i)))
		j.Candidates = append(j.Candidates, c)
	}
	ctx, end := context.WithCancelCause(t.Context())
	found, err := j.Run(ctx, func(e search.Event) {
		if e.Kind == search.Measured && e.Now.Periods == 3 {
			end(cause)
		}
	})
	entries, _, readErr := tuner.Entries()
	require.NoError(t, readErr)
	return m, entries, found, err
}

func TestKeptByHand(t *testing.T) {
	m, entries, found, err := cut(t, KeepNow{2})
	require.NoError(t, err)
	assert.Equal(t, "2", m.Task(10).Affinity.String())
	assert.Equal(t, "two", found.Kept.Name)
	assert.True(t, found.ByHand)
	assert.Equal(t, "two kept by hand after 3 periods", found.Reason)
	assert.Equal(t, search.Kept, found.Candidates[2].State)
	require.Len(t, entries, 2, "the trial, and what is kept")
	assert.Equal(t, entries[1].ID, found.Outcome.Entry)
	assert.Equal(t, "auto: two was kept by hand after 3 periods, not proved: not measured against the kernel's choice; for the test", entries[1].Reason)
	assert.Contains(t, found.Sentence(nil, "steps"), "Kept by hand, not proved: two, CPUs 2: not measured, after 3 periods")
}

func TestCutOff(t *testing.T) {
	stop := errors.New("the user has left")
	m, entries, found, err := cut(t, stop)
	assert.ErrorIs(t, err, stop)
	assert.Equal(t, "0-3", m.Task(10).Affinity.String())
	assert.Equal(t, Kernel, found.Kept.Name)
	assert.False(t, found.ByHand)
	assert.Len(t, entries, 1)
}

func TestAgainst(t *testing.T) {
	r := search.Result{Candidates: make([]search.Candidate, 3), Effect: 1.2, Low: 1.1, High: 1.3, HaveInterval: true}
	_, known := Against(&r, 1)
	assert.False(t, known, "no period")
	r.Candidates[0].Rates, r.Candidates[1].Rates, r.Candidates[2].Rates = []float64{100}, []float64{110}, []float64{120}
	r.Candidates[1].Level, r.Candidates[1].Error = 0, 0.1
	e, _ := Against(&r, 1)
	assert.Equal(t, "+0.0 % (-17.8 to +21.7)", e.String(), "all periods, beside their error")
	r.Finalist = 1
	e, _ = Against(&r, 1)
	assert.Equal(t, "+20.0 % (+10.0 to +30.0)", e.String(), "fresh pairs")
	_, known = Against(&r, 3)
	assert.False(t, known)
}
