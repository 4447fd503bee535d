package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/bench"
)

func sampleResults(id string) bench.Results {
	started := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	return bench.Results{
		ID: id, Started: started,
		Study:      bench.Study{Workload: "nqueens", Args: []string{"-n", "8"}, Placements: []bench.Placement{"normal", "fifo:10"}, Runs: 10, Warmup: 1, Timeout: time.Minute},
		Conditions: bench.Conditions{Host: "web-07", Kernel: "6.18.5", Load1: 0.5},
		Runs: []bench.RunResult{
			{
				Workload: "nqueens", Placement: "normal", Index: 0, PID: 77, Started: started, Wall: 250 * time.Millisecond,
				User: 240 * time.Millisecond, System: time.Millisecond, Migrations: 12, MigrationSource: "sched", Voluntary: 3, Involuntary: 4,
				RunDelay: 5 * time.Millisecond, HaveRunDelay: true, StealShare: 0.02, HaveSteal: true, Others: 0.3, HaveOthers: true, Threads: 6, MinorFaults: 100, MajorFaults: 1, MaxRSSBytes: 1 << 23,
				Answer: "92", Metric: 0.24, Detail: json.RawMessage(`{"n":8}`), CPUs: "1", Reason: "asked for",
			},
			{Workload: "nqueens", Placement: "fifo:10", Index: 0, Started: started, MigrationSource: "none", Err: "not permitted", Touched: true, TouchedWhat: "nice 0 became 7 of thread 5"},
		},
	}
}

func keep(t *testing.T, s *Store, r bench.Results) {
	t.Helper()
	require.NoError(t, s.Begin(r))
	for _, run := range r.Runs {
		require.NoError(t, s.Add(r.ID, run))
	}
}

func TestStoreGivesBackWhatItWasGiven(t *testing.T) {
	s := New(filepath.Join(t.TempDir(), "state", "piton", "results.jsonl"))
	h, err := s.Read()
	require.NoError(t, err)
	assert.Empty(t, h.Studies, "no file yet is no error")
	one, two := sampleResults("one"), sampleResults("two")
	keep(t, s, one)
	keep(t, s, two)
	h, err = s.Read()
	require.NoError(t, err)
	assert.Empty(t, h.Notes)
	assert.Equal(t, []bench.Results{one, two}, h.Studies)
	earlier := h.Before(two)
	require.NotNil(t, earlier)
	assert.Equal(t, one.ID, earlier.Then.ID)
	two.Conditions.Host = "db-01"
	assert.Nil(t, h.Before(two))
}

func TestANilStoreKeepsNothing(t *testing.T) {
	var s *Store
	keep(t, s, sampleResults("x"))
	h, err := s.Read()
	require.NoError(t, err)
	assert.Empty(t, h.Studies)
}

func TestCorruptLinesAreSaidAndMovedAside(t *testing.T) {
	s := New(filepath.Join(t.TempDir(), "results.jsonl"))
	keep(t, s, sampleResults("one"))
	bad := "{\"type\":\"run\",\"study\":\n\x00\x1b[31m\n[1,2]\n{\"no\":\"type\"}\n{\"type\":\"run\",\"pid\":\"text\"}\n"
	newer := "{\"type\":\"heatmap\",\"of\":\"a newer piton\"}\n"
	appendText(t, s.Path(), bad+newer)
	keep(t, s, sampleResults("two"))

	h, err := s.Read()
	require.NoError(t, err)
	require.Len(t, h.Notes, 1)
	assert.Equal(t, fmt.Sprintf("5 lines of %s could not be read, moved to %s", s.Path(), s.CorruptPath()), h.Notes[0])
	assert.Equal(t, []bench.Results{sampleResults("one"), sampleResults("two")}, h.Studies)
	aside, err := os.ReadFile(s.CorruptPath())
	require.NoError(t, err)
	assert.Equal(t, bad, string(aside), "nothing is lost")
	left, err := os.ReadFile(s.Path())
	require.NoError(t, err)
	assert.Contains(t, string(left), newer, "lines of a newer piton stay")

	h, err = s.Read()
	require.NoError(t, err)
	assert.Empty(t, h.Notes, "said once")
	assert.Len(t, h.Studies, 2)
}

