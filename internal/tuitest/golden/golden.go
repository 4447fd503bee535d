// Package golden compares what was drawn with a file that somebody has looked
// at. Only tests import it.
//
//	go test ./internal/tui/... -update
//
// rewrites the files; look at the difference before committing it. Start at Check.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Check compares a drawing without its styles with testdata/name.txt, and checks
// that it stays within width × height cells.
func Check(t *testing.T, name, drawn string, width, height int) {
	t.Helper()
	plain := ansi.Strip(drawn)
	lines := strings.Split(plain, "\n")
	assert.LessOrEqual(t, len(lines), height, "%s is too high", name)
	for i, line := range lines {
		assert.LessOrEqual(t, ansi.StringWidth(line), width, "%s: line %d is too wide: %q", name, i+1, line)
		lines[i] = strings.TrimRight(line, " ")
	}
	plain = strings.Join(lines, "\n") + "\n"

	File(t, filepath.Join("testdata", name+".txt"), plain)
}

// File compares content with a file.
func File(t *testing.T, path, content string) {
	t.Helper()
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
		return
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "run make golden once")
	assert.Equal(t, string(want), content, "%s is not what is drawn now: look at the difference, then make golden", path)
}
