// Package reference builds the C programs that workloads are compared with. Only
// tests import it.
package reference

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Compile builds a C program from its text, with gcc and these flags, and returns
// its path; it skips the test where there is no gcc.
func Compile(tb testing.TB, text string, flags ...string) string {
	tb.Helper()
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		tb.Skip("gcc is not installed")
	}
	binary := filepath.Join(tb.TempDir(), "reference")
	cmd := exec.Command(gcc, append(flags, "-o", binary, "-x", "c", "-")...)
	cmd.Stdin = strings.NewReader(text)
	out, err := cmd.CombinedOutput()
	require.NoError(tb, err, "%s", out)
	return binary
}
