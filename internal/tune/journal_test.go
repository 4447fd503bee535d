package tune

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

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
		"cut behind last": {whole + "\n" + `{"v":1,"kind":"begin","id":8,"last":8,"ti`, nil, 9},
		"damaged changes": {whole + "\n" + `{"v":1,"kind":"begin","id":8,"last":8,"time":oops}` + "\n", []int{2}, 9},
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
	f.Add([]byte(`{"v":1,"kind":"begin","id":1,"last":1,"changes":[{"path":"/proc/irq/24/smp_affinity_list","name":"irq 24","comm":"eth0",` +
		`"attribute":"irq-affinity","before":"0-3","after":"2"}]}` + "\n" + `{"v":1,"kind":"mo`))
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

// Records of a boot that is over are of other tasks, lines and masks.
func TestPastBootIsLeftAlone(t *testing.T) {
	m := newMachine(t)
	m.spawn(10, 10)
	file := m.line("24", "eth0", "1")
	j := openJournal(t)
	_, err := j.append(record{Kind: kindBegin, Boot: "another boot", Changes: []jchange{
		{Comm: "eth0", Path: file, Attribute: IRQAffinity, Before: "0-3", After: "1"},
		{PID: 10, TID: 10, StartTicks: 1010, Attribute: Nice, Before: "5", After: "0"},
	}}, true)
	require.NoError(t, err)
	require.True(t, entriesOf(t, j)[0].PastBoot)
	tuner := m.tuner(Options{Journal: j})
	for _, q := range []UndoRequest{{All: true, Force: true}, {Last: 1}, {Since: time.Now().Add(-time.Hour)}} {
		_, err = tuner.Undo(context.Background(), q)
		require.ErrorIs(t, err, ErrNothingToUndo)
	}
	_, err = tuner.Undo(context.Background(), UndoRequest{IDs: []uint64{1}, Force: true})
	require.ErrorContains(t, err, "before this boot")
	assert.Empty(t, m.files.Calls())
	assert.Empty(t, m.Calls())
}

func TestUndoSince(t *testing.T) {
	m := newMachine(t)
	m.spawn(10, 10)
	j := openJournal(t)
	tuner := m.tuner(Options{Journal: j})
	apply(t, tuner, pin(ScopeProcess, cpuset.Of(1), 10))
	apply(t, tuner, pin(ScopeProcess, cpuset.Of(2), 10))
	apply(t, tuner, pin(ScopeProcess, cpuset.Of(3), 10))
	second := entriesOf(t, j)[1].Time
	result := undo(t, tuner, UndoRequest{Since: second})
	assert.Equal(t, []string{"affinity 3 to 1: done"}, outcome(result.Changes), "that moment included")
	_, err := tuner.Undo(context.Background(), UndoRequest{Since: time.Now().Add(time.Hour)})
	require.ErrorIs(t, err, ErrNothingToUndo)
}

// Entries made before files could be changed have no path, and are of tasks.
func TestOldEntriesStillRead(t *testing.T) {
	m := newMachine(t)
	m.spawn(10, 10)
	j := openJournal(t)
	old := `{"v":1,"kind":"begin","id":1,"last":1,"time":"2026-11-20T10:00:00Z","boot":"` + j.boot + `","user":"root","command":"piton pin 10",` +
		`"targets":[{"TID":10,"StartTicks":1010,"Scope":0}],"changes":[{"pid":10,"tid":10,"start":1010,"comm":"job","attribute":"affinity","before":"0-3","after":"1"}]}` + "\n" +
		`{"v":1,"kind":"end","id":1,"last":1,"time":"2026-11-20T10:00:00Z","changes":[{"pid":10,"tid":10,"start":1010,"comm":"job","attribute":"affinity","before":"0-3","after":"1","status":"done"}]}` + "\n"
	require.NoError(t, os.WriteFile(j.path, []byte(old), 0o600))
	require.NoError(t, m.SetAffinity(10, cpuset.Of(1)))
	result := undo(t, m.tuner(Options{Journal: j}), UndoRequest{All: true})
	assert.Equal(t, []string{"affinity 1 to 0-3: done"}, outcome(result.Changes))
}

// A later piton may write attributes that this one does not know.
func TestUnknownAttributesAreRefused(t *testing.T) {
	m := newMachine(t)
	m.spawn(10, 10)
	j := openJournal(t)
	_, err := j.append(record{Kind: kindBegin, Boot: j.boot, Targets: []Target{{TID: 10, StartTicks: 1010}}, Changes: []jchange{
		{PID: 10, TID: 10, StartTicks: 1010, Attribute: "novel", Before: "0", After: "1"},
		{Path: "/proc/novel", Attribute: "novel", Before: "0", After: "1"},
	}}, true)
	require.NoError(t, err)
	result := undo(t, m.tuner(Options{Journal: j}), UndoRequest{All: true, Force: true})
	for _, c := range result.Changes {
		assert.Equal(t, Refused, c.Status)
		assert.Contains(t, c.Reason, `"novel"`)
	}
	assert.Empty(t, m.Calls())
}
