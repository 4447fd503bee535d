package main

import (
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRunLanes(t *testing.T) {
	run := func(stage string) result { return result{stage: stage} }
	some := runLanes(func(stage string) bool { return stage == "lint" || stage == "race" }, run)
	assert.ElementsMatch(t, []result{{stage: "lint"}, {stage: "race"}}, some)

	all := runLanes(func(string) bool { return true }, run)
	assert.Len(t, all, 1+len(stages))
	assert.Equal(t, first, all[0].stage)

	failed := runLanes(func(string) bool { return true }, func(stage string) result { return result{stage: stage, err: errors.New("exit status 2")} })
	assert.Len(t, failed, 1, "nothing runs after a build that failed")
}

// TestStagesThatWait begin when the one has ended whose compiled tests they use.
func TestStagesThatWait(t *testing.T) {
	q := newQueue([]string{"quick", "ordinary", "long", "lint"})
	assert.Equal(t, "quick", q.next())
	assert.Equal(t, "lint", q.next())
	taken := make(chan string)
	go func() { taken <- q.next() }()
	q.ended(result{stage: "quick"})
	assert.Equal(t, "ordinary", <-taken)
	assert.Equal(t, "long", q.next())
	assert.Empty(t, q.next())
}

func TestSummarize(t *testing.T) {
	var out strings.Builder
	ok := summarize(&out, []result{
		{stage: "quick", took: 90 * time.Second},
		{stage: "race", took: 4 * time.Second, err: errors.New("exit status 2"), failed: []string{"--- FAIL: TestRace"}},
		{stage: "guests", took: time.Second, leftOut: []string{"guest guard: nothing that it is for has changed"}},
	}, 95*time.Second)
	assert.False(t, ok)
	assert.Equal(t, `
=== 95 s in all
quick   passed in 90 s
race    failed (exit status 2) after 4 s
guests  passed in 1 s
left out: guests: guest guard: nothing that it is for has changed
race: --- FAIL: TestRace
stages: 2 passed, 1 failed
`, out.String())
}

// TestFailures are what is said near each failure, once.
func TestFailures(t *testing.T) {
	noise := strings.Repeat("noise\n", 100)
	near := failures(noise + "said before\n--- FAIL: TestA\n--- FAIL: TestB\n    said after\n" + noise)
	assert.Len(t, near, 12+2+12)
	assert.Equal(t, 1, strings.Count(strings.Join(near, "\n"), "said before"))
	assert.Contains(t, near, "    said after")
	assert.Equal(t, []string{"make: no rule"}, failures("make: no rule\n"))
}

// TestStagesAreTargets holds the stages to the Makefile.
func TestStagesAreTargets(t *testing.T) {
	makefile, err := os.ReadFile("../../../Makefile")
	require.NoError(t, err)
	for _, stage := range append(stages, first) {
		assert.Regexp(t, regexp.MustCompile(`(?m)^`+stage+`:`), string(makefile))
	}
}
