package change_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/change"
	"piton/internal/change/attr"
	"piton/internal/change/changetest"
	"piton/internal/change/journal"
	"piton/internal/kernel"
)

// TestRealGroup: the kernel of this machine takes each pair of values, there and back.
func TestRealGroup(t *testing.T) {
	cmd := exec.Command("sleep", "600")
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	pid := kernel.TID(cmd.Process.Pid)
	dir := changetest.RealGroup(t, pid, "cpu")
	state := func() string {
		var out string
		for _, pattern := range []string{"cpu.weight", "cpu.shares", "cpu.idle", "cpu.max*", "cpu.cfs*"} {
			files, _ := filepath.Glob(filepath.Join(dir, pattern))
			for _, file := range files {
				text, err := os.ReadFile(file)
				require.NoError(t, err)
				out += filepath.Base(file) + " " + string(text)
			}
		}
		return out
	}
	tuner := change.New(change.Options{
		Writer: kernel.SystemWriter(), FileWriter: kernel.SystemFiles(), Journal: journal.New(&journal.Memory{}, journal.Where{Boot: "this"}),
	})
	for a, values := range map[attr.Attribute][]string{
		attr.Weight: {"100", "200", "idle", "33"},
		attr.Quota:  {"none burst 0", "50% burst 0", "50% burst 20ms", "10% burst 5ms", "none burst 60ms"},
	} {
		for _, from := range values {
			for _, to := range values {
				set := func(text string) change.Outcome {
					v, err := a.Parse(text)
					require.NoError(t, err)
					out := apply(t, tuner, changetest.One(attr.Setting{Attribute: a, Value: v}, pid))
					require.Zero(t, out.Count(attr.Failed)+out.Count(attr.Refused), "%s to %s: %+v", from, to, out.Changes)
					return out
				}
				set(from)
				first := state()
				if set(to).Changed() {
					assert.NotEqual(t, first, state())
					undo(t, tuner, change.UndoRequest{Last: 1})
				}
				assert.Equal(t, first, state(), "%s to %s and back", from, to)
			}
		}
	}
	undo(t, tuner, change.UndoRequest{All: true})
	assert.Contains(t, state(), "cpu.idle 0\n")
}
