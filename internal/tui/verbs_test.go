package tui

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"piton/internal/action"
	"piton/internal/tui/keymap"
)

func TestNoKeyMeansTwoThings(t *testing.T) {
	for _, view := range append([]action.Context{action.Panel, action.Threads}, action.Views...) {
		bound := map[string]string{}
		for _, s := range table() {
			if !slices.Contains(s.In, view) { // one of the view's own comes before one of all views
				continue
			}
			for _, key := range s.Keys {
				assert.Empty(t, bound[key], "%s in %s: %s and %s", key, view, bound[key], s.ID)
				bound[key] = s.ID
			}
		}
	}
}

func TestSpecsAreComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range table() {
		assert.False(t, seen[s.ID], "%s is there twice", s.ID)
		seen[s.ID] = true
		assert.NotNil(t, s.run, s.ID)
		assert.NotEmpty(t, s.Short, s.ID)
		assert.NotEmpty(t, s.Help, s.ID)
		for _, key := range s.Keys {
			assert.True(t, keymap.Valid(key), "%s: %s", s.ID, key)
		}
		assert.NotEmpty(t, s.Group, s.ID)
		assert.NotEmpty(t, s.In, s.ID)
		assert.LessOrEqual(t, len(strings.Fields(s.Short)), 2, s.ID)
		if len(s.Keys) > 0 && strings.HasPrefix(s.Keys[0], "f") && len(s.Keys[0]) > 1 {
			assert.Greater(t, len(s.Keys), 1, "%s: an F-key needs a twin", s.ID)
		}
	}
}

func TestWhy(t *testing.T) {
	for _, tt := range []struct {
		id    string
		state action.State
		want  string
	}{
		{"tune.pin", action.State{Selected: 1}, ""},
		{"tune.pin", action.State{}, "no process is selected"},
		{"tune.pin", action.State{Selected: 1, ReadOnly: true}, "reads another root"},
		{"tune.undo", action.State{}, "nothing to undo"},
		{"tune.undo", action.State{CanUndo: true}, ""},
		{"bench.cancel", action.State{}, "no benchmark is running"},
		{"bench.new", action.State{Benchmark: true}, "a benchmark is running"},
		{"app.quit", action.State{ReadOnly: true}, ""},
	} {
		if s := table().byID(tt.id); assert.NotNil(t, s, tt.id) {
			if tt.want == "" {
				assert.Empty(t, s.Why(tt.state), tt.id)
			} else {
				assert.Contains(t, s.Why(tt.state), tt.want)
			}
		}
	}
}

func TestForKey(t *testing.T) {
	assert.Equal(t, "view.processes", table().forKey("1", action.Processes).ID)
	assert.Equal(t, "panel.number", table().forKey("1", action.Panel).ID)
	assert.Equal(t, "journal.undo", table().forKey("z", action.Journal).ID)
	assert.Equal(t, "tune.undo", table().forKey("z", action.Cores).ID)
	assert.Nil(t, table().forKey("f11", action.Processes))
}

func TestLabels(t *testing.T) {
	for keys, want := range map[string]string{"f7 ]": "F7 ]", "ctrl+o": "^O", "0 1 2 3 4": "0-4", "home g": "Home g", "shift+tab": "⇧Tab",
		"up": "↑", "alt+1": "Alt-1", "space": "Space", "f6 < >": "F6 < >", "": ""} {
		assert.Equal(t, want, keymap.Label(strings.Fields(keys)))
	}
}

func TestOwnKeys(t *testing.T) {
	keys := map[string][]string{"tune.pin": {"x", "hyper+p"}, "tune.fly": {"y"}, "sort.nice": {"ctrl+n"}, "show.tree": {"a"}}
	assert.Equal(t, []string{
		`keys: show.tree: "a" is the key of tune.affinity already`,
		`keys: there is no action "tune.fly"; piton help keys lists them`,
		`keys: tune.pin: there is no key "hyper+p"`,
	}, slices.Sorted(slices.Values(CheckKeys(keys, nil))))
	own := (&Options{Saved: Saved{Keys: keys}}).verbs()
	assert.Equal(t, "tune.pin", own.forKey("x", action.Processes).ID)
	assert.Nil(t, own.forKey("p", action.Processes))
	assert.Equal(t, "sort.nice", own.forKey("ctrl+n", action.Processes).ID)
	assert.Equal(t, "p", table().byID("tune.pin").Label, "the table itself stays")
}
