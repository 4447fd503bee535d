package cli

import (
	"bytes"
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestGuardInVM boots small machines whose every CPU is taken away, and looks
// whether guard and rescue give them back. make vmtest asks for it, for three runs
// on each kernel or as many as PITON_VM_GUARD_RUNS says.
func TestGuardInVM(t *testing.T) {
	if os.Getenv("PITON_VM") == "" {
		t.Skip("make vmtest runs it")
	}
	rig, err := filepath.Abs("../../../shared/vm/run")
	require.NoError(t, err)
	if _, err := os.Stat(rig); err != nil {
		t.Skip("the machine is described beside the repository, which is not there: ", err)
	}
	binary := filepath.Join(t.TempDir(), "cli.test")
	build := exec.Command("go", "test", "-c", "-o", binary, "piton/internal/cli")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	runs := cmp.Or(os.Getenv(guardRuns), "3")
	for _, kernel := range []string{"6.12", "7.2"} {
		t.Run(kernel, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(rig, "--kernel", kernel, "--cpus", "4", "--threads", "1", "--nodes", "1", "--mem", "768", "--timeout", "900",
				"--copy", binary, "--", "PITON_VM_SHAPE=4,1,1,1 "+guardRuns+"="+runs+" ./cli.test -test.v -test.run 'TestVMGuard|TestVMRescue|TestVMTrial'")
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			err := cmd.Run()
			t.Logf("Linux %s\n%s", kernel, out.String())
			require.NoError(t, err)
			for _, name := range []string{"TestVMGuardOutlivesPiton", "TestVMRescue", "TestVMTrialOutlivesTheScreen", "TestVMTrialOfStarvedScreen"} {
				assert.Contains(t, out.String(), "--- PASS: "+name+" ", "it ran, and was not skipped")
			}
		})
	}
}
