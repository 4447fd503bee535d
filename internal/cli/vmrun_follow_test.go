package cli

import (
	"strings"
	"testing"
)

// TestSteeringInVM boots small machines in which packets are steered, with the ways of an old
// and of a new kernel. make vmtest asks for it.
func TestSteeringInVM(t *testing.T) {
	rig := needRig(t, "cli.test")
	tests := []string{"TestVMSteering", "TestVMSteeringPolicies", "TestVMKilledSteering", "TestVMRuleFollows", "TestVMSteeringEnds"}
	for _, kernel := range []string{"6.1", "7.2"} {
		t.Run(kernel, func(t *testing.T) {
			t.Parallel()
			rig.boot(t, "PITON_VM_SHAPE=16,1,1,1 ./cli.test -test.v -test.run '^("+strings.Join(tests, "|")+")$'",
				[]string{"--kernel", kernel, "--cpus", "16", "--threads", "1", "--nodes", "1", "--mem", "2500", "--timeout", "600"}, tests...)
		})
	}
}
