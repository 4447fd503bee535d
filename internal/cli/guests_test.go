package cli

import (
	"fmt"
	"slices"
	"strings"
)

// guest is an emulated machine that make guests boots, and what it runs there.
type guest struct {
	name    string
	weekly  bool // make full leaves it to make weekly
	kernel  string
	shape   vmShape
	memory  int // MiB
	options []string
	runs    []guestRun
	// paths are what it is for, relative to the module's root: a change of a file whose path
	// begins so asks for it.
	paths []string
}

// guestRun is one test program in a guest. Each of the named tests must pass.
type guestRun struct {
	before  string // shell
	program string // a package below internal, or "" for the shell alone
	tests   []string
}

// Kernels by what the archive has: a guest whose kernel is gone skips.
const (
	newestKernel = "7.3"
	usualKernel  = "6.12"
	oldKernel    = "6.1"
)

var (
	// doctor is that piton starts, and knows every feature of the kernel.
	doctor = guestRun{before: asProgram + "=1 ./cli.test doctor"}

	// counts is what eBPF counts, against what the tests' own processes did.
	counts = guestRun{program: "bpf", tests: []string{
		"TestMigrationsAreExact", "TestWakesAreExact", "TestWakesOfInterrupts", "TestWakesSaysWhatHadNoRoom", "TestWakesLeavesNothing",
		"TestFlowsEqualWhatTheReaderSees", "TestFlowsCountFromTheFirstRead", "TestFlowsSayWhatHadNoRoom", "TestFlowsLeaveNothing",
		"TestWorkCountsCallsAndBytes", "TestWorkLeavesOthersOut", "TestWorkCountsEachWait",
		"TestProcEventsSaysWhatIsLost", "TestProcEventsClose", "TestWalkEqualsProc", "TestWalkManyMasks", "TestRunQueues", "TestRunQueuesOfOnlineCPUs",
	}}
	waiting     = guestRun{program: "bpf/waits", tests: []string{"TestPartsSumToRunDelay", "TestCauses", "TestTargets", "TestSeveralTargets", "TestTheClosestTargetHasTheTask", "TestOpenWaits", "TestAvoidable"}}
	changed     = guestRun{program: "watch", tests: []string{"TestChangesOfTasks", "TestChangesOfGroups"}}
	aggregation = guestRun{program: "lab/aggregate", tests: []string{"TestIsInForceWhileOpen", "TestEndsWithItsProcess", "TestIsFair"}}
	aggregated  = guestRun{program: "lab", tests: []string{"TestPlacerAggregates"}}
	schedExts   = []string{"TestSchedExtChat", "TestSchedExtPlacement", "TestSchedExtEndsWithPiton", "TestSchedExtDecides"}

	// realChanges are those whose outcome is the kernel's.
	realChanges = guestRun{program: "change", tests: []string{
		"TestRealCpuset", "TestRealWithoutRights", "TestRealDeadline", "TestRealReuse", "TestRealZombie", "TestRealBlockedTask", "TestRealAbsentCPU", "TestRealKernelThread", "TestRealManagedLine",
	}}
	watched   = []string{"TestWatchIsExact", "TestWatchWakes", "TestWatchWakesAsNobody", "TestIRQFollowEqualsTheReader", "TestIRQFollowPrintsATable", "TestIRQFollowOfWhatIsNotThere", "TestIRQFollowAsNobody"}
	attribute = []string{"TestVMRunInACgroup", "TestVMCpusetLimits", "TestVMDeadlineRefusals", "TestVMExt", "TestVMOverwriters"}
	memory    = []string{"TestVMMemoryFollows", "TestVMMemoryIsDivided", "TestVMMemBind"}
	layout    = []string{"TestVMTopology", "TestVMDistances", "TestVMWalkHasHighMasks"}
	isolation = []string{"TestVMIsolateNode", "TestVMIsolateRefuses", "TestVMIsolateCpusets", "TestVMIsolateHotplug", "TestVMIsolateVerify", "TestVMIncludeOfAProfile"}
	hotplug   = []string{"TestVMPinHotplug", "TestVMPinOfOfflineCPUs", "TestVMGuardHotplug", "TestVMIsolateGuardHotplug", "TestVMIncludeAfterOnline", "TestVMRuleHotplug"}
	suspend   = []string{"TestVMSuspend"}
	lines     = []string{"TestVMSpreadIRQs", "TestVMQueueSettings", "TestVMIRQRefusals", "TestVMProfile", "TestVMScreenIsolates", "TestVMScreenMovesIRQs", "TestVMScreenIsolatesForATask"}

	guards = []string{"TestVMGuardOutlivesPiton", "TestVMGuardLeavesItsSession", "TestVMRescue", "TestVMTrialOutlivesTheScreen", "TestVMTrialOfStarvedScreen"}

	steering = guestRun{program: "cli", tests: []string{"TestVMSteering", "TestVMSteeringPolicies", "TestVMKilledSteering", "TestVMRuleFollows", "TestVMSteeringEnds"}}
)

