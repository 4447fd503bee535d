package bench

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// past is a study of ten runs of about so many seconds.
func past(id string, day int, seconds float64) Results {
	r := Results{ID: id, Started: time.Date(2026, 11, day, 9, 0, 0, 0, time.UTC),
		Study:      Study{Workload: "nqueens", Args: []string{"-n", "12"}, Placements: []Placement{Normal}, Runs: 10},
		Conditions: Conditions{Host: "web-07", Kernel: "6.18.5", Governor: "performance", Load1: 0.2}}
	for i := range 10 {
		s := seconds * (1 + 0.001*float64(i))
		r.Runs = append(r.Runs, RunResult{Placement: Normal, Index: i, Seconds: s, Metric: s})
	}
	return r
}

func TestAgainstWarnsOfOtherConditions(t *testing.T) {
	then, now := past("a", 10, 1), past("b", 12, 1.2)
	e, ok := Against(now, then)
	require.True(t, ok)
	assert.True(t, e.Comparison.Different)
	assert.InDelta(t, 0.2, e.Comparison.Delta, 0.01)
	assert.Empty(t, e.Differences)
	assert.NotContains(t, e.Sentence(), "conditions")

	for name, change := range map[string]func(*Conditions){
		"kernel 6.19.0, then 6.18.5":           func(c *Conditions) { c.Kernel = "6.19.0" },
		"governor powersave, then performance": func(c *Conditions) { c.Governor = "powersave" },
		"load 9.0, then 0.2":                   func(c *Conditions) { c.Load1 = 9 },
		"steal 30 %, then 0 %":                 func(c *Conditions) { c.Steal = 0.3 },
	} {
		other := past("b", 12, 1.2)
		change(&other.Conditions)
		e, ok = Against(other, then)
		require.True(t, ok)
		assert.Equal(t, []string{name}, e.Differences)
		assert.Contains(t, e.Sentence(), "conditions differ: "+name)
	}
}

func TestConditionsThatAreNotKnownDoNotDiffer(t *testing.T) {
	assert.Empty(t, Conditions{Kernel: "6.1"}.Differences(Conditions{Governor: "performance"}))
	assert.Len(t, Conditions{}.List(), 12, fmt.Sprint(Conditions{}.List()))
}

func TestCompareAllComparesDifferentWork(t *testing.T) {
	slow, fast := past("a", 1, 1.2), past("b", 1, 1)
	fast.Study.Args = []string{"-n", "11"}
	cs := CompareAll([][2]Results{{slow, fast}, {fast, fast}, {fast, {}}})
	assert.True(t, cs[0].Better())
	assert.Greater(t, cs[0].PAdjusted, cs[0].P, "there were two tests")
	assert.False(t, cs[1].Different)
	assert.False(t, cs[2].Comparable)
}
