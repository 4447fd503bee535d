package kerneltest

import (
	"encoding/binary"
	"errors"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"piton/internal/kernel"
)

// The magic number of struct vfs_cap_data (include/uapi/linux/capability.h).
const (
	vfsCapRevision2 = 0x02000000
	vfsCapEffective = 0x000001
)

// GrantFile gives a program file capabilities, as setcap(8) does with "+ep". It skips
// the test where that takes more rights or another filesystem.
func GrantFile(tb testing.TB, path string, granted ...kernel.Capability) {
	tb.Helper()
	var permitted uint64
	for _, c := range granted {
		permitted |= 1 << c
	}
	var b []byte // two words of 32 capabilities: permitted, inheritable
	for _, word := range []uint32{vfsCapRevision2 | vfsCapEffective, uint32(permitted), 0, uint32(permitted >> 32), 0} {
		b = binary.LittleEndian.AppendUint32(b, word)
	}
	err := syscall.Setxattr(path, "security.capability", b, 0)
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOTSUP) {
		tb.Skip("file capabilities cannot be set here: ", err)
	}
	require.NoError(tb, err)
}
