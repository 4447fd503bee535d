package main_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cli"
)

var update = flag.Bool("update", false, "rewrite the generated parts of the help's pages")

// README and the pages of the help that it links to.
const (
	readme = "../../README.md"
	pages  = "help"
)

// TestReadmeIsGenerated keeps what the help's pages say of keys, columns and exit codes
// equal to what the program does; with -update it rewrites them.
func TestReadmeIsGenerated(t *testing.T) {
	for _, topic := range cli.Topics() {
		file := filepath.Join(pages, topic+".md")
		want, err := cli.Page(topic, false)
		require.NoError(t, err)
		if *update {
			require.NoError(t, os.WriteFile(file, []byte(want), 0o644))
		}
		assert.Equal(t, want, read(t, file), "%s: run `make pages`", file)
	}
}

// TestReadmeIsShort holds README to what is read in one sitting; the rest is in the help.
func TestReadmeIsShort(t *testing.T) {
	text := read(t, readme)
	assert.LessOrEqual(t, strings.Count(text, "\n"), 180)
	for _, topic := range cli.Topics() {
		assert.Contains(t, text, "(cmd/piton/help/"+topic+".md)")
	}
}

// TestLinks follows the links within the project.
func TestLinks(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(pages, "*.md"))
	require.NoError(t, err)
	link := regexp.MustCompile(`\]\(([^)#:]+)\)`)
	for _, file := range append(files, readme) {
		for _, found := range link.FindAllStringSubmatch(read(t, file), -1) {
			target := filepath.Join(filepath.Dir(file), found[1])
			if _, err := os.Stat(filepath.Dir(target)); filepath.Base(filepath.Dir(target)) == "pictures" && err != nil {
				continue // make pictures has not drawn any here
			}
			assert.FileExists(t, target, file)
		}
	}
}
