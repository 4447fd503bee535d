package screen

import (
	"bytes"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCommandKeepsItsOwnStreams(t *testing.T) {
	o := &outside{exec.Command("sudo"), &root{term: &terminal{in: os.Stdin, out: os.Stdout}}}
	order, reply := strings.NewReader("{}"), &bytes.Buffer{}
	o.Stdin, o.Stdout = order, reply
	o.SetStdin(nil)
	o.SetStdout(nil)
	o.SetStderr(nil)
	assert.Same(t, order, o.Stdin)
	assert.Same(t, reply, o.Stdout)
	assert.Same(t, os.Stdout, o.Stderr, "the terminal shows what it asks")
}

// TestKeysDuringACommandsStart are ^C and ^\ that are typed before piton, which does not get a
// CPU, ignores them: they are for the command, and other signals are for piton.
func TestKeysDuringACommandsStart(t *testing.T) {
	tt, _ := fileTerminal(t, colorprofile.ASCII)
	s := &signals{ch: make(chan os.Signal, 8)}
	defer signal.Reset(syscall.SIGINT, syscall.SIGQUIT)
	defer signal.Stop(s.ch)
	for _, sig := range []os.Signal{syscall.SIGINT, syscall.SIGWINCH, syscall.SIGQUIT, syscall.SIGTERM} {
		s.ch <- sig
	}
	_ = (&outside{exec.Command("true"), &root{term: tt, signals: s}}).Run() // a file is no terminal to enter
	require.Len(t, s.ch, 2)
	assert.Equal(t, []os.Signal{syscall.SIGWINCH, syscall.SIGTERM}, []os.Signal{<-s.ch, <-s.ch})
}
