package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/tune"
)

// TestTwoPitonsAtOnce lets several pitons change the same process and write the
// same journal: no record is lost or torn, and all of it can be taken back.
func TestTwoPitonsAtOnce(t *testing.T) {
	h, pid := newHome(t), sleeper(t)
	before := affinityOf(t, pid)
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
					args = []string{"nice", fmt.Sprint(pid), fmt.Sprint(n + i), "-o", "json"}
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
	nice, err := sched.Nice(pid)
	require.NoError(t, err)
	assert.Zero(t, nice)
}

// TestJournalShowsFiles prints an entry that is of interrupts.
func TestJournalShowsFiles(t *testing.T) {
	h := newHome(t)
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	require.NoError(t, err)
	path := tune.JournalPath((&app{IO: IO{Env: h.env}}).getenv, 0)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	line := func(n int) string {
		return fmt.Sprintf(`{"path":"/proc/irq/%d/smp_affinity_list","name":"irq %d (eth0)","comm":"eth0","attribute":"irq-affinity","before":"0-3","after":"2","status":"done"}`, n, n)
	}
	record := fmt.Sprintf(`{"v":1,"kind":"%%s","id":1,"last":1,"time":"2026-11-20T10:00:00Z","boot":"%.36s","user":"root","command":"piton irq move eth0","changes":[%s,%s]}`+"\n",
		boot, line(9990), line(9991))
	require.NoError(t, os.WriteFile(path, []byte(fmt.Sprintf(record, "begin")+fmt.Sprintf(record, "end")), 0o600))
	r := h.run("journal")
	require.Zero(t, r.code, r.err)
	assert.Contains(t, r.out, "irq-affinity 0-3 → 2 of 2 IRQs")
	r = h.run("journal", "1")
	assert.Contains(t, r.out, "irq 9990 (eth0)")
	r = h.run("journal", "-o", "json")
	changes := ofType(jsonLines(t, r.out), "change")
	require.Len(t, changes, 2)
	assert.Equal(t, map[string]any{
		"type": "change", "object": "irq 9990 (eth0)", "path": "/proc/irq/9990/smp_affinity_list", "attribute": "irq-affinity",
		"before": "0-3", "after": "2", "status": "done", "error": "", "reason": "",
	}, changes[0])
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
	assert.Equal(t, ExitFailed, h.run("undo").code, "nothing is left")
}
