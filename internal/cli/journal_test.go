package cli

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/change/journal"
	"piton/internal/cli/app"
	"piton/internal/cli/exit"
	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// TestTwoPitonsAtOnce lets several pitons change the same process and write the
// same journal: no record is lost or torn, and all of it can be undone.
func TestTwoPitonsAtOnce(t *testing.T) {
	h, pid := newHome(t), sleeper(t)
	before, level := affinityOf(t, pid), levelOf(t, pid)
	mine, err := cpuset.Parse(before)
	require.NoError(t, err)
	if mine.Len() < 2 {
		t.Skip("needs two CPUs")
	}
	const pitons, each = 3, 8
	var wg sync.WaitGroup
	var mu sync.Mutex
	entries := 0
	for n := range pitons {
		wg.Go(func() {
			for i := range each {
				args := []string{"pin", fmt.Sprint(pid), "--cpu", fmt.Sprint(mine.CPUs()[(n+i)%2]), "-o", "json"}
				if i%3 == 2 {
					args = []string{"ionice", fmt.Sprint(pid), fmt.Sprint("best-effort:", (n+i)%8), "-o", "json"}
				}
				out, err := h.program(args...).Output()
				assert.NoError(t, err, "%s", out)
				if summary := ofType(jsonLines(t, string(out)), "summary"); len(summary) == 1 && summary[0]["journal"] != nil {
					mu.Lock()
					entries++
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	r := h.run("journal", "-o", "json")
	require.Zero(t, r.code, r.err)
	assert.Empty(t, r.err, "nothing is damaged")
	found := ofType(jsonLines(t, r.out), "entry")
	assert.Len(t, found, entries)
	for i, e := range found {
		assert.EqualValues(t, i+1, e["entry"])
		assert.Equal(t, true, e["finished"])
	}
	// Which of two that ran at once was last is not known, so this is forced.
	r = h.run("undo", "--all", "--force")
	require.Zero(t, r.code, r.err)
	assert.Equal(t, before, affinityOf(t, pid))
	assert.Equal(t, level, levelOf(t, pid))
}

// TestJournalShowsFiles prints an entry that is of interrupts.
func TestJournalShowsFiles(t *testing.T) {
	h := newHome(t)
	j, err := journal.Open(journal.Path((&app.App{IO: app.IO{Env: h.env}}).Getenv, kernel.EUID()))
	require.NoError(t, err)
	var changes []change.Change
	for n := 9990; n < 9992; n++ {
		changes = append(changes, change.Change{
			Object: attr.Object{Path: fmt.Sprintf("/proc/irq/%d/smp_affinity_list", n), Name: fmt.Sprintf("irq %d (eth0)", n), Comm: "eth0"}, Attribute: attr.IRQAffinity,
			Before: cpuset.Of(0, 1, 2, 3), After: cpuset.Of(2), Status: attr.Done})
	}
	for _, kind := range []journal.Kind{journal.Begin, journal.End} {
		rec := journal.Record{Kind: kind, User: "root", Command: "piton irq move eth0"}
		if kind == journal.End {
			rec.ID = 1
		}
		rec.Changes = changes
		_, err := j.Append(&rec)
		require.NoError(t, err)
	}
	r := h.run("journal")
	require.Zero(t, r.code, r.err)
	assert.Regexp(t, "irq-affinity of 2 IRQs +0-3 → 2 +no longer there", r.out)
	r = h.run("journal", "1")
	assert.Contains(t, r.out, "irq 9990 (eth0)")
	r = h.run("journal", "-o", "json")
	lines := ofType(jsonLines(t, r.out), "change")
	require.Len(t, lines, 2)
	assert.Equal(t, map[string]any{
		"type": "change", "v": 1.0, "pid": nil, "tid": nil, "comm": nil, "object": "irq 9990 (eth0)", "path": "/proc/irq/9990/smp_affinity_list", "attribute": "irq-affinity",
		"before": "0-3", "after": "2", "status": "done", "error": "", "reason": "",
	}, lines[0])
	r = h.run("undo", "--last", "1") // the lines are not there any more
	assert.Zero(t, r.code, r.err)
	assert.Contains(t, r.out, "irq 9990 (eth0) is gone, so there is nothing to undo")
}

// TestJournalOfAFailure: what was refused by the kernel is not in force, and undo
// passes it by.
func TestJournalOfAFailure(t *testing.T) {
	first, _ := twoCPUs(t)
	h, pid := newHome(t), sleeper(t)
	before := affinityOf(t, pid)
	require.Zero(t, h.run("pin", fmt.Sprint(pid), "--cpu", fmt.Sprint(first)).code)
	require.NotZero(t, h.run("policy", fmt.Sprint(pid), "deadline:1ms/10ms/10ms").code, "it is pinned")
	entries := ofType(jsonLines(t, h.run("journal", "-o", "json").out), "entry")
	require.Len(t, entries, 2)
	assert.Equal(t, "in force", entries[0]["state"])
	assert.Equal(t, "nothing changed", entries[1]["state"])
	require.Zero(t, h.run("undo").code)
	assert.Equal(t, before, affinityOf(t, pid))
	undo := ofType(jsonLines(t, h.run("journal", "-o", "json").out), "entry")[2]
	assert.Equal(t, []any{1.0}, undo["undoes"])
	assert.Equal(t, "undoes 1", undo["state"])
	assert.Equal(t, exit.Failed, h.run("undo").code, "nothing is left")
}