// TestLinesOfANewerVersionAreSkippedAndStay: what their names mean is not known here.
func TestLinesOfANewerVersionAreSkippedAndStay(t *testing.T) {
	s := New(filepath.Join(t.TempDir(), "results.jsonl"))
	keep(t, s, sampleResults("one"))
	require.NoError(t, s.Grid(bench.Grid{ID: "g"}))
	text, err := os.ReadFile(s.Path())
	require.NoError(t, err)
	assert.Equal(t, 4, strings.Count(string(text), `,"v":1,`), "in every line")
	newer := `{"type":"study","v":2,"study":"two","runs":{"at":"most"}}` + "\n" + `{"type":"run","v":2,"study":"one"}` + "\n" + `{"type":"grid","v":3,"grid":"h"}` + "\n"
	first := `{"type":"grid","grid":"old"}` + "\n" // without a version
	appendText(t, s.Path(), newer+first)

	want := fmt.Sprintf("3 lines of %s skipped: written by a newer piton, in a version of the format above 1", s.Path())
	h, err := s.Read()
	require.NoError(t, err)
	assert.Equal(t, []string{want}, h.Notes)
	assert.Equal(t, []bench.Results{sampleResults("one")}, h.Studies)
	require.Len(t, h.Grids, 2)
	assert.Equal(t, "old", h.Grids[1].ID)

	appendText(t, s.Path(), "garbage\n")
	h, err = s.Read()
	require.NoError(t, err)
	require.Len(t, h.Notes, 2)
	assert.Contains(t, h.Notes[0], "1 line of")
	assert.Equal(t, want, h.Notes[1])
	left, err := os.ReadFile(s.Path())
	require.NoError(t, err)
	assert.Equal(t, string(text)+newer+first, string(left), "for the newer piton")
}

func TestCorruptLinesThatCannotBeMovedStay(t *testing.T) {
	s := New(filepath.Join(t.TempDir(), "results.jsonl"))
	keep(t, s, sampleResults("one"))
	appendText(t, s.Path(), "garbage\n")
	require.NoError(t, os.Mkdir(s.CorruptPath(), 0o755))
	h, err := s.Read()
	require.NoError(t, err)
	require.Len(t, h.Notes, 1)
	assert.Contains(t, h.Notes[0], "1 line could not be read, left in")
	assert.Len(t, h.Studies, 1)
	content, err := os.ReadFile(s.Path())
	require.NoError(t, err)
	assert.Contains(t, string(content), "garbage")
}

func TestATornLineDoesNotSwallowTheNext(t *testing.T) {
	s := New(filepath.Join(t.TempDir(), "results.jsonl"))
	keep(t, s, sampleResults("one"))
	appendText(t, s.Path(), `{"type":"run","study":"on`)
	keep(t, s, sampleResults("two"))
	h, err := s.Read()
	require.NoError(t, err)
	assert.Len(t, h.Studies, 2)
	assert.Len(t, h.Notes, 1)
}

func TestRunsWhoseStudyLineIsLostAreKept(t *testing.T) {
	s := New(filepath.Join(t.TempDir(), "results.jsonl"))
	r := sampleResults("one")
	for _, run := range r.Runs {
		require.NoError(t, s.Add(r.ID, run))
	}
	h, err := s.Read()
	require.NoError(t, err)
	require.Len(t, h.Studies, 1)
	assert.Equal(t, r.Runs, h.Studies[0].Runs)
	assert.Equal(t, "nqueens", h.Studies[0].Study.Workload)
	assert.Equal(t, []bench.Placement{"normal", "fifo:10"}, h.Studies[0].Study.Placements)
}

func TestTwoWritersAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.jsonl")
	var wait sync.WaitGroup
	for w := range 4 {
		wait.Go(func() {
			s := New(path) // a Store each, as two processes have
			for i := range 25 {
				assert.NoError(t, s.Add(fmt.Sprint(w), bench.RunResult{Index: i, Reason: strings.Repeat("x", 5000)}))
			}
		})
	}
	wait.Wait()
	h, err := New(path).Read()
	require.NoError(t, err)
	assert.Empty(t, h.Notes)
	require.Len(t, h.Studies, 4)
	for _, s := range h.Studies {
		assert.Len(t, s.Runs, 25)
	}
}

