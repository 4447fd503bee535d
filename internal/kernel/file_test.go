package kernel_test

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/kernel"
)

func TestOpenFileFollowsNoMagicLinks(t *testing.T) {
	for path, want := range map[string]error{
		"/proc/self/stat":                nil,
		"/proc/mounts":                   nil, // an ordinary link
		"/proc/self/root/proc/self/stat": syscall.ELOOP,
		"/proc/self/cwd/file_test.go":    syscall.ELOOP,
		"/proc/self/exe":                 syscall.ELOOP,
		"/proc/self/none":                syscall.ENOENT,
	} {
		fd, err := kernel.OpenFile(kernel.NoDir, []byte(path+"\x00"))
		assert.ErrorIs(t, err, want, path)
		if err == nil {
			require.NoError(t, kernel.CloseFile(fd))
		}
	}
	_, err := kernel.OpenDir(kernel.NoDir, []byte("/proc/self/cwd\x00"))
	assert.ErrorIs(t, err, syscall.ELOOP)
}
