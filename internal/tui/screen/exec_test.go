package screen

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
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