// refused is what eBPF says without rights, with each of the values of
// kernel.unprivileged_bpf_disabled (1 stays until the machine ends).
func refused() (runs []guestRun) {
	for _, value := range []int{0, 2, 1} {
		runs = append(runs, guestRun{fmt.Sprintf("echo %d >/proc/sys/kernel/unprivileged_bpf_disabled", value), "bpf", []string{"TestRefusals"}})
	}
	return runs
}

// inCLI is a run of tests of this package.
func inCLI(tests ...[]string) guestRun {
	return guestRun{program: "cli", tests: slices.Concat(tests...)}
}

// Shapes and devices. devices raise interrupts that can be moved, and one that its driver manages.
var (
	manyCPUs = vmShape{cpus: 72, threads: 2, nodes: 4, l3: 3} // above 63, and every distance
	fourNode = vmShape{cpus: 8, threads: 2, nodes: 4, l3: 1}
	fourCPUs = vmShape{cpus: 4, threads: 1, nodes: 1, l3: 1}
	oneNode  = vmShape{cpus: 16, threads: 1, nodes: 1, l3: 1}
	devices  = []string{"--nics", "2", "--queues", "4", "--nvme", "1"}
)

// guests are all machines.
var guests = []guest{
	{
		name: "many", kernel: usualKernel, shape: manyCPUs, memory: 4096,
		runs: []guestRun{
			doctor, {program: "bpf", tests: []string{"TestMigrationsAreExact", "TestWalkManyMasks", "TestRunQueuesOfOnlineCPUs"}},
			inCLI(layout, []string{"TestVMHighCPUs", "TestVMIsolateHighCPUs"}, memory),
		},
		paths: []string{
			"internal/bpf", "internal/change", "internal/cpuset", "internal/kernel", "internal/model", "internal/partition", "internal/place", "internal/procfs", "internal/sample", "internal/topology",
			"internal/cli/isolate_vm_test.go", "internal/cli/vm_test.go", "internal/cli/vm_attributes_test.go",
		},
	},
	{
		name: "devices", kernel: newestKernel, shape: fourNode, memory: 2048, options: devices,
		runs: slices.Concat([]guestRun{doctor, counts, waiting, changed}, refused(),
			[]guestRun{realChanges, inCLI(watched, schedExts, attribute, []string{"TestVMClamps"}, isolation, lines)}),
		paths: []string{
			"internal/action", "internal/bpf", "internal/change", "internal/feature", "internal/irq", "internal/kernel", "internal/kthread", "internal/model", "internal/partition", "internal/procfs",
			"internal/profile", "internal/sample", "internal/taskfile", "internal/topology", "internal/watch", "internal/cli/irqcmd", "internal/cli/profilecmd", "internal/cli/watchcmd",
			"internal/cli/irq_", "internal/cli/isolate_limits_vm_test.go", "internal/cli/isolate_vm_test.go", "internal/cli/sched_ext_test.go", "internal/cli/vm_attributes_test.go", "internal/cli/vm_irq_test.go",
			"internal/cli/vm_profile_test.go", "internal/cli/vm_screen_test.go", "internal/cli/watch_",
		},
	},
	{
		name: "guard", kernel: usualKernel, shape: fourCPUs, memory: 768,
		// CPUs go offline before the fair server's runtime was changed: Linux 6.12 divided by zero
		// in inactive_task_timer once where it was the other way round.
		runs: []guestRun{inCLI(hotplug), inCLI(guards, []string{"TestVMStarvedGuard"})},
		paths: []string{
			"internal/change", "internal/child", "internal/kernel", "internal/procfs", "internal/rescue", "internal/rules/daemon", "internal/cli/changes",
			"internal/cli/rescue_test.go", "internal/cli/vm_guard_test.go", "internal/cli/vm_hotplug_test.go", "internal/cli/vm_session_test.go", "internal/cli/vm_starved_test.go", "internal/cli/vm_trial_test.go",
		},
	},
	{
		name: "old", weekly: true, kernel: oldKernel, shape: fourNode, memory: 4096, options: append([]string{"--append", "threadirqs"}, devices...),
		runs: slices.Concat([]guestRun{doctor, counts, waiting, changed}, refused(),
			[]guestRun{realChanges, inCLI(watched, layout, memory, attribute, []string{"TestVMHotplugDuringBench", "TestVMIsolateKilled", "TestVMKilledSpread", "TestVMThreadedIRQ"}, isolation, lines)}),
	},
	// An emulated guest of 7.2 and newer can stand still under FIFO 99 without throttling: no TestVMStarvedGuard.
	// Linux 7.3 in QEMU sleeps and is not woken: not by its clock, nor after a hibernation
	// that finds no swap.
	{name: "newest-guard", weekly: true, kernel: newestKernel, shape: fourCPUs, memory: 768, runs: []guestRun{{before: "export " + allRounds + "=1"}, inCLI(guards, hotplug)}},
	{name: "long-guard", weekly: true, kernel: usualKernel, shape: fourCPUs, memory: 768, runs: []guestRun{{before: "export " + allRounds + "=1"}, inCLI(guards[:1], []string{"TestVMStarvedGuard"}, suspend)}},
	{name: "old-schedext", weekly: true, kernel: "7.2", shape: fourCPUs, memory: 1024, runs: []guestRun{aggregation, aggregated, inCLI(schedExts, hotplug, suspend)}},
	{name: "old-hotplug", weekly: true, kernel: oldKernel, shape: fourCPUs, memory: 768, runs: []guestRun{inCLI(hotplug, suspend)}},
	{name: "old-steering", weekly: true, kernel: oldKernel, shape: oneNode, memory: 2500, runs: []guestRun{steering}},
	{name: "steering", weekly: true, kernel: newestKernel, shape: oneNode, memory: 2500, runs: []guestRun{steering}, paths: []string{"internal/lab/c/h", "internal/lab/c/steer", "internal/lab/hint", "internal/lab/hooks", "internal/lab/steer", "internal/rules", "internal/cli/vm_follow_test.go"}},
	{name: "schedext", weekly: true, kernel: newestKernel, shape: fourCPUs, memory: 1024, runs: []guestRun{aggregation, aggregated}, paths: []string{"internal/lab/aggregate", "internal/lab/c/aggregate"}},
	{name: "network", weekly: true, kernel: newestKernel, shape: fourNode, memory: 2048, runs: []guestRun{inCLI([]string{"TestVMSaisLeavesNothing"})}, paths: []string{"internal/lab/papers", "internal/lab/study", "internal/lab/netns", "internal/lab/stripnet", "internal/cli/vm_sais_test.go"}},
}

