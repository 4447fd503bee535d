package kerneltest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"piton/internal/kernel"
)

// NeedRoot skips a test that takes the rights of the machine's root.
func NeedRoot(tb testing.TB, purpose string) {
	tb.Helper()
	if kernel.EUID() != 0 || !Initial() {
		tb.Skip("needs root (not of a user namespace) ", purpose)
	}
}

// NeedNice skips a test that takes CAP_SYS_NICE.
func NeedNice(tb testing.TB, purpose string) {
	tb.Helper()
	if caps, err := kernel.UsableCapabilities(); err != nil || !caps.Has(kernel.CapSysNice) || !Initial() {
		tb.Skip("needs CAP_SYS_NICE (not of a user namespace) ", purpose)
	}
}

// NeedOpenTemp skips a test whose other users enter the directory of temporary files.
func NeedOpenTemp(tb testing.TB) {
	tb.Helper()
	for dir := filepath.Clean(os.TempDir()); ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm()&1 == 0 {
			tb.Skip("needs a TMPDIR that other users may enter: ", dir)
		}
		if dir == filepath.Dir(dir) {
			return
		}
	}
}

// Initial reports whether the test is in the initial user namespace: in others the kernel
// grants no real-time policy, no lower nice and no other user's id, whatever the capabilities there.
func Initial() bool {
	ids, err := os.ReadFile("/proc/self/uid_map")
	return err == nil && slices.Equal(strings.Fields(string(ids)), []string{"0", "0", "4294967295"})
}
