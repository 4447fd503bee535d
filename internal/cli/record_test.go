package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cli/exit"
)

// TestKilledRecorder: what was written before kill -9 is replayed, without a word of damage.
func TestKilledRecorder(t *testing.T) {
	h := newHome(t)
	file := filepath.Join(t.TempDir(), "web.piton")
	recorder := h.program("record", "-o", file, "-d", "100ms", "--names", "comm")
	require.NoError(t, recorder.Start())
	last, grew := int64(0), 0
	eventually(t, "five samples are written", func() bool {
		if info, err := os.Stat(file); err == nil && info.Size() > last {
			last = info.Size()
			grew++
		}
		return grew >= 5
	})
	require.NoError(t, recorder.Process.Kill())
	_ = recorder.Wait()

	r := h.run("replay", file, "--headless", "-o", "json", "--columns", "pid,command")
	require.Zero(t, r.code, r.err)
	assert.Empty(t, r.err)
	assert.GreaterOrEqual(t, strings.Count(r.out, `"type":"end"`), 4)
	assert.NotContains(t, r.out, "-d 100ms", "--names comm leaves command lines out")
	assert.NotContains(t, r.out, file)

	r = h.run("record", "-o", file)
	assert.Equal(t, exit.Failed, r.code)
	assert.Contains(t, r.err, "it is there already")
}
