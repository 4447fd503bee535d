package bpftest

import (
	"bufio"
	"errors"
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

// Start starts the test program again, in one of its roles, and waits for the
// first line that it writes, of TIDs. A child ends when its standard input does,
// so also when the test is killed. end does so and does not wait; the test's
// cleanup does both, also of a child that is stopped.
func Start(tb testing.TB, cmd *exec.Cmd) (pid kernel.TID, tids []kernel.TID, out *bufio.Reader, end func()) {
	tb.Helper()
	in, err := cmd.StdinPipe()
	require.NoError(tb, err)
	pipe, err := cmd.StdoutPipe()
	require.NoError(tb, err)
	require.NoError(tb, cmd.Start())
	end = func() { _ = in.Close() }
	tb.Cleanup(func() {
		end()
		_ = cmd.Process.Signal(syscall.SIGCONT)
		_ = cmd.Wait()
	})
	out = bufio.NewReader(pipe)
	line, err := out.ReadString('\n')
	if !errors.Is(err, io.EOF) {
		require.NoError(tb, err)
	}
	for word := range strings.FieldsSeq(line) {
		tid, err := strconv.Atoi(word)
		require.NoError(tb, err, "the child said %q", line)
		tids = append(tids, kernel.TID(tid))
	}
	return kernel.TID(cmd.Process.Pid), tids, out, end
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
