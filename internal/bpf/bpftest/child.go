package bpftest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"piton/internal/kernel"
	"piton/internal/kernel/kerneltest"
)

// roleVariable makes the test program play a role.
const roleVariable = "PITON_BPF_TEST_ROLE"

// Main runs the tests or, where Command started the program, the role that it named.
func Main(m *testing.M, play func(role []string) error) {
	role, ok := os.LookupEnv(roleVariable)
	if !ok {
		os.Exit(m.Run())
	}
	if err := play(strings.Fields(role)); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Command is the test program again, in one of its roles.
func Command(role ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), roleVariable+"="+strings.Join(role, " "), "GODEBUG=asyncpreemptoff=1")
	cmd.Stderr = os.Stderr
	return cmd
}

// Child is a process that a test acts on.
type Child struct {
	PID  kernel.TID
	TIDs []kernel.TID // of the first line that it wrote
	Out  *bufio.Reader
	End  func() // ends it, and does not wait
	held []kernel.Task
}

// Start starts a child and waits for the first line that it writes, of TIDs. It ends when its
// standard input does, so also when the test is killed. The test's cleanup ends it and
// waits, also for a child that is stopped.
func Start(tb testing.TB, cmd *exec.Cmd) *Child {
	tb.Helper()
	in, err := cmd.StdinPipe()
	require.NoError(tb, err)
	pipe, err := cmd.StdoutPipe()
	require.NoError(tb, err)
	require.NoError(tb, cmd.Start())
	c := &Child{PID: kernel.TID(cmd.Process.Pid), Out: bufio.NewReader(pipe), End: func() { _ = in.Close() }}
	tb.Cleanup(func() {
		c.End()
		_ = cmd.Process.Signal(syscall.SIGCONT)
		_ = cmd.Wait()
	})
	line, err := c.Out.ReadString('\n')
	if !errors.Is(err, io.EOF) {
		require.NoError(tb, err)
	}
	for word := range strings.FieldsSeq(line) {
		tid, err := strconv.Atoi(word)
		require.NoError(tb, err, "the child said %q", line)
		c.TIDs = append(c.TIDs, kernel.TID(tid))
	}
	return c
}

// Tasks are its threads as what can be changed.
func (c *Child) Tasks(tb testing.TB) []kernel.Task {
	tb.Helper()
	if c.held == nil {
		for _, tid := range c.TIDs {
			c.held = append(c.held, kerneltest.Of(tb, c.PID, tid))
		}
	}
	return c.held
}

// PublicCopy copies the test program to where any user may run it, and removes
// it with the test.
func PublicCopy(tb testing.TB) string {
	tb.Helper()
	kerneltest.NeedOpenTemp(tb)
	dir, err := os.MkdirTemp("", "piton-test")
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(tb, os.Chmod(dir, 0o755))
	from, err := os.Open("/proc/self/exe")
	require.NoError(tb, err)
	defer from.Close()
	path := filepath.Join(dir, "test")
	to, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755)
	require.NoError(tb, err)
	_, err = io.Copy(to, from)
	require.NoError(tb, errors.Join(err, to.Chmod(0o755), to.Close())) // whatever the umask
	return path
}
