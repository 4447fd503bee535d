package tune

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/kernel/kerneltest"
)

func openJournal(t *testing.T) *Journal {
	t.Helper()
	j, err := OpenJournal(filepath.Join(t.TempDir(), "state/piton/journal"))
	require.NoError(t, err)
	return j
}

func entriesOf(t *testing.T, j *Journal) []Entry {
	t.Helper()
	entries, damage, err := j.Entries()
	require.NoError(t, err)
	require.Empty(t, damage)
	return entries
}

func TestJournalPath(t *testing.T) {
	env := func(pairs ...string) func(string) string {
		return func(name string) string {
			for i := 0; i < len(pairs); i += 2 {
				if pairs[i] == name {
					return pairs[i+1]
				}
			}
			return ""
		}
	}
	assert.Equal(t, "/var/lib/piton/journal", JournalPath(env("HOME", "/root"), 0))
	assert.Equal(t, "/home/b/.local/state/piton/journal", JournalPath(env("HOME", "/home/b"), 1000))
	assert.Equal(t, "/s/piton/journal", JournalPath(env("HOME", "/home/b", "XDG_STATE_HOME", "/s"), 1000))
	assert.Equal(t, "/s/piton/journal", JournalPath(env("XDG_STATE_HOME", "/s"), 0))
	assert.Equal(t, "/var/lib/piton/journal", JournalPath(env("XDG_STATE_HOME", "relative"), 0), "the specification ignores these")
}

func TestJournalIsWrittenBeforeTheChange(t *testing.T) {
	m := newMachine(t)
	m.spawn(10, 10)
	j := openJournal(t)
	var before []Entry
	m.Before("SetAffinity", 10, func() { before = entriesOf(t, j) })
	request := pin(ScopeProcess, cpuset.Of(1), 10)
	request[0].Reason = "least-loaded: cpu 1, 0% busy"
	result := apply(t, m.tuner(Options{Journal: j, User: "balu (sudo)", Command: "piton pin 10"}), request)

	require.Len(t, before, 1)
	assert.False(t, before[0].Finished)
	assert.Equal(t, []string{"affinity 0-3 to 1: planned"}, outcome(before[0].Changes))
	after := entriesOf(t, j)
	require.Len(t, after, 1)
	e := after[0]
	assert.Equal(t, result.Entry, e.ID)
	assert.True(t, e.Finished)
	assert.False(t, e.PastBoot)
	assert.Equal(t, "balu (sudo)", e.User)
	assert.Equal(t, "piton pin 10", e.Command)
	assert.Equal(t, "least-loaded: cpu 1, 0% busy", e.Reason)
	assert.Equal(t, []Target{{TID: 10, StartTicks: 1010}}, e.Targets)
	assert.Equal(t, []string{"affinity 0-3 to 1: done"}, outcome(e.Changes))
	assert.Equal(t, uint64(1010), e.Changes[0].StartTicks)
}

func TestJournalKeepsEveryReason(t *testing.T) {
	m := newMachine(t)
	var requests []Request
	for i, reason := range []string{"one", "two", "one", ""} {
		tid := kernel.TID(10 + i)
		m.spawn(tid, tid)
		r := pin(ScopeProcess, cpuset.Of(1), tid)[0]
		r.Reason = reason
		requests = append(requests, r)
	}
	j := openJournal(t)
	apply(t, m.tuner(Options{Journal: j}), requests)
	assert.Equal(t, "one; two", entriesOf(t, j)[0].Reason)
}

func TestNothingIsChangedWithoutItsRecord(t *testing.T) {
	m := newMachine(t)
	m.spawn(10, 10)
	j := openJournal(t)
	tuner := m.tuner(Options{Journal: j})
	plan, err := tuner.Plan(context.Background(), pin(ScopeProcess, cpuset.Of(1), 10))
	require.NoError(t, err)
	require.NoError(t, os.Remove(j.path))
	require.NoError(t, os.Mkdir(j.path, 0o700)) // so that it cannot be opened, even by root
	_, err = tuner.Apply(context.Background(), plan)
	require.Error(t, err)
	assert.Empty(t, m.Calls())
}

func TestNothingDoneIsNothingRecorded(t *testing.T) {
	m := newMachine(t)
	m.spawn(10, 10)
	j := openJournal(t)
	result := apply(t, m.tuner(Options{Journal: j}), pin(ScopeProcess, cpuset.Of(0, 1, 2, 3), 10, 99))
	assert.Zero(t, result.Entry)
	assert.Empty(t, entriesOf(t, j))
}

