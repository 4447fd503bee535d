package detail

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestStraceFailureInWords(t *testing.T) {
	exit := func(code string) error { return exec.Command("sh", "-c", "exit "+code).Run() }
	for text, want := range map[string]string{
		"strace: attach: ptrace(PTRACE_SEIZE, 1): Operation not permitted\n": "needs CAP_SYS_PTRACE",
		"strace: attach: ptrace(PTRACE_SEIZE, 9): No such process\n":         "the process has ended",
		"strace: what\x1b[2J\n": "strace of 9 failed: strace: what?[2J",
	} {
		null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
		require.NoError(t, err)
		o := traceOutput{to: null}
		_, err = o.Write([]byte("first\n" + text))
		require.NoError(t, err)
		assert.Contains(t, o.failure(9, exit("1")), want)
		assert.Empty(t, o.failure(9, exit("130")), "^C")
		assert.Empty(t, o.failure(9, nil))
		assert.Contains(t, o.failure(9, os.ErrNotExist), "not started")
	}
}
