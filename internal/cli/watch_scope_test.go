package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cli/app"
	"piton/internal/cli/exit"
)

// thread:/regex/ means single threads without --thread as well.
func TestWatchSingleThreads(t *testing.T) {
	sleep, err := exec.LookPath("sleep")
	require.NoError(t, err)
	data, err := os.ReadFile(sleep)
	require.NoError(t, err)
	file := t.TempDir() + "/pitonwatchee"
	require.NoError(t, os.WriteFile(file, data, 0o755))
	cmd := exec.Command(file, "600")
	require.NoError(t, cmd.Start())
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	w := startWatch(t, "thread:/^pitonwatchee$/")
	assert.Equal(t, "thread", w.first["scope"])
	w.end()

	var errs bytes.Buffer
	code := Main(app.IO{Args: []string{"watch", "thread:/^pitonwatchee$/", fmt.Sprint(cmd.Process.Pid)}, Out: io.Discard, Err: &errs})
	assert.Equal(t, exit.Usage, code)
	assert.Contains(t, errs.String(), "means single threads, and the other words whole processes")
}
