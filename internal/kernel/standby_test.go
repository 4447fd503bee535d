package kernel_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/kernel"
)

func TestSocketPairTellsOfTheEnd(t *testing.T) {
	ours, theirs, err := kernel.SocketPair()
	require.NoError(t, err)
	defer ours.Close()
	_, err = theirs.WriteString("last words")
	require.NoError(t, err)
	require.NoError(t, theirs.Close())
	said, err := io.ReadAll(ours)
	require.NoError(t, err)
	assert.Equal(t, "last words", string(said), "what was said before the end is read")
}

func TestDetachMakesASession(t *testing.T) {
	cmd := exec.Command("cat", "/proc/self/stat")
	kernel.Detach(cmd)
	out, err := cmd.Output()
	require.NoError(t, err)
	fields := strings.Fields(string(out)[strings.LastIndexByte(string(out), ')')+1:])
	pid, _, _ := strings.Cut(string(out), " ")
	assert.Equal(t, pid, fields[3], "it leads its session")
	assert.Equal(t, "0", fields[4], "it has no terminal")
}

func TestLockMemory(t *testing.T) {
	err := kernel.LockMemory()
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOMEM) {
		t.Skip("needs CAP_IPC_LOCK: ", err)
	}
	require.NoError(t, err)
	status, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	assert.NotContains(t, string(status), "VmLck:\t       0 kB")
}

func TestNoFile(t *testing.T) {
	assert.Nil(t, kernel.File(1<<20, "none"), "there is no such descriptor")
}

// TestReleaseCode is in a process of its own, whose memory no other test has locked.
func TestReleaseCode(t *testing.T) {
	if os.Getenv("PITON_TEST_RELEASE") == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestReleaseCode$", "-test.v")
		cmd.Env = append(os.Environ(), "PITON_TEST_RELEASE=1")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return
	}
	code := func() (kb int) {
		status, err := os.ReadFile("/proc/self/status")
		require.NoError(t, err)
		_, rest, _ := strings.Cut(string(status), "RssFile:")
		_, err = fmt.Sscan(rest, &kb)
		require.NoError(t, err)
		return kb
	}
	before := code()
	require.NoError(t, kernel.ReleaseCode())
	assert.Less(t, code(), before)
}
