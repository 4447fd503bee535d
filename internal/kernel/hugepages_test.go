package kernel_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"piton/internal/kernel"
)

// hugeVar makes the test binary disable huge pages, once more than its value says, and print
// what is enabled for it and for what it starts and becomes.
const hugeVar = "PITON_KERNEL_TEST_HUGE"

var catStatus = []string{"cat", "/proc/self/status"}

func playHugePages() error {
	if os.Getenv(hugeVar) == "2" {
		if err := unix.Prctl(unix.PR_SET_THP_DISABLE, 1, 0, 0, 0); err != nil {
			return err
		}
	}
	kernel.DisableHugePages()
	cat, err := exec.LookPath(catStatus[0])
	if err != nil {
		return err
	}
	const together = 20
	var wait sync.WaitGroup
	errs := make([]error, together)
	outputs := make([]strings.Builder, together)
	for i := range outputs {
		wait.Go(func() {
			cmd := exec.Command(cat, catStatus[1:]...)
			cmd.Stdout = &outputs[i]
			errs[i] = kernel.Run(cmd)
		})
	}
	wait.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	own, err := os.ReadFile(catStatus[1])
	if err != nil {
		return err
	}
	fmt.Printf("%s", own)
	for i := range outputs {
		fmt.Print(outputs[i].String())
	}
	_ = kernel.Exec("/no/such/program", catStatus, nil, func(kernel.TID) error { return nil })
	return kernel.Exec(cat, catStatus, nil, func(kernel.TID) error { return nil })
}

// hugeLines are the lines about huge pages in files like /proc/PID/status.
func hugeLines(files string) (lines []string) {
	for line := range strings.Lines(files) {
		if value, ok := strings.CutPrefix(line, "THP_enabled:"); ok {
			lines = append(lines, strings.TrimSpace(value))
		}
	}
	return lines
}

func TestHugePagesAreDisabledForNobodyElse(t *testing.T) {
	status, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	own := hugeLines(string(status))
	if len(own) == 0 {
		t.Skip("/proc/PID/status has no THP_enabled (before Linux 5.0, or without huge pages)")
	}
	for times, others := range map[string]string{"1": own[0], "2": "0"} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), hugeVar+"="+times)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		lines := hugeLines(string(out))
		require.Len(t, lines, 22, string(out))
		assert.Equal(t, "0", lines[0], "of the process itself")
		for _, line := range lines[1:] {
			assert.Equal(t, others, line, "of what it starts and becomes")
		}
	}
}
