package cli

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cli/app"
	"piton/internal/cli/exit"
)

// TestStreamsOfEveryCommand runs each command with a stream that is closed, or full: it ends
// as with open ones, or says that it could not write, and no file that it makes has what was
// meant for a stream.
func TestStreamsOfEveryCommand(t *testing.T) {
	h, texts, turn := newHome(t), map[string]bool{}, 0
	dir := strings.TrimPrefix(h.env[0], "XDG_STATE_HOME=")
	t.Chdir(t.TempDir())
	streams := []string{"<&- >&- 2>&-", ">/dev/full", "2>&-", ">&-", "<&-", "2>/dev/full"}
	try := func(args ...string) {
		want := h.run(args...)
		for _, text := range []string{want.out, want.err} {
			if line, _, _ := strings.Cut(text, "\n"); len(line) > 20 {
				texts[line] = true
			}
		}
		for i, closed := range streams {
			if testing.Short() && i != turn%len(streams) { // make long runs all
				continue
			}
			code := want.code
			if closed == ">/dev/full" && want.out != "" && code == exit.Done {
				code = exit.Failed
			}
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			program := h.program(args...)
			cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", `exec "$0" "$@" ` + closed}, program.Args...)...)
			cmd.Env = program.Env
			var out, errs bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errs
			_ = cmd.Run()
			cancel()
			assert.Equal(t, code, cmd.ProcessState.ExitCode(), "piton %v %s: %s%s", args, closed, out.String(), errs.String())
			assert.NotContains(t, errs.String(), "goroutine", "piton %v %s", args, closed)
		}
		turn++
	}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		path := strings.TrimPrefix(strings.TrimPrefix(c.CommandPath(), "piton"), " ")
		verb := strings.Fields(path)
		if c.Flags().Lookup("dry-run") != nil && path != "" {
			verb = append(verb, "--dry-run")
		}
		switch words := harmless[path]; {
		case path == "":
			try("--headless", "-n", "1", "-d", "100ms", "--pid", "1")
		case words == none && !strings.HasPrefix(path, "bench") && path != "irq hint serve": // what prints
			try(verb...)
		default:
			try(append(verb, strings.Fields(words)...)...)
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(newRoot(&app.App{}))
	for _, args := range []string{"verify -", "apply - --dry-run", "rules check -", "journal", "undo --all", "pin --help", "help json"} {
		try(strings.Fields(args)...)
	}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		for text := range texts {
			assert.NotContains(t, string(b), text, path)
		}
		return err
	}))
}
