package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cli"
)

// TestPages writes the pages, looks for commands, flags and topics, and gives each page
// to what typesets manuals.
func TestPages(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, write(dir, cli.Root()))
	for file, want := range map[string]string{
		"man1/piton.1": "piton-keys(7)", "man1/piton-pin.1": "--revert-after", "man1/piton-irq-list.1": "--now",
		"man1/piton-bench-attach.1": "NAME", "man7/piton-keys.7": "invert the order", "man7/piton-exit-codes.7": "drift",
		"man7/piton-filters.7": "column op value",
	} {
		data, err := os.ReadFile(filepath.Join(dir, file))
		require.NoError(t, err)
		assert.Contains(t, string(data), want, file)
	}
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("groff is not installed")
	}
	pages, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	require.NoError(t, err)
	require.Greater(t, len(pages), 60)
	for _, page := range pages {
		cmd := exec.Command(groff, "-t", "-man", "-ww", "-K", "utf8", "-T", "utf8", "-P", "-c", page)
		var complaints strings.Builder
		cmd.Stderr = &complaints
		set, err := cmd.Output()
		require.NoError(t, err, page)
		assert.Empty(t, complaints.String(), page)
		assert.NotContains(t, string(set), "```", page)
	}
}
