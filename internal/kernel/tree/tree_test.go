package tree_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/kernel"
	"piton/internal/kernel/kernelfake"
	"piton/internal/kernel/tree"
)

// made is a tree, not yet confined, beside a file and a directory that are not in it.
func made(t *testing.T) (root string) {
	root = filepath.Join(t.TempDir(), "tree")
	outside := filepath.Join(filepath.Dir(root), "outside")
	require.NoError(t, kernelfake.WriteFiles("", map[string]string{
		root + "/proc/stat": "inside\n", root + "/proc/12/comm": "task\n", root + "/etc/passwd": "inside\n",
		root + "/sys/devices/net0/flags": "0x1\n", outside + "/secret": "outside\n",
	}))
	for path, to := range map[string]string{
		"proc/absolute": "/etc/passwd", "proc/relative": "../etc/passwd", "proc/self": "12",
		"proc/out": outside + "/secret", "proc/up": "../../../../../../../../etc/passwd", "sys/out": outside,
		"sys/net0": "/sys/devices/net0", "proc/null": "/dev/null", "sys/root": "/",
	} {
		require.NoError(t, os.Symlink(to, filepath.Join(root, path)))
	}
	require.NoError(t, syscall.Mkfifo(root+"/proc/fifo", 0o644))
	return root
}

func read(path string) (string, error) {
	fd, err := kernel.OpenFile(kernel.NoDir, []byte(path+"\x00"))
	if err != nil {
		return "", err
	}
	defer kernel.CloseFile(fd)
	buf := make([]byte, 100)
	n, err := kernel.ReadFileAt(fd, buf, 0)
	return string(buf[:n]), err
}

func TestConfined(t *testing.T) {
	root := made(t)
	text, err := read(root + "/proc/out")
	require.NoError(t, err)
	require.Equal(t, "outside\n", text, "before it is confined")
	require.NoError(t, tree.Confine(root))

	for name, want := range map[string]any{
		"proc/stat": "inside\n", "proc/absolute": "inside\n", "proc/relative": "inside\n", "proc/up": "inside\n", "proc/self/comm": "task\n",
		"sys/root/etc/passwd": "inside\n", "sys/net0/flags": "0x1\n", "proc/../../../etc/passwd": "inside\n",
		"proc/out": syscall.ENOENT, "sys/out/secret": syscall.ENOENT, "proc/null": syscall.ENOENT,
		"proc/fifo": tree.ErrNotRegular, "proc": tree.ErrNotRegular,
	} {
		text, err := read(root + "/" + name)
		if reason, fails := want.(error); fails {
			assert.ErrorIs(t, err, reason, name)
		} else if assert.NoError(t, err, name) {
			assert.Equal(t, want, text, name)
		}
	}
	_, err = kernel.OpenDir(kernel.NoDir, []byte(root+"/sys/out\x00"))
	assert.ErrorIs(t, err, syscall.ENOENT)
	_, err = kernel.FileOwner(kernel.NoDir, []byte(root+"/proc/out\x00"))
	assert.ErrorIs(t, err, syscall.ENOENT)
	uid, err := kernel.FileOwner(kernel.NoDir, []byte(root+"/proc/absolute\x00"))
	assert.NoError(t, err)
	assert.EqualValues(t, os.Geteuid(), uid)
	to, err := kernel.ReadLink(root + "/proc/self")
	assert.NoError(t, err)
	assert.Equal(t, "12", to)

	beside, err := read(filepath.Dir(root) + "/outside/secret")
	assert.NoError(t, err, "it is not below the tree")
	assert.Equal(t, "outside\n", beside)
}

func TestConfinedDevice(t *testing.T) {
	root := made(t)
	const null = 1<<8 | 3 // null(4)
	if err := syscall.Mknod(root+"/proc/device", syscall.S_IFCHR|0o644, null); err != nil {
		t.Skipf("no device can be made here: %v", err)
	}
	require.NoError(t, tree.Confine(root))
	_, err := read(root + "/proc/device")
	assert.ErrorIs(t, err, tree.ErrNotRegular)
}

// TestPaths has the same answers of a tree as of the running machine, but inside of it.
func TestPaths(t *testing.T) {
	root := made(t)
	at := func(name string) string { return filepath.Join(root, name) }
	for _, confined := range []bool{false, true} {
		if confined {
			require.NoError(t, tree.Confine(root))
		}
		info, err := tree.Stat(at("proc/self"))
		assert.NoError(t, err)
		assert.True(t, info.IsDir())
		info, err = tree.Stat(at("proc/relative"))
		assert.NoError(t, err)
		assert.True(t, info.Mode().IsRegular())
		_, err = tree.Stat(at("proc/none"))
		assert.ErrorIs(t, err, os.ErrNotExist)
		_, err = tree.Stat(at("proc/out"))
		assert.Equal(t, confined, err != nil)
		names, err := tree.Names(at("proc/self"))
		assert.NoError(t, err)
		assert.Equal(t, []string{"comm"}, names)
		_, err = tree.Names(at("sys/out"))
		assert.Equal(t, confined, err != nil)
		assert.Equal(t, []string{at("proc/12/comm"), at("proc/self/comm")}, tree.Glob(root, "proc/*/com[m]"))
		assert.Empty(t, tree.Glob(root, "proc/*/none"))
	}
	real, err := tree.EvalSymlinks(at("sys/net0"))
	assert.NoError(t, err)
	assert.Equal(t, at("sys/devices/net0"), real)
	_, err = tree.EvalSymlinks(at("sys/out"))
	assert.ErrorIs(t, err, os.ErrNotExist)
}

func TestConfineNeedsADirectory(t *testing.T) {
	assert.ErrorIs(t, tree.Confine(filepath.Join(t.TempDir(), "none")), os.ErrNotExist)
	assert.ErrorIs(t, tree.Confine("/proc/self/root"), syscall.ELOOP)
}