func TestJournalRecordsNewThreads(t *testing.T) {
	m := newMachine(t)
	m.spawn(10, 10)
	j := openJournal(t)
	tuner := m.tuner(Options{Journal: j})
	plan, err := tuner.Plan(context.Background(), pin(ScopeProcess, cpuset.Of(1), 10))
	require.NoError(t, err)
	looks := 0
	m.onTID = func(kernel.TID) {
		if looks++; looks == 1 {
			m.spawn(10, 12)
			m.spawnAs(10, 13, kerneltest.Task{Affinity: cpuset.Of(1)})
		}
	}
	recorded := false
	m.Before("SetAffinity", 12, func() {
		e := entriesOf(t, j)[0]
		recorded = len(e.Changes) == 2 && e.Changes[1].TID == 12
	})
	result, err := tuner.Apply(context.Background(), plan)
	require.NoError(t, err)
	assert.True(t, recorded, "before the change, as ever")
	e := entriesOf(t, j)
	require.Len(t, e, 1)
	assert.Equal(t, outcome(result.Changes), outcome(e[0].Changes))
	assert.Len(t, e[0].Changes, 3)
}

func TestJournalKeepsDamage(t *testing.T) {
	whole := `{"v":1,"kind":"begin","id":7,"last":7,"time":"2026-11-20T10:00:00Z","boot":"x","changes":[{"pid":1,"tid":1,"start":2,"attribute":"nice","before":"0","after":"5"}]}`
	tests := map[string]struct {
		content string
		lines   []int
		next    uint64
	}{
		"cut short":       {whole + "\n" + `{"v":1,"kind":"end","id":7,"la`, nil, 8}, // piton was killed: no damage
		"cut in a letter": {whole + "\n" + `{"v":1,"kind":"begin","id":8,"comm":"\u00`, nil, 8},
		"torn nonsense":   {whole + "\n" + "\x00\x00\x00", []int{2}, 8},
		"nonsense inside": {"\x00\x01 \x1b[2J\n" + whole + "\n", []int{1}, 8},
		"only nonsense":   {"hello\n", []int{1}, 1},
		"later version":   {whole + "\n" + `{"v":9,"id":30,"last":30}` + "\n", []int{2}, 8},
		"no id":           {`{"v":1,"kind":"begin"}` + "\n" + whole + "\n", []int{1}, 8},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			j := openJournal(t)
			require.NoError(t, os.WriteFile(j.path, []byte(tt.content), 0o600))
			m := newMachine(t)
			m.spawn(10, 10)
			result := apply(t, m.tuner(Options{Journal: j}), pin(ScopeProcess, cpuset.Of(1), 10))
			assert.Equal(t, tt.next, result.Entry)

			data, err := os.ReadFile(j.path)
			require.NoError(t, err)
			assert.True(t, strings.HasPrefix(string(data), tt.content), "nothing that was there is lost")
			entries, damage, err := j.Entries()
			require.NoError(t, err)
			var lines []int
			for _, d := range damage {
				lines = append(lines, d.Line)
				assert.Contains(t, d.Error(), fmt.Sprintf("journal line %d is damaged", d.Line))
			}
			assert.Equal(t, tt.lines, lines)
			last := entries[len(entries)-1]
			assert.Equal(t, tt.next, last.ID)
			assert.True(t, last.Finished)
			if len(entries) > 1 {
				assert.True(t, entries[0].PastBoot)
			}
		})
	}
}

func TestJournalOfManyWriters(t *testing.T) {
	path := openJournal(t).path
	const writers, each = 4, 25
	var wg sync.WaitGroup
	for range writers {
		j, err := OpenJournal(path) // each has its own descriptor, as two processes do
		require.NoError(t, err)
		wg.Go(func() {
			for range each {
				_, err := j.append(record{Kind: kindBegin, Command: strings.Repeat("x", 5000)}, false)
				assert.NoError(t, err)
			}
		})
	}
	wg.Wait()
	j, err := OpenJournal(path)
	require.NoError(t, err)
	entries := entriesOf(t, j)
	require.Len(t, entries, writers*each)
	for i, e := range entries {
		require.Equal(t, uint64(i+1), e.ID)
	}
}

func TestEntriesAreReadAgainWhenTheFileHasGrown(t *testing.T) {
	j := openJournal(t)
	other, err := OpenJournal(j.path)
	require.NoError(t, err)
	for want := range 3 {
		require.Len(t, entriesOf(t, j), want)
		require.Len(t, entriesOf(t, j), want)
		_, err := other.append(record{Kind: kindBegin}, false)
		require.NoError(t, err)
	}
	require.NoError(t, os.Remove(j.path))
	require.Empty(t, entriesOf(t, j))
}

func FuzzParseJournal(f *testing.F) {
	f.Add([]byte(`{"v":1,"kind":"begin","id":1,"last":1,"changes":[{"tid":1,"attribute":"nice"}]}` + "\n" +
		`{"v":1,"kind":"end","id":1,"last":1,"undone":[1],"changes":[{"tid":1,"attribute":"nice","status":"done"}]}`))
	f.Add([]byte("{}\n\n[]\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, damage := parseJournal(data, "boot")
		if len(entries)+len(damage) > strings.Count(string(data), "\n")+1 {
			t.Fatal("more entries than lines")
		}
		for _, e := range entries {
			require.NotZero(t, e.ID)
		}
	})
}
