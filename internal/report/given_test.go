package report

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestGivenPage opens the page that PITON_PAGE names, such as one of piton bench
// paper --all --report, and looks whether every picture is in it.
func TestGivenPage(t *testing.T) {
	page := os.Getenv("PITON_PAGE")
	if page == "" {
		t.Skip("PITON_PAGE names no page to look at")
	}
	path, err := filepath.Abs(page)
	require.NoError(t, err)
	b := newBrowser(t)
	b.media("screen", "light")
	b.open(path)
	var seen inspected
	b.evaluate(inPage, &seen)
	b.screenshot("given")
	assert.Empty(t, b.complaints())
	assert.NotEmpty(t, seen.Figures)
	for i, f := range seen.Figures {
		assert.Greater(t, f.Shapes, 1.0, "figure %d is empty", i)
		assert.Zero(t, f.Outside, "figure %d draws outside of itself", i)
	}
	for i, table := range seen.Tables {
		assert.Greater(t, table.Rows, 1, i)
		assert.Zero(t, table.Empty, i)
	}
	t.Logf("%d figures and %d tables", len(seen.Figures), len(seen.Tables))
}
