package screen

import (
	"bytes"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCommandKeepsItsOwnStreams(t *testing.T) {
	tt, written := fileTerminal(t, colorprofile.ASCII)
	r := &root{term: tt, signals: &signals{}}
	reply := &bytes.Buffer{}
	c := exec.Command("sh", "-c", "cat; echo question >&2")
	c.Stdin, c.Stdout = strings.NewReader("{}"), reply
	require.NoError(t, r.wait(c))
	assert.Equal(t, "{}", reply.String())
	assert.Contains(t, written(), "question", "the terminal shows what it asks")
}

// TestKeysDuringACommandsStart are ^C and ^\ that are typed before piton, which does not get a
// CPU, looks at them: they are for the command, and other signals are for piton.
func TestKeysDuringACommandsStart(t *testing.T) {
	s := catchSignals()
	defer s.release()
	s.lend(true)
	for range 20 { // more than there is room for
		for _, sig := range typed {
			s.typed <- sig
			if len(s.typed) == cap(s.typed) {
				<-s.typed
			}
		}
	}
	s.watch(func(tea.Msg) {})
	defer s.stop()
	s.lend(false)
	assert.Empty(t, s.typed)
	assert.Zero(t, s.by.Load())
	s.ending <- syscall.SIGTERM
	<-s.ended
	assert.EqualValues(t, syscall.SIGTERM, s.by.Load())
}
