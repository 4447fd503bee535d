package cli

import (
	"fmt"
	"slices"
	"testing"
)

// vmGuests are the machines of make vmtest, the slowest first: one boot each.
// The first has CPUs above 63, and all but the last have every distance.
var vmGuests = []struct {
	kernel string
	shape  vmShape
	more   []string // options of the rig
}{
	{"6.12", vmShape{cpus: 72, threads: 2, nodes: 4, l3: 3}, nil},
	{"7.2", vmShape{cpus: 32, threads: 2, nodes: 4, l3: 2}, vmDevices},
	{"6.1", vmShape{cpus: 8, threads: 2, nodes: 4, l3: 1}, append([]string{"--append", "threadirqs"}, vmDevices...)},
}

// vmDevices raise interrupts that can be moved, and one that its driver manages.
var vmDevices = []string{"--nics", "2", "--queues", "4", "--nvme", "1"}

// vmScript is what each of them runs.
const vmScript = `set -e
export PITON_VM_SHAPE=%s
./piton doctor
./bpf.test -test.v -test.run 'TestMigrationsAreExact|TestWakes|TestFlows|TestWork|TestProcEvents[SC]|TestWalkEqualsProc|TestWalkManyMasks|TestRunQueues'
for unprivileged in 0 2 1; do # 1 stays until the machine ends
	echo $unprivileged >/proc/sys/kernel/unprivileged_bpf_disabled
	./bpf.test -test.v -test.run TestRefusals
done
./change.test -test.v -test.run 'TestReal(Cpuset|WithoutRights|Deadline|Reuse|Zombie|BlockedTask|AbsentCPU|KernelThread|ManagedLine)'
./cli.test -test.v -test.run 'TestVM|TestWatchIsExact|TestWatchBurst|TestWatchWakes|TestIRQFollow'
`

// vmTests are some of those that must have run there, and vmDeviceTests where there
// are devices.
var (
	vmTests = []string{
		"TestVMTopology", "TestVMDistances", "TestWakesAreExact", "TestFlowsEqualWhatTheReaderSees", "TestIRQFollowEqualsTheReader", "TestWatchIsExact", "TestRefusals", "TestRealCpuset", "TestRealDeadline",
		"TestVMMemoryFollows", "TestVMMemBind", "TestVMRunInACgroup", "TestVMCpusetLimits", "TestVMOverwriters",
	}
	vmDeviceTests = []string{
		"TestVMSpreadIRQs", "TestVMQueueSettings", "TestVMIRQRefusals", "TestRealManagedLine", "TestVMScreenIsolates", "TestVMScreenMovesIRQs",
	}
)

// TestInVM boots the machines and runs in them what needs many CPUs, or
// another kernel. It takes minutes, so make vmtest alone asks for it.
func TestInVM(t *testing.T) {
	rig := needRig(t, "piton", "bpf.test", "change.test", "cli.test")
	for _, guest := range vmGuests {
		t.Run(guest.kernel, func(t *testing.T) {
			t.Parallel() // each takes one CPU of the host
			s := guest.shape
			shape := fmt.Sprintf(shapeFormat, s.cpus, s.threads, s.nodes, s.l3)
			options := append([]string{"--kernel", guest.kernel, "--cpus", fmt.Sprint(s.cpus), "--threads", fmt.Sprint(s.threads),
				"--nodes", fmt.Sprint(s.nodes), "--l3", fmt.Sprint(s.l3), "--timeout", "1800",
				"--mem", "4096"}, guest.more...)
			tests := vmTests
			if len(guest.more) > 0 {
				tests = append(slices.Clip(tests), vmDeviceTests...)
			}
			rig.boot(t, fmt.Sprintf(vmScript, shape), options, tests...)
		})
	}
}
