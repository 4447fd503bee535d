package main_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestReadOnlyScreen presses the keys that change things: none does, and no help
// names them.
func TestReadOnlyScreen(t *testing.T) {
	pid := startBouncers(t, "resident", 1)
	term := openTerminal(t, 120, 40)
	before := affinityOf(t, pid)
	term.run("piton --readonly")
	term.wait(`\[1 Processes\]`)
	term.keys(`\`, "resident", "Enter")
	term.wait(`resident.*$`)
	for _, key := range []string{"p", "]", "F8", "Y", "a", "i", "k", "d", "o"} {
		term.keys(key)
	}
	frame := term.frame()
	assert.Contains(t, frame, "resident", "no dialog has opened")
	assert.NotContains(t, frame, "Pin")
	assert.NotContains(t, frame, "p → cpu")
	assert.Equal(t, before, affinityOf(t, pid))
	term.keys("F1")
	term.wait(`Find and sort`)
	help := term.frame()
	assert.NotContains(t, help, "Affinity")
	assert.NotContains(t, help, "Signal")
	term.keys("Escape")
	term.until("the help is closed", func() bool { return !strings.Contains(term.frame(), "Find and sort") })
	term.keys("q")
	term.wait(`ready> *$`)
}
