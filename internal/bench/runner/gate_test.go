package runner

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/workloads"
)

// startChild starts a child by hand and returns it at its gate.
func startChild(t *testing.T, args ...string) (cmd *exec.Cmd, gate io.WriteCloser, lines *bufio.Reader) {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd = exec.Command(exe, append([]string{childMode}, args...)...)
	cmd.Env = append(os.Environ(), quickExit)
	gate, err = cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	lines = bufio.NewReader(out)
	ready, err := lines.ReadString('\n')
	require.NoError(t, err)
	require.JSONEq(t, `{"ready":true}`, ready)
	return cmd, gate, lines
}

func TestChildWaitsAtBothGates(t *testing.T) {
	cmd, gate, lines := startChild(t, "nqueens", "-n", "8")
	_, err := io.WriteString(gate, "\"go\"\n")
	require.NoError(t, err)
	line, err := lines.ReadString('\n')
	require.NoError(t, err)
	assert.Contains(t, line, `"answer":"92"`)
	assert.DirExists(t, "/proc/"+strconv.Itoa(cmd.Process.Pid)+"/task", "it is alive until let go")
	require.NoError(t, gate.Close())
	assert.NoError(t, cmd.Wait())
}

// The end of the gate is the death of the parent.
func TestChildEndsWithItsGate(t *testing.T) {
	for name, before := range map[string]string{"before the work": "", "in the work": "\"go\"\n"} {
		t.Run(name, func(t *testing.T) {
			cmd, gate, _ := startChild(t, "nqueens", "-n", "18", "--threads", "3")
			_, err := io.WriteString(gate, before)
			require.NoError(t, err)
			require.NoError(t, gate.Close())
			var exit *exec.ExitError
			require.ErrorAs(t, cmd.Wait(), &exit)
			assert.Equal(t, 1, exit.ExitCode())
		})
	}
}

func TestChildRefusesBadArguments(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want string
	}{
		{nil, "the name of a workload is missing"},
		{[]string{"chess"}, `unknown workload \"chess\"`},
		{[]string{"nqueens", "-n", "19"}, "-n must be a number from 1 to 18"},
		{[]string{"nqueens", "-n"}, "-n needs a value"},
		{[]string{"nqueens", "-x", "1"}, `no option \"-x\"`},
		{[]string{"matrix", "-n", "10", "--threads", "11"}, "more than the 10 rows"},
		{[]string{"matrix", "--mapping", "magic"}, "--mapping must be one of kernel, manual"},
	} {
		var out strings.Builder
		code := childMain(workloads.All, tc.args, strings.NewReader(""), &out)
		assert.Equal(t, 1, code, tc.args)
		assert.Contains(t, out.String(), tc.want)
		assert.Equal(t, 1, strings.Count(out.String(), "\n"))
	}
}
