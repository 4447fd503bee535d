package daemon

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/auto"
	"piton/internal/kernel"
	"piton/internal/rules"
)

// Search is part of Searcher: it ends when it is told to.
func (w *world) Search(ctx context.Context, d rules.Decision) Search {
	w.searchMu.Lock()
	w.searching = append(w.searching, d.PID)
	w.searchMu.Unlock()
	out := Search{Decision: d, State: auto.State{Found: &auto.Found{}}}
	select {
	case <-w.finish:
	case <-ctx.Done():
		out.Err = context.Cause(ctx)
	}
	return out
}

// searches are the processes whose searches began.
func (w *world) searches() []kernel.TID {
	w.searchMu.Lock()
	defer w.searchMu.Unlock()
	return slices.Clone(w.searching)
}

// exit ends a process.
func (w *world) exit(pid kernel.TID) kernel.ProcEvent {
	delete(w.tasks, pid)
	return kernel.ProcEvent{Kind: kernel.EventExit, PID: pid, StartNs: uint64(pid)*tickNs + 1, At: kernel.Monotonic()}
}

// later is a step in which time passes.
func later(d time.Duration) func(*world) { return func(*world) { time.Sleep(d) } }

const tryA = "version = 1\n[[rule]]\nname = 'a'\ncomm = 'a'\nplace = 'auto'\n[[rule]]\nname = 'b'\ncomm = 'b'\nnice = 1\n"

// TestSearches are one at a time, in order and after a while, and others get their rules
// meanwhile.
func TestSearches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, strings.Replace(tryA, "place = 'auto'", "place = 'auto'\nioprio = 'idle'", 1))
		finish := func(w *world) { w.finish <- struct{}{}; time.Sleep(time.Millisecond) }
		require.NoError(t, w.run(
			func(w *world) { w.tell(w.begin(5, "a"), w.begin(6, "a"), w.begin(7, "a")) },
			later(rules.SearchAfter-time.Second),
			func(w *world) { assert.Empty(t, w.searches()) },
			later(2*time.Second),
			later(time.Millisecond),
			func(w *world) { assert.Equal(t, []kernel.TID{5}, w.searches()) },
			func(w *world) {
				w.tell(w.begin(8, "b"), w.exit(6))
			},
			func(w *world) { assert.Equal(t, []string{"5 a", "6 a", "7 a", "8 b"}, w.done) },
			finish,
			later(time.Second),
			later(time.Millisecond),
			func(w *world) { assert.Equal(t, []kernel.TID{5, 7}, w.searches(), "6 has ended while it waited") },
			func(w *world) { w.tell(w.begin(5, "a")) }, // executes itself again
			finish,
			later(time.Minute),
			later(time.Minute),
		))
		assert.Equal(t, []kernel.TID{5, 7}, w.searches())
		assert.Equal(t, []string{"searched 5 <nil>", "searched 7 <nil>"}, w.notes)
	})
}

// TestSearchEnds is a search whose process ends, whose rule goes, and that of a daemon that
// ends: it is waited for.
func TestSearchEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, tryA)
		require.NoError(t, w.run(
			func(w *world) { w.tell(w.begin(5, "a")) }, later(rules.SearchAfter), later(time.Second),
			func(w *world) { w.tell(w.exit(5)) },
			later(time.Second),
			func(w *world) { w.tell(w.begin(6, "a"), w.begin(7, "b")) }, later(rules.SearchAfter), later(time.Second),
			func(w *world) { w.reload <- struct{}{} }, later(time.Second), // the same rules
			func(w *world) { w.file = one; w.reload <- struct{}{} }, later(time.Second), later(time.Second),
			func(w *world) { w.file = tryA; w.reload <- struct{}{} }, later(time.Second), later(rules.SearchAfter), later(time.Second),
			later(time.Millisecond),
		))
		assert.Equal(t, []kernel.TID{5, 6, 6}, w.searches())
		var notes []string
		for _, n := range w.notes {
			if !strings.HasPrefix(n, "reloaded") {
				notes = append(notes, n)
			}
		}
		assert.Equal(t, []string{"ended 5 ", "ended 6 ", "searched 6 " + errStopped.Error()}, notes)
		assert.Nil(t, w.d.searches.running)
	})
}

// TestNothingIsTried where no Searcher and no Follower is.
func TestNothingIsTried(t *testing.T) {
	for _, file := range []string{tryA, followA} {
		w := newWorld(t, file)
		w.d.o.Searcher, w.d.o.Follower = nil, nil
		require.NoError(t, w.run(func(w *world) { w.tell(w.begin(5, "a")) }))
		assert.Equal(t, []string{"planned 5 "}, w.notes)
	}
}
