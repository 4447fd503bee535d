package daemon

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/kernel"
	"piton/internal/kernel/kerneltest"
	"piton/internal/rules"
)

// Again is part of Applier: w.changed are those that somebody has changed.
func (w *world) Again(_ context.Context, held []Effect) (effects []Effect, err error) {
	for _, e := range held {
		w.looked = append(w.looked, time.Since(w.d.start).Round(time.Second))
		if w.changed[e.PID] {
			effects = append(effects, Effect{Decision: e.Decision, Comm: "a", Status: Done})
		}
	}
	return effects, nil
}

const reapplied = "version = 1\n[[rule]]\nname = 'a'\ncomm = 'a'\nioprio = 'idle'\nreapply = true\n[[rule]]\nname = 'b'\ncomm = 'b'\nnice = 1\n"

// TestReapply is that a process is looked at again, less often the more often somebody changes it,
// and that this is said.
func TestReapply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, reapplied)
		w.changed = map[kernel.TID]bool{5: true}
		script := []func(*world){func(w *world) { w.tell(w.begin(5, "a"), w.begin(6, "b")) }}
		for range 40 { // seconds
			script = append(script, later(time.Second))
		}
		script = append(script, func(w *world) { w.changed = nil })
		for range 30 {
			script = append(script, later(time.Second))
		}
		script = append(script, func(w *world) { w.looked = nil; w.tell(kernel.ProcEvent{Kind: kernel.EventExit, PID: 5}) }, later(time.Second), later(time.Second))
		require.NoError(t, w.run(script...))
		assert.Empty(t, w.looked, "it has ended")
		assert.Equal(t, []string{
			`trouble: rule "a": others keep changing what it set of process 5: set again 3 times in a row, next look in 8s; piton watch --changes 5 says who`,
			`trouble: rule "a": others keep changing what it set of process 5: set again 4 times in a row, next look in 16s; piton watch --changes 5 says who`,
			`trouble: rule "a": others keep changing what it set of process 5: set again 5 times in a row, next look in 32s; piton watch --changes 5 says who`,
		}, w.notes)
	})
}

// TestAgain is that what others have changed is set again, and what another piton has changed or
// undone is not.
func TestAgain(t *testing.T) {
	c, j := changer(t, nil)
	set, err := rules.Parse([]byte(reapplied))
	require.NoError(t, err)
	pid := sleeper(t)
	effects, _, _ := c.Apply(context.Background(), []rules.Decision{decision(t, pid, set.Rules[0])})
	require.Equal(t, Done, effects[0].Status)
	again := func() []Effect {
		t.Helper()
		out, passing := c.Again(context.Background(), effects)
		require.NoError(t, passing)
		return out
	}
	value := func() string {
		now, err := c.Tuner.Value(attr.IOPrio, pid)
		require.NoError(t, err)
		return attr.Text(now)
	}
	assert.Empty(t, again(), "it has it")
	require.NoError(t, kerneltest.Of(t, pid, pid).SetIOPrio(kernel.IOPrio{Class: kernel.IOBestEffort, Level: 7}))
	out := again()
	require.Len(t, out, 1)
	assert.Equal(t, Done, out[0].Status)
	assert.Equal(t, "idle", value())
	entries, _, err := j.Entries()
	require.NoError(t, err)
	require.Len(t, entries, 2)
	assert.Equal(t, `rule "a"`, entries[1].Reason)

	hand := change.Request{Targets: []change.Target{{TID: pid, StartTicks: effects[0].StartTicks}},
		Set: []attr.Setting{attr.SetIOPrio(kernel.IOPrio{Class: kernel.IOBestEffort, Level: 3})}}
	plan, err := c.Tuner.Plan(context.Background(), []change.Request{hand})
	require.NoError(t, err)
	_, err = c.Tuner.Apply(context.Background(), plan, change.Confirmation{})
	require.NoError(t, err)
	assert.Empty(t, again(), "another piton has changed it")
	assert.Equal(t, "best-effort:3", value())
}

func TestRulesThatReapplyNothing(t *testing.T) {
	_, err := rules.Parse([]byte(strings.Replace(reapplied, "ioprio = 'idle'", "follow = 'current'", 1)))
	assert.ErrorContains(t, err, `rule "a" sets nothing that could be reapplied`)
}
