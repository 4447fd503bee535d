package cli

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A guest that fails is booted a second time. The retry is printed when it happens and
// again at the end of make vmtest, and recorded in a file that outlives the checkout.
// A test that needed it tooOften is a defect: make vmtest fails until it is repaired
// and its lines are deleted from the file.

// tooOften is how many retries make one test a defect.
const tooOften = 3

// retryFileVar names the file of retries; the default is in the user's cache.
const retryFileVar = "PITON_VM_RETRIES"

// retries are those of this run of the tests.
var retries struct {
	sync.Mutex
	lines []string
}

var (
	failedTest = regexp.MustCompile(`(?m)^--- FAIL: (\S+) `)
	passedTest = regexp.MustCompile(`(?m)^--- PASS: (\S+) `)
)

// notPassed makes of a guest's script one for those of its tests that did not pass. A guest
// in which no test failed ended by itself, at a place that is not known: all is run again.
func notPassed(script, out string) string {
	failed := failedTest.FindAllStringSubmatch(out, -1)
	var skip []string
	for _, m := range passedTest.FindAllStringSubmatch(out, -1) {
		same := func(f []string) bool { return f[1] == m[1] }
		if !slices.Contains(skip, m[1]) && !slices.ContainsFunc(failed, same) {
			skip = append(skip, m[1])
		}
	}
	if len(failed) == 0 || len(skip) == 0 {
		return script
	}
	return strings.ReplaceAll(script, "-test.v ", "-test.v -test.skip '^("+strings.Join(skip, "|")+")$' ")
}

// failedIn is the tests that failed in a guest that printed out, or the guest where it
// failed by itself: it did not boot, say, or ended by its timeout.
func failedIn(guest, out string) []string {
	var names []string
	for _, m := range failedTest.FindAllStringSubmatch(out, -1) {
		names = append(names, m[1])
	}
	if names == nil {
		names = []string{"guest " + guest}
	}
	return names
}

// isDefect tells whether a name that is retried now, after what the file says, was
// retried tooOften.
func isDefect(file, name string) (n int, defect bool) {
	n = strings.Count(file, "\t"+name+"\t") + 1
	return n, n >= tooOften
}

func retryFile() (string, error) {
	if file := os.Getenv(retryFileVar); file != "" {
		return file, nil
	}
	dir, err := os.UserCacheDir()
	return filepath.Join(dir, "piton", "vm-retries"), err
}

// recordRetry logs that a guest failed and is booted again, and writes a line for each
// test that failed in it. It reports an error where one of them has failed tooOften.
func recordRetry(t *testing.T, out string, cause error) {
	t.Helper()
	file, err := retryFile()
	require.NoError(t, err)
	retries.Lock()
	defer retries.Unlock()
	for _, name := range failedIn(t.Name(), out) {
		line := fmt.Sprintf("%s failed in the guest %s (%v)", name, t.Name(), cause)
		before, err := appendLine(file, strings.Join([]string{time.Now().UTC().Format(time.RFC3339), name, t.Name()}, "\t"))
		require.NoError(t, err)
		if n, defect := isDefect(before, name); defect {
			t.Errorf("DEFECT: %s: retry number %d in %s. Repair what fails, then delete its lines there.", line, n, file)
		}
		t.Log("RETRY: " + line + "; booting it once more")
		retries.lines = append(retries.lines, line)
	}
}

// appendLine adds a line to a file, which it creates, and returns what was in it before.
func appendLine(file, line string) (before string, err error) {
	b, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return "", err
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(line + "\n")
	return string(b), cmp.Or(err, f.Close())
}

// printRetries is the summary at the end of make vmtest.
func printRetries(w io.Writer) {
	retries.Lock()
	defer retries.Unlock()
	if len(retries.lines) == 0 {
		if os.Getenv("PITON_VM") != "" {
			fmt.Fprintln(w, "vmtest: no guest needed its retry")
		}
		return
	}
	fmt.Fprintf(w, "vmtest: %d retried:\n", len(retries.lines))
	for _, line := range retries.lines {
		fmt.Fprintln(w, "  "+line)
	}
}

func TestFailedIn(t *testing.T) {
	out := "=== RUN   TestVMIRQ\n    --- FAIL: TestVMIRQ/eth0 (0.1s)\n--- FAIL: TestVMIRQ (1.20s)\n--- PASS: TestWalk (0.00s)\n--- FAIL: TestVMTopology (0.00s)\n"
	assert.Equal(t, []string{"TestVMIRQ", "TestVMTopology"}, failedIn("TestInVM/6.1", out))
	assert.Equal(t, []string{"guest TestInVM/6.1"}, failedIn("TestInVM/6.1", "kernel panic"))
}

func TestNotPassed(t *testing.T) {
	const script = "set -e; ./a.test -test.v -test.run TestA; ./b.test -test.v -test.run 'TestB|TestC'"
	assert.Equal(t, script, notPassed(script, "--- PASS: TestA (0.1s)\nkernel panic"))
	assert.Equal(t, script, notPassed(script, "--- FAIL: TestA (0.1s)\n"))
	out := "--- PASS: TestA (0.1s)\n    --- PASS: TestA/x (0.1s)\n--- PASS: TestA (0.1s)\n--- PASS: TestB (0.1s)\n--- PASS: TestC (0.2s)\n--- FAIL: TestC (0.1s)\n"
	assert.Equal(t, "set -e; ./a.test -test.v -test.skip '^(TestA|TestB)$' -test.run TestA; ./b.test -test.v -test.skip '^(TestA|TestB)$' -test.run 'TestB|TestC'",
		notPassed(script, out))
}

func TestThirdRetryIsADefect(t *testing.T) {
	lines := "2026-11-01T00:00:00Z\tTestVMIRQ\tTestInVM/6.1\n2026-11-02T00:00:00Z\tTestVMIRQLong\tTestInVM/6.1\n"
	n, defect := isDefect(lines, "TestVMIRQ")
	assert.Equal(t, 2, n)
	assert.False(t, defect)
	_, defect = isDefect(lines+"2026-11-03T00:00:00Z\tTestVMIRQ\tTestInVM/7.2\n", "TestVMIRQ")
	assert.True(t, defect)
}

func TestAppendLine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "new", "retries")
	for i, want := range []string{"", "a 0\n", "a 0\na 1\n"} {
		before, err := appendLine(file, fmt.Sprint("a ", i))
		require.NoError(t, err)
		assert.Equal(t, want, before)
	}
}
