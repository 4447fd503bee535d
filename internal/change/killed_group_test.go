package change_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/change/changetest"
	"piton/internal/change/journal"
)

// TestUndoOfAGroupAfterAKill: what takes the kernel several writes is mended by an undo, also where
// an undo was killed in the middle of them; the same that somebody else sets is left alone.
func TestUndoOfAGroupAfterAKill(t *testing.T) {
	for _, v := range []struct {
		a              attr.Attribute
		first, second  string
		halfway, other string // what a cut off change leaves, as somebody else may set it, and something else
	}{
		{attr.Weight, "200", "idle", "100", "101"},
		{attr.Weight, "idle", "200", "100", "101"},
		{attr.Quota, "50% burst 30ms", "10% burst 5ms", "50% burst 5ms", "11%"},
		{attr.Quota, "none burst 5ms", "20% burst 20ms", "none burst 20ms", "21%"},
	} {
		for _, unified := range []bool{true, false} {
			for n := range 4 { // 2 in the change, 2 in its undo
				name := fmt.Sprintf("%s %s to %s, killed at write %d", v.a, v.first, v.second, n)
				m := changetest.New(t)
				m.Spawn(10, 10)
				m.Group("/web", unified, 10)
				o := change.Options{Journal: journal.New(&journal.Memory{}, journal.Where{Boot: "this"})}
				tuner := m.Tuner(o)
				ask := func(text string) change.Plan {
					value, err := v.a.Parse(text)
					require.NoError(t, err)
					return plan(t, tuner, changetest.One(attr.Setting{Attribute: v.a, Value: value}, 10))
				}
				original := m.Settings.All()
				applyPlan(t, tuner, ask(v.first))
				first := m.Settings.All()
				writer := &mortal{Writer: m.Fake, SettingsWriter: m.Settings, left: n}
				dying := o
				dying.Sources, dying.Writer, dying.FileWriter = m.Sources(), writer, writer
				mortals := change.New(dying)
				dead := dies(t, mortals, ask(v.second))
				if !dead {
					dead = undoDies(t, mortals)
				}
				if !dead { // a change of one write
					assert.Equal(t, first, m.Settings.All(), name)
					continue
				}
				outcome := undo(t, tuner, change.UndoRequest{All: true})
				assert.Equal(t, original, m.Settings.All(), "%s\n%v", name, brief(outcome.Changes))
				assert.Equal(t, change.AllDone, outcome.Verdict(), name)
			}
			for _, foreign := range []string{v.halfway, v.other} {
				m := changetest.New(t)
				m.Spawn(10, 10)
				m.Group("/web", unified, 10)
				tuner := m.Tuner(change.Options{Journal: journal.New(&journal.Memory{}, journal.Where{Boot: "this"})})
				by := []*change.Tuner{tuner, tuner, m.Tuner(change.Options{})}
				for i, text := range []string{v.first, v.second, foreign} {
					value, err := v.a.Parse(text)
					require.NoError(t, err)
					apply(t, by[i], changetest.One(attr.Setting{Attribute: v.a, Value: value}, 10))
				}
				out := undo(t, tuner, change.UndoRequest{Last: 1})
				require.Len(t, out.Changes, 1)
				assert.Equal(t, attr.Refused, out.Changes[0].Status, "%v", v)
			}
		}
	}
}

// undoDies reports whether a mortal piton was killed while it undid the last change.
func undoDies(t *testing.T, tuner *change.Tuner) (dead bool) {
	defer func() { dead = recover() == killed{} }()
	undo(t, tuner, change.UndoRequest{Last: 1})
	return false
}
