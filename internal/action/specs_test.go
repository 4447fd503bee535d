package action

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestNoKeyMeansTwoThings(t *testing.T) {
	for _, view := range append([]Context{Panel}, Views...) {
		bound := map[string]string{}
		for _, s := range Specs {
			if !s.Works(view) {
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
	for _, s := range Specs {
		assert.False(t, seen[s.ID], "%s is there twice", s.ID)
		seen[s.ID] = true
		assert.NotEmpty(t, s.Keys, s.ID)
		assert.NotEmpty(t, s.Label, s.ID)
		assert.NotEmpty(t, s.Help, s.ID)
		assert.Contains(t, Groups, s.Group, s.ID)
		assert.NotEmpty(t, s.In, s.ID)
		assert.LessOrEqual(t, len(strings.Fields(s.Short)), 2, s.ID)
		if strings.HasPrefix(s.Keys[0], "f") && len(s.Keys[0]) > 1 {
			assert.Greater(t, len(s.Keys), 1, "%s: an F-key needs a twin", s.ID)
			assert.NotEmpty(t, s.Short, "%s: the F-key bar needs a word", s.ID)
		}
	}
}

func TestWhy(t *testing.T) {
	for _, tt := range []struct {
		id    string
		state State
		want  string
	}{
		{"tune.pin", State{Selected: 1}, ""},
		{"tune.pin", State{}, "no process is selected"},
		{"tune.pin", State{Selected: 1, ReadOnly: true}, "reads another root"},
		{"tune.undo", State{}, "nothing to undo"},
		{"tune.undo", State{CanUndo: true}, ""},
		{"bench.cancel", State{}, "no benchmark is running"},
		{"bench.new", State{Benchmark: true}, "a benchmark is running"},
		{"app.quit", State{ReadOnly: true}, ""},
	} {
		s, ok := ByID(tt.id)
		if assert.True(t, ok, tt.id) {
			if tt.want == "" {
				assert.Empty(t, s.Why(tt.state), tt.id)
			} else {
				assert.Contains(t, s.Why(tt.state), tt.want)
			}
		}
	}
}

func TestForKey(t *testing.T) {
	s, ok := ForKey("1", Processes)
	assert.True(t, ok)
	assert.Equal(t, "find.pid", s.ID)
	s, ok = ForKey("1", Bench)
	assert.True(t, ok)
	assert.Equal(t, "view.number", s.ID)
	_, ok = ForKey("f11", Processes)
	assert.False(t, ok)
}
