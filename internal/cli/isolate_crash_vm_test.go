package cli

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestVMIsolateKilled kills piton at random moments while it isolates a node of a
// machine of 120 tasks and 20 interrupts: whatever was changed is in the journal,
// and piton undo --all gives every mask back. PITON_VM_KILLS says how many times.
func TestVMIsolateKilled(t *testing.T) {
	s := needSmallVM(t)
	const tasks = 120
	kills := 2
	if n, err := strconv.Atoi(os.Getenv("PITON_VM_KILLS")); err == nil {
		kills = n
	}
	crowd(t, tasks, s.cpus)
	h := newHome(t)
	node := fmt.Sprintf("node:%d", s.nodes-1)
	before := everyMask(t)
	lines := 0
	for what := range before {
		if strings.HasPrefix(what, "/proc/irq/") {
			lines++
		}
	}
	began := time.Now()
	cmd := h.program("isolate", node, "--yes")
	require.NoError(t, cmd.Start())
	h.untilJournalled(0)
	planned := time.Since(began)
	require.NoError(t, cmd.Wait())
	whole := time.Since(began)
	require.Zero(t, h.run("undo", "--all").code)
	require.Empty(t, unlike(before, everyMask(t)))

	inTheMiddle, changed, most := 0, 0, 0
	for kill := range kills {
		written := h.journalSize()
		cmd := h.program("isolate", node, "--yes")
		require.NoError(t, cmd.Start())
		if kill%5 == 4 {
			time.Sleep(time.Duration(rand.Int64N(int64(whole))))
		} else { // most of the time goes before the first change
			h.untilJournalled(written)
			time.Sleep(time.Duration(rand.Int64N(int64(whole - planned))))
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		killed := everyMask(t)
		differ := unlike(before, killed)
		if n := len(differ); n > 0 {
			changed++
			most = max(most, n)
		}
		entries := ofType(jsonLines(t, h.run("journal", "-n", "1", "-o", "json").out), "entry")
		if len(entries) > 0 && strings.HasSuffix(fmt.Sprint(entries[0]["state"]), "interrupted") {
			inTheMiddle++
		}
		known := h.run("journal", "-n", "1", "-o", "json").out
		for _, d := range differ {
			name, _, _ := strings.Cut(d, ":")
			tid, _, _ := strings.Cut(name, "@")
			mention := fmt.Sprintf(`"tid":%s,`, tid)
			if strings.HasPrefix(name, "/") {
				mention = name
			}
			require.Contains(t, known, mention, "kill %d: %s was changed and is not in the journal", kill, d)
		}
		r := h.run("undo", "--all", "-o", "json")
		require.Zero(t, r.code, "kill %d: %s%v", kill, r.err, slices.DeleteFunc(ofType(jsonLines(t, r.out), "change"), func(c map[string]any) bool {
			return c["status"] == "done" || c["status"] == "unchanged"
		}))
		require.NotContains(t, r.err, "damaged")
		require.Empty(t, unlike(before, everyMask(t)), "kill %d", kill)
	}
	t.Logf("%d masks, %d of them of interrupt lines; an isolate took %v, %v of it once it was journalled; %d kills: %d left an interrupted entry, %d left masks changed, at most %d",
		len(before), lines, whole.Round(time.Millisecond), (whole - planned).Round(time.Millisecond), kills, inTheMiddle, changed, most)
	assert.GreaterOrEqual(t, len(before), tasks)
}

func (h *home) journalSize() int64 {
	for _, kv := range h.env {
		dir, ok := strings.CutPrefix(kv, "XDG_STATE_HOME=")
		if info, err := os.Stat(filepath.Join(dir, "piton/journal")); ok && err == nil {
			return info.Size()
		}
	}
	return 0
}

// untilJournalled waits until an entry is begun in a journal of that size.
func (h *home) untilJournalled(size int64) {
	eventually(h.t, "it is journalled", func() bool { return h.journalSize() > size })
}
