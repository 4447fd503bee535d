package cli

import (
	"cmp"
	"os"
	"strings"
	"testing"
)

// TestGuardInVM boots small machines whose every CPU is taken away, and looks
// whether guard and rescue give them back. make vmtest asks for it, for three runs
// on each kernel or as many as PITON_VM_GUARD_RUNS says.
func TestGuardInVM(t *testing.T) {
	rig := needRig(t, "cli.test")
	runs := cmp.Or(os.Getenv(guardRuns), "3")
	for _, kernel := range []string{"6.12", "7.2"} {
		t.Run(kernel, func(t *testing.T) {
			t.Parallel()
			tests := []string{"TestVMGuardOutlivesPiton", "TestVMGuardLeavesItsSession", "TestVMRescue", "TestVMTrialOutlivesTheScreen", "TestVMTrialOfStarvedScreen"}
			if kernel == "6.12" { // an emulated guest of 7.2 can stand still under FIFO 99 without throttling
				tests = append(tests, "TestVMStarvedGuard")
			}
			rig.boot(t, "PITON_VM_SHAPE=4,1,1,1 "+guardRuns+"="+runs+" ./cli.test -test.v -test.run '^("+strings.Join(tests, "|")+")$'",
				[]string{"--kernel", kernel, "--cpus", "4", "--threads", "1", "--nodes", "1", "--mem", "768", "--timeout", "900"},
				tests...)
		})
	}
}
