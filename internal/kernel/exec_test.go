package kernel_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/cpuset"
	"piton/internal/kernel"
)

// execVar makes the test binary pin itself and become grep.
const execVar = "PITON_KERNEL_TEST_EXEC"

func becomeGrep() {
	cpu, _ := cpuset.Parse(os.Getenv(execVar))
	done := make(chan error)
	go func() { // not the first thread, which is the harder case
		done <- kernel.Exec("/bin/grep", []string{"grep", "Cpus_allowed_list", "/proc/self/status"}, nil,
			func(tid kernel.TID) error { return kernel.System().SetAffinity(tid, cpu) })
	}()
	println((<-done).Error())
	os.Exit(1)
}

func TestExecKeepsThePlace(t *testing.T) {
	grep, err := exec.LookPath("/bin/grep")
	if err != nil {
		t.Skip("no /bin/grep here")
	}
	require.NotEmpty(t, grep)
	all, err := kernel.System().Affinity(0)
	require.NoError(t, err)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), execVar+"="+cpuset.Of(all.Last()).String())
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	assert.Equal(t, cpuset.Of(all.Last()).String(), strings.TrimSpace(strings.TrimPrefix(string(out), "Cpus_allowed_list:")))
}
