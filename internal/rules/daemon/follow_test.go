package daemon

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/action"
	"piton/internal/change"
	"piton/internal/rules"
)

// Follow is part of Follower: it steers until it is told to end.
func (w *world) Follow(ctx context.Context, r *rules.Rule, now func() []change.Target, tell func(Steered)) Steered {
	w.searchMu.Lock()
	w.steering = append(w.steering, fmt.Sprint(r.Name, pidsOf(now())))
	quiet := w.quiet > 0
	w.quiet--
	w.searchMu.Unlock()
	out := Steered{Rule: r, Event: LeftAlone, PIDs: pidsOf(now())}
	if quiet {
		return out
	}
	out.Way, out.Event = action.WayRFS, Steers
	tell(out)
	<-ctx.Done()
	out.PIDs = pidsOf(now())
	if out.Event = Over; !errors.Is(context.Cause(ctx), errLeft) {
		out.Err = context.Cause(ctx)
	}
	return out
}

const followA = "version = 1\n[[rule]]\nname = 'a'\ncomm = 'a'\nfollow = 'current'\n[[rule]]\nname = 'b'\ncomm = 'b'\nfollow = 'apart'\nnice = 1\n"

// TestPacketsFollow is one steering of each rule, of the processes that it has, until the last
// of them ends; where there is nothing to steer it is looked again, later each time.
func TestPacketsFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, followA)
		w.quiet = 2
		tick := func(w *world) { time.Sleep(100 * time.Millisecond) }
		seconds := func(n int) (steps []func(*world)) {
			for range 10 * n {
				steps = append(steps, tick)
			}
			return steps
		}
		script := []func(*world){func(w *world) { w.tell(w.begin(5, "a"), w.begin(6, "a")) }}
		script = append(script, seconds(2)...) // looks after 1, 2 and 4 s
		script = append(script, func(w *world) { w.tell(w.exit(5)) })
		script = append(script, seconds(4)...)
		script = append(script, func(w *world) {
			assert.Equal(t, []string{"a[5 6]", "a[5 6]", "a[6]"}, w.steering)
			w.tell(w.begin(7, "b"), w.begin(8, "a"))
		})
		script = append(script, seconds(3)...)
		script = append(script, func(w *world) { w.tell(w.exit(6), w.exit(8)) })
		script = append(script, seconds(3)...)
		require.NoError(t, w.run(script...))
		assert.Equal(t, []string{"a[5 6]", "a[5 6]", "a[6]", "b[7]"}, w.steering, "8 joined")
		assert.Equal(t, []string{"7 b"}, w.done, "what else the rule sets")
		assert.Equal(t, []string{"left-alone current 2 <nil>", "steered current 1 <nil>", "steered apart 1 <nil>", "over current 0 <nil>",
			"over apart 1 " + errStopped.Error()}, w.notes)
		assert.Empty(t, w.d.follows.of[0].said)
	})
}

// TestEndBeforeItSteers is no news: nothing was reported.
func TestEndBeforeItSteers(t *testing.T) {
	w := newWorld(t, followA)
	f := &following{rule: w.d.set.Rules[0], end: func(error) {}}
	for _, s := range []Steered{{Event: Over}, {Event: LeftAlone, Err: context.Canceled}} {
		s.Rule = f.rule
		w.d.steered(f, s)
	}
	assert.Empty(t, w.notes)
	w.d.steered(f, Steered{Rule: f.rule, Event: LeftAlone, Err: errors.New("no guard")})
	assert.Equal(t, []string{"left-alone current 0 no guard"}, w.notes)
}

// TestFollowingEnds with its rule, and is kept by a reload that keeps the rule.
func TestFollowingEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, followA)
		reload := func(text string) func(*world) {
			return func(w *world) { w.file = text; w.reload <- struct{}{} }
		}
		require.NoError(t, w.run(
			func(w *world) { w.tell(w.begin(5, "a")) },
			later(2*time.Second), later(time.Second), later(time.Second),
			reload(strings.Replace(followA, "name = 'b'", "name = 'c'", 1)), later(2*time.Second), later(2*time.Second),
			reload(one), later(2*time.Second), later(2*time.Second), later(2*time.Second),
		))
		assert.Equal(t, []string{"a[5]"}, w.steering)
		assert.Equal(t, []string{"steered current 1 <nil>", "reloaded: 2 rules are in force", "reloaded: 1 rules are in force", "over current 0 <nil>"}, w.notes)
		assert.Empty(t, w.d.follows.of)
	})
}