// noGuest are the paths that no guest of make full is for: a file whose path begins or, after a star, ends so.
var noGuest = []string{
	"internal/cli/isolate_crash_vm_test.go", "internal/cli/vm_auto_test.go", "internal/cli/vm_bench_test.go",
	"internal/auto", "internal/bench", "internal/chart", "internal/cost", "internal/demo", "internal/field", "internal/group", "internal/pattern", "internal/report", "internal/search", "internal/shell",
	"internal/target", "internal/taskfacts", "internal/tui", "internal/userfile", "internal/deps_test.go", "internal/doc.go", "internal/writers_test.go",
	"internal/cli/autocmd", "internal/cli/benchcmd", "internal/cli/config", "internal/cli/manpages", "internal/cli/output", "internal/cli/testdata", "internal/cli/help",
	"workloads", "testdata", "cmd/piton", ".ci", ".github", ".gitignore", "LICENSE", "Makefile", "*.md", "*.txt",
}

// guestsFor returns the guests that changes of these paths ask for, each with the first path
// that does. One that no list knows asks for each guest of make full.
func guestsFor(paths []string) map[string]string {
	why := map[string]string{}
	for _, path := range paths {
		known := slices.ContainsFunc(noGuest, func(p string) bool {
			suffix, isSuffix := strings.CutPrefix(p, "*")
			return isSuffix && strings.HasSuffix(path, suffix) || strings.HasPrefix(path, p)
		})
		var asked []string
		for _, g := range guests {
			if slices.ContainsFunc(g.paths, func(p string) bool { return strings.HasPrefix(path, p) }) {
				asked = append(asked, g.name)
			}
		}
		if asked == nil && !known {
			asked = fullGuests()
		}
		for _, name := range asked {
			if why[name] == "" {
				why[name] = path
			}
		}
	}
	return why
}

// fullGuests are the names of those of make full.
func fullGuests() (names []string) {
	for _, g := range guests {
		if !g.weekly {
			names = append(names, g.name)
		}
	}
	return names
}
