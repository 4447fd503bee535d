package daemon

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"piton/internal/action"
	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/change/changetest"
	"piton/internal/change/journal"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/model"
	"piton/internal/rules"
)

// Back is part of Applier.
func (w *world) Back(_ context.Context, applied []rules.Decision, back cpuset.Set) ([]Effect, error) {
	if w.busy > 0 {
		w.busy--
		return nil, w.passing
	}
	for _, d := range applied {
		w.back = append(w.back, fmt.Sprintf("%d %s %s", d.PID, d.Rule.Name, back))
	}
	return nil, nil
}

// TestCPUsThatComeBack is that processes which have their rule are looked at when a CPU comes
// online, and not when one goes.
func TestCPUsThatComeBack(t *testing.T) {
	w := newWorld(t, one)
	w.online = cpuset.Of(0, 1)
	look := func(online ...cpuset.CPU) func(*world) {
		return func(w *world) {
			w.online = cpuset.Of(online...)
			time.Sleep(lookEvery)
		}
	}
	assert.NoError(t, w.run(
		func(w *world) { w.tell(w.begin(10, "a"), w.begin(11, "b"), w.begin(12, "a")) },
		look(0), look(0), look(0, 1),
		func(w *world) { w.busy, w.passing = 1, journal.ErrBusy }, // tried again
		look(0, 1),
	))
	assert.Equal(t, []string{"10 a 1", "12 a 1"}, w.back)
}

// settings are wants of one setting, whatever the rule.
type settings struct{ set []attr.Setting }

func (s settings) Tuning(r *rules.Rule) (action.Tuning, error) {
	return action.Tuning{Set: s.set, Reason: r.Title()}, nil
}

func (settings) Load() (*model.Model, error) { return nil, nil }

// TestChangerGivesCPUsBack is what becomes of processes with a rule for CPUs 2 and 3 that were
// offline.
func TestChangerGivesCPUsBack(t *testing.T) {
	m, j := changetest.New(t), changetest.Journal(t)
	a, _ := twoRules(t)
	c := &Changer{Tuner: m.Tuner(change.Options{Journal: j, Daemon: true}), Wants: settings{[]attr.Setting{attr.SetAffinity(cpuset.Of(2, 3)), attr.SetNice(5)}}}
	spinner, sleeper, others, undone, late, cut := kernel.TID(10), kernel.TID(20), kernel.TID(30), kernel.TID(40), kernel.TID(50), kernel.TID(60)
	var all []rules.Decision
	for _, pid := range []kernel.TID{spinner, sleeper, others, undone, late, cut} {
		m.Spawn(pid, pid)
		all = append(all, rules.Decision{ID: rules.ID{PID: pid}, StartTicks: 1000 + uint64(pid), Rule: a})
	}
	m.Spawn(spinner, spinner+1)
	for _, tid := range []kernel.TID{spinner, undone, others} {
		m.Tasks[tid].State = 'R'
	}
	for i, d := range all[:4] {
		effects, _, _ := c.Apply(t.Context(), []rules.Decision{d})
		assert.Equal(t, Done, effects[0].Status, i)
	}
	changetest.Apply(t, c.Tuner, changetest.Pin(change.ScopeProcess, cpuset.Of(3), others))
	m.SetOnline(cpuset.Of(0, 1))
	changetest.Undo(t, c.Tuner, change.UndoRequest{IDs: []uint64{4}})
	m.Tasks[cut].Affinity = cpuset.Of(2)                                   // as Linux 6.1 leaves of 2-3
	changetest.Apply(t, c.Tuner, changetest.One(attr.SetNice(1), spinner)) // by hand
	effects, _, _ := c.Apply(t.Context(), all[4:5])
	assert.Equal(t, Failed, effects[0].Status, "no CPU is online")

	m.SetOnline(cpuset.Of(0, 1, 2, 3))
	effects, passing := c.Back(t.Context(), all, cpuset.Of(3))
	assert.NoError(t, passing)
	slices.SortFunc(effects, func(a, b Effect) int { return int(a.PID - b.PID) })
	var got []string
	for _, d := range effects {
		got = append(got, fmt.Sprint(d.PID, d.Status, changetest.Brief(d.Changes)))
	}
	assert.Equal(t, []string{"10done[affinity 0-3 to 2-3: done]", "50done[affinity 0-3 to 2-3: done]", "60done[affinity 2 to 2-3: done]"}, got)
	want := map[kernel.TID]string{spinner: "2-3", spinner + 1: "2-3", sleeper: "2-3", others: "0-3", undone: "0-3", late: "2-3", cut: "2-3"}
	for tid, mask := range want {
		assert.Equal(t, mask, m.Task(tid).Affinity.String(), tid)
	}
	assert.Equal(t, 1, m.Task(spinner).Attr.Nice, "what the user has set stays")
	again, _ := c.Back(t.Context(), all, cpuset.Of(3))
	assert.Empty(t, again)
}