func TestDefaultStorePath(t *testing.T) {
	env := func(kv ...string) func(string) string {
		return func(k string) string {
			for i := 0; i < len(kv); i += 2 {
				if kv[i] == k {
					return kv[i+1]
				}
			}
			return ""
		}
	}
	for _, tc := range []struct {
		env  func(string) string
		euid int
		want string
	}{
		{env("XDG_STATE_HOME", "/s", "HOME", "/h"), 0, "/s/piton/results.jsonl"},
		{env("XDG_STATE_HOME", "relative", "HOME", "/h"), 1000, "/h/.local/state/piton/results.jsonl"},
		{env("HOME", "/root"), 0, "/var/lib/piton/results.jsonl"},
		{env("HOME", "/h"), 1000, "/h/.local/state/piton/results.jsonl"},
	} {
		got, err := DefaultPath(tc.env, tc.euid)
		require.NoError(t, err)
		assert.Equal(t, tc.want, got)
	}
	_, err := DefaultPath(env(), 1000)
	assert.Error(t, err)
}

func FuzzParseHistory(f *testing.F) {
	f.Add([]byte("{\"type\":\"study\",\"study\":\"a\"}\n{\"type\":\"run\",\"study\":\"a\",\"work_s\":1}\n"))
	f.Add([]byte("x\n\n{\"type\":3}\n{}"))
	f.Fuzz(func(t *testing.T, content []byte) {
		studies, good, bad := sorted(t, content)
		again, goodAgain, badAgain := sorted(t, good)
		assert.Equal(t, studies, again, "the good lines alone give the same")
		assert.Equal(t, good, goodAgain)
		assert.Empty(t, badAgain)
		_, none, _ := sorted(t, bad)
		assert.Empty(t, none)
	})
}

// sorted reads a history, and returns its good and its bad lines.
func sorted(t *testing.T, content []byte) (past History, good, bad []byte) {
	t.Helper()
	past, _, err := readHistory(bytes.NewReader(content), func(line []byte, ok bool) error {
		if ok {
			good = append(good, line...)
		} else {
			bad = append(bad, line...)
		}
		return nil
	})
	require.NoError(t, err)
	return past, good, bad
}

// TestHistoryIsBounded has a line without end, and more records than anybody has.
func TestHistoryIsBounded(t *testing.T) {
	s := New(filepath.Join(t.TempDir(), "piton", "results.jsonl"))
	keep(t, s, sampleResults("one"))
	long := strings.Repeat("x", 2*maxRecord+100) + "\n"
	appendText(t, s.Path(), long)
	keep(t, s, sampleResults("two"))
	h, err := s.Read()
	require.NoError(t, err)
	assert.Len(t, h.Studies, 2)
	require.Len(t, h.Notes, 1)
	assert.Contains(t, h.Notes[0], "1 line of")
	aside, err := os.ReadFile(s.CorruptPath())
	require.NoError(t, err)
	assert.True(t, long == string(aside), "the whole line is kept")

	many := strings.NewReader(strings.Repeat("{\"type\":\"x\"}\n", maxRecords+1))
	_, _, err = readHistory(many, ignore)
	assert.ErrorContains(t, err, "more than 200000 records")
}

// TestOthersResultsAreNotFollowed: results.jsonl that leads elsewhere.
func TestOthersResultsAreNotFollowed(t *testing.T) {
	dir := t.TempDir()
	other := filepath.Join(dir, "other")
	require.NoError(t, os.WriteFile(other, []byte("theirs"), 0o600))
	path := filepath.Join(dir, "results.jsonl")
	require.NoError(t, os.Symlink(other, path))
	s := New(path)
	_, err := s.Read()
	require.ErrorContains(t, err, "symbolic link")
	require.ErrorContains(t, s.Begin(sampleResults("one")), "symbolic link")
	text, err := os.ReadFile(other)
	require.NoError(t, err)
	assert.Equal(t, "theirs", string(text))
}

func appendText(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteString(text)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}
