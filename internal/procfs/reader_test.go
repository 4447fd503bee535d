package procfs

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/kernel"
)

func liveReader(t *testing.T) (FS, *Reader) {
	t.Helper()
	fs := New("")
	r, err := fs.NewReader()
	if err != nil {
		t.Skip("no /proc here")
	}
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return fs, r
}

func TestReaderAgreesWithFS(t *testing.T) {
	fs, r := liveReader(t)
	if !fs.OwnNumbers() {
		t.Skip("/proc is of another PID namespace")
	}
	pid := kernel.TID(os.Getpid())
	b, err := r.Task(pid, 0, "cmdline")
	require.NoError(t, err)
	want, err := fs.Cmdline(pid)
	require.NoError(t, err)
	assert.Equal(t, want, ParseCmdline(b))

	uid, err := r.Owner(pid, 0)
	require.NoError(t, err)
	assert.Equal(t, uint32(os.Geteuid()), uid)
	uid, err = r.Owner(pid, pid)
	require.NoError(t, err)
	assert.Equal(t, uint32(os.Geteuid()), uid)

	tids, err := r.Threads(pid, nil)
	require.NoError(t, err)
	assert.Contains(t, tids, pid)

	all, err := fs.Processes()
	require.NoError(t, err)
	listed, err := r.Processes(0, nil, nil)
	require.NoError(t, err)
	assert.Contains(t, all, pid)
	assert.Contains(t, listed, pid)
	again, err := r.Processes(0, nil, nil)
	require.NoError(t, err)
	assert.Contains(t, again, pid, "from the start once more")
}

func TestReaderAllocatesNothing(t *testing.T) {
	_, r := liveReader(t)
	pid := kernel.TID(os.Getpid())
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		if _, err := r.Task(pid, pid, "stat"); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Owner(pid, 0); err != nil {
			t.Fatal(err)
		}
	}))
}

func TestKeptDescriptorKnowsThatItsTaskEnded(t *testing.T) {
	_, r := liveReader(t)
	child := exec.Command("cat") // waits for its input
	in, err := child.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	pid := kernel.TID(child.Process.Pid)
	fd, err := r.Open(pid, 0, "stat")
	require.NoError(t, err)
	defer kernel.CloseFile(fd)
	_, err = r.Read(fd)
	require.NoError(t, err)
	require.NoError(t, in.Close())
	require.NoError(t, child.Wait())

	_, err = r.Read(fd)
	require.ErrorIs(t, err, syscall.ESRCH)
	assert.True(t, Gone(err))
	_, err = r.Task(pid, 0, "stat")
	assert.True(t, Gone(err))
	assert.False(t, Gone(syscall.EACCES))
}

func TestHostFileOfAnySize(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(root, "proc"), 0o755))
	big := make([]byte, 5*readerBuffer+7)
	for i := range big {
		big[i] = byte('a' + i%26)
	}
	require.NoError(t, os.WriteFile(filepath.Join(root, "proc", "stat"), big, 0o644))
	r, err := New(root).NewReader()
	require.NoError(t, err)
	defer r.Close()
	b, err := r.Host("stat")
	require.NoError(t, err)
	assert.Equal(t, big, b)
	_, err = r.Host("none")
	assert.ErrorIs(t, err, syscall.ENOENT)
}

func TestLongCommandLines(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "proc", "5")
	require.NoError(t, os.MkdirAll(filepath.Join(root, "proc", "6", "cmdline"), 0o755))
	require.NoError(t, os.MkdirAll(dir, 0o755))
	r, err := New(root).NewReader()
	require.NoError(t, err)
	defer r.Close()
	for _, n := range []int{0, 1, readerBuffer - 1, readerBuffer, readerBuffer + 1, 40_000, MaxCmdline - 1, MaxCmdline, MaxCmdline + 1, 3 * MaxCmdline} {
		line := bytes.Repeat([]byte("0123456789"), n/10+1)[:n]
		require.NoError(t, os.WriteFile(filepath.Join(dir, "cmdline"), line, 0o644))
		want := string(line)
		if n > MaxCmdline {
			want = string(line[:MaxCmdline]) + "…"
		}
		for range 2 { // the buffer has grown
			b, err := r.Cmdline(5)
			require.NoError(t, err)
			assert.True(t, want == string(b), n)
		}
		args, err := New(root).Cmdline(5)
		require.NoError(t, err)
		assert.True(t, want == strings.Join(args, " "), n)
	}
	_, err = r.Cmdline(6)
	assert.ErrorIs(t, err, syscall.EISDIR)
	_, err = r.Cmdline(7)
	assert.True(t, Gone(err))
	b, err := r.Task(5, 0, "cmdline")
	require.NoError(t, err)
	assert.NotEmpty(t, b)
}

// A made-up tree may hold what is no file of /proc: it is neither waited for nor read for ever.
func TestFilesThatAreNone(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "proc", "5")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	for _, path := range []string{filepath.Join(root, "proc", "stat"), filepath.Join(dir, "stat")} {
		require.NoError(t, syscall.Mkfifo(path, 0o644))
	}
	huge, err := os.Create(filepath.Join(root, "proc", "interrupts"))
	require.NoError(t, err)
	require.NoError(t, huge.Truncate(400<<20)) // takes no room
	require.NoError(t, huge.Close())
	f := New(root)
	r, err := f.NewReader()
	require.NoError(t, err)
	defer r.Close()

	_, err = f.File("stat")
	assert.ErrorIs(t, err, syscall.ESPIPE)
	_, err = f.Stat(5)
	assert.ErrorIs(t, err, syscall.ESPIPE)
	_, err = r.Host("stat")
	assert.ErrorIs(t, err, syscall.ESPIPE)
	_, err = r.Task(5, 0, "stat")
	assert.ErrorIs(t, err, syscall.ESPIPE)
	for range 2 {
		_, err = f.File("interrupts")
		assert.ErrorContains(t, err, "it is larger than 64 MiB, and is not read")
		_, err = r.Host("interrupts")
		assert.ErrorIs(t, err, errTooLarge)
	}
}
