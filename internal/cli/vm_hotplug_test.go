package cli

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piton/internal/change/attr"
	"piton/internal/cli/app"
	"piton/internal/cli/exit"
	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/kernel/standstill"
	"piton/internal/procfs"
	"piton/internal/sample"
	"piton/internal/tui"
)

// The tests of this file take CPUs offline and online again, by hand and by a suspend.

// lastCPU is the machine's last CPU, with what takes it offline and online again.
func lastCPU(t *testing.T) (cpu cpuset.CPU, power func(on string)) {
	t.Helper()
	cpu = cpuset.CPU(needSmallVM(t).cpus - 1)
	file := fmt.Sprintf("/sys/devices/system/cpu/cpu%d/online", cpu)
	t.Cleanup(func() { _ = os.WriteFile(file, []byte("1"), 0) })
	return cpu, func(on string) {
		if on == "0" {
			// A DEADLINE task that has just ended there, as a guard: Linux 6.12 divides by 0 in
			// inactive_task_timer if its CPU goes offline before its period of 100 ms is over.
			time.Sleep(time.Second)
		}
		write(t, file, on)
	}
}

// stop stops spinners that have lost their CPU: all emulated CPUs are one of the host's.
func stop(t *testing.T, pids ...kernel.TID) {
	t.Helper()
	for _, pid := range pids {
		require.NoError(t, syscall.Kill(int(pid), syscall.SIGSTOP))
	}
}

// wholeMask is the mask of a task with CPUs that are offline.
func wholeMask(t *testing.T, pid kernel.TID) string {
	t.Helper()
	st, err := procfs.New("/").Status(pid)
	require.NoError(t, err)
	return st.CPUsAllowed.String()
}

// pinned pins a process by piton, and returns the entry of the journal.
func (h *home) pinned(pid kernel.TID, cpu cpuset.CPU) (entry string) {
	r := h.run("move", fmt.Sprint(cpu), "-t", fmt.Sprint(pid))
	require.Zero(h.t, r.code, r.err)
	entries := ofType(jsonLines(h.t, h.run("journal", "-o", "json").out), "entry")
	return fmt.Sprint(entries[len(entries)-1]["entry"])
}

// state is what the journal says of an entry.
func (h *home) state(entry string) string {
	r := h.run("journal", entry, "-o", "json")
	require.Zero(h.t, r.code, r.err)
	return ofType(jsonLines(h.t, r.out), "entry")[0]["state"].(string)
}

// setBy is who set what a profile does not want, which has a CPU for the process of a command.
func (h *home) setBy(command string, cpu cpuset.CPU) string {
	r := h.run("verify", profileFile(h.t, fmt.Sprintf("[[task]]\ncommand = %q\ncpus = '%d'\n", command, cpu)), "-o", "json")
	require.Equal(h.t, exit.Drift, r.code, r.err)
	drift := ofType(jsonLines(h.t, r.out), "drift")
	require.Len(h.t, drift, 1, r.out)
	return drift[0]["set_by"].(string)
}

// lapsed is what the pane of a process says of a pin that is no longer in force.
func (h *home) lapsed(pid kernel.TID) string {
	a := &app.App{IO: app.IO{Env: h.env}, HostRoot: "/"}
	s, err := sample.New(sample.Options{EBPF: sample.EBPFNever})
	require.NoError(h.t, err)
	defer s.Close()
	deps, err := screenDeps(a, tui.Options{}, nil, s)
	require.NoError(h.t, err)
	return deps.Inspect.Read(pid).Lapsed
}

// TestVMPinHotplug is what becomes of pins whose CPU goes offline, and what is said of them then,
// and when the CPU is back.
func TestVMPinHotplug(t *testing.T) {
	last, power := lastCPU(t)
	all, err := attr.ReadCPUs("/", "possible")
	require.NoError(t, err)
	h := newHome(t)
	asleep, twice := sleeper(t), spinner(t)
	busy := child(t, "sh", "-c", ": pt-hotplug; "+spin)
	sleeps, spins := h.pinned(asleep, last), h.pinned(busy, last)
	h.pinned(twice, 1)
	pair := h.pinned(twice, last)

	power("0")
	eventually(t, "the kernel has given them all CPUs", func() bool { return wholeMask(t, busy) == all.String() && wholeMask(t, twice) == all.String() })
	stop(t, busy, twice)
	gone := fmt.Sprintf("CPU %d went offline", last)
	assert.Equal(t, "in force", h.state(sleeps))
	assert.Equal(t, fmt.Sprint(last), wholeMask(t, asleep))
	assert.Equal(t, "no longer in force ("+gone+")", h.state(spins))
	assert.Equal(t, "no longer in force ("+gone+")", h.state(pair))
	assert.Equal(t, fmt.Sprintf("the kernel: %s, after entry %s", gone, spins), h.setBy("pt-hotplug", 1))
	assert.Equal(t, fmt.Sprintf("pin to CPU %d no longer in force (entry %s): %s", last, spins, gone), h.lapsed(busy))
	assert.Empty(t, h.lapsed(asleep))
	r := h.run("verify", profileFile(t, fmt.Sprintf("[[task]]\ncommand = 'pt-hotplug'\ncpus = '%d'\n", last)))
	assert.Equal(t, exit.Drift, r.code)
	assert.Contains(t, r.out, fmt.Sprintf("none of %d is online", last))
	r = h.run("undo", pair)
	require.Zero(t, r.code, r.err)
	assert.Equal(t, "1", affinityOf(t, twice), "what it had before the pin that was lost")

	power("1")
	assert.Equal(t, fmt.Sprint(last), affinityOf(t, asleep))
	assert.Equal(t, "in force", h.state(sleeps))
	assert.Equal(t, "no longer in force", h.state(spins))
	assert.Equal(t, "somebody else, or the kernel when a CPU went offline, after entry "+spins, h.setBy("pt-hotplug", 1))
	r = h.run("undo", "--all")
	require.Zero(t, r.code, r.err)
	assert.Contains(t, r.out, "no longer in force: all CPUs were set by someone else, or by the kernel when a CPU went offline")
	for _, pid := range []kernel.TID{asleep, busy, twice} {
		assert.Equal(t, all.String(), wholeMask(t, pid))
	}
}

// TestVMPinOfOfflineCPUs is a mask of which a part is offline, and one that is all offline.
func TestVMPinOfOfflineCPUs(t *testing.T) {
	last, power := lastCPU(t)
	h, pid := newHome(t), sleeper(t)
	before := wholeMask(t, pid)
	power("0")
	r := h.run("move", fmt.Sprintf("1,%d", last), "-t", fmt.Sprint(pid))
	require.Zero(t, r.code, r.err)
	later, want := "this kernel leaves it out for good: set the affinity again when online", "1"
	if procfs.ReleaseAtLeast(procfs.New("/"), 6, 12) {
		later, want = "the task may use it once online", fmt.Sprintf("1,%d", last)
	}
	assert.Contains(t, r.err, fmt.Sprintf("CPU %d is not online here (online: 0-%d); %s", last, last-1, later))
	assert.Contains(t, r.out, before, "the old mask has the CPU that is offline")
	assert.Equal(t, "in force", h.state("1"))
	r = h.run("move", fmt.Sprint(last), "-t", fmt.Sprint(pid))
	assert.Equal(t, exit.Failed, r.code)
	assert.Contains(t, r.err, fmt.Sprintf("CPU %d is not online here", last))
	power("1")
	assert.Equal(t, want, affinityOf(t, pid))
	assert.Equal(t, "in force", h.state("1"))
	require.Zero(t, h.run("undo", "--all").code)
	assert.Equal(t, before, wholeMask(t, pid))
}

// guarded makes a change under a guard. It is not judged where the guest gave the guard too
// little CPU to answer in time: then piton refuses, as it should.
func (h *home) guarded(args ...string) (judged bool) {
	h.t.Helper()
	watched := standstill.Watch()
	r := h.run(append(args, "--revert-after", "4s")...)
	stood := watched()
	if r.code == exit.Failed && strings.Contains(r.err, guardSilent) {
		h.t.Logf(standstill.Notice+"the guard did not answer; the guest stood still for %d ms in all", stood.Sum.Milliseconds())
		return false
	}
	require.Zero(h.t, r.code, r.err)
	return true
}

// TestVMGuardHotplug is that a guard reverts pins whose CPU is offline by then.
func TestVMGuardHotplug(t *testing.T) {
	last, power := lastCPU(t)
	h, asleep, busy := newHome(t), sleeper(t), spinner(t)
	for _, pid := range []kernel.TID{asleep, busy} {
		h.pinned(pid, 1)
		if !h.guarded("move", fmt.Sprint(last), "-t", fmt.Sprint(pid)) {
			assert.Equal(t, "1", wholeMask(t, pid), "nothing was done")
			return
		}
	}
	power("0")
	stop(t, busy)
	for _, pid := range []kernel.TID{asleep, busy} {
		eventually(t, "its guard has reverted it", func() bool { return wholeMask(t, pid) == "1" })
	}
	undone := func() bool { return strings.Count(h.run("journal").out, "undone by guard") == 2 }
	require.Eventually(t, undone, patience(), time.Second, "the journal has both")
}

// TestVMIsolateGuardHotplug takes the CPU offline that is isolated under a guard: what that cannot
// restore then is named by the journal.
func TestVMIsolateGuardHotplug(t *testing.T) {
	last, power := lastCPU(t)
	h, asleep := newHome(t), sleeper(t)
	h.pinned(asleep, last)
	before := everyMask(t)
	if !h.guarded("isolate", fmt.Sprint(last), "--yes") {
		return
	}
	power("0")
	eventually(t, "the guard has done what it can", func() bool { return len(ofType(jsonLines(t, h.run("keep", "-o", "json").out), "guard")) == 0 })
	power("1")
	named := h.run("journal", "2").out
	assert.Regexp(t, fmt.Sprintf(`revert failed: CPU %d is not online here \(online: [0-9-]+\): .*sleep \(%d\)`, last, asleep), named)
	for _, what := range unlike(before, everyMask(t)) {
		if !strings.HasPrefix(what, "/proc/irq/") { // a driver lays out its queues anew when CPUs come and go
			assert.Contains(t, what, fmt.Sprintf("%d@", asleep))
		}
	}
	r := h.run("undo", "2")
	assert.Contains(t, []int{0, exit.Some}, r.code, r.err) // as drivers lay out their queues anew
	assert.Equal(t, fmt.Sprint(last), affinityOf(t, asleep), "%s\n%s", r.out, r.err)
}

// TestVMIncludeAfterOnline is that an include gives a CPU back that was offline while another was
// isolated, to the kernel's own threads as well.
func TestVMIncludeAfterOnline(t *testing.T) {
	_, power := lastCPU(t)
	h, before := newHome(t), everyMask(t)
	power("0")
	r := h.run("isolate", "1", "--yes")
	require.NotEqual(t, exit.Failed, r.code, r.err) // some threads cannot be moved
	power("1")
	r = h.run("include", "1")
	require.Zero(t, r.code, r.err)
	assert.Empty(t, unlike(before, everyMask(t)))
}

// TestVMRuleHotplug is that a standing rule gives processes their CPU again when it is back: one
// that ran, one that slept, and one that began meanwhile.
func TestVMRuleHotplug(t *testing.T) {
	last, power := lastCPU(t)
	h := newHome(t)
	run := func(what string) kernel.TID { return child(t, "sh", "-c", ": pt-ruled; "+what) }
	busy, asleep := run(spin), run("sleep 600 & wait")
	d := startRules(t, h, fmt.Sprintf("version = 1\n[[rule]]\nname = 'last'\ncomm = 'sh'\ncommand = 'pt-ruled'\ncpus = '%d'\n", last))
	has := func(pid kernel.TID) func() bool { return func() bool { return affinityOf(t, pid) == fmt.Sprint(last) } }
	eventually(t, "the rule is applied", has(busy))
	eventually(t, "the rule is applied", has(asleep))
	power("0")
	eventually(t, "the kernel has taken the CPU from it", func() bool { return affinityOf(t, busy) != "" })
	late := run(spin)
	eventually(t, "the rule has failed", func() bool {
		for _, l := range d.lines("applied") {
			if l["pid"] == float64(late) && l["status"] == "failed" {
				return true
			}
		}
		return false
	})
	power("1")
	for _, pid := range []kernel.TID{busy, asleep, late} {
		eventually(t, "it has the CPU again", has(pid))
	}
}

// TestVMSuspend is that pins outlast a suspend to RAM, which takes all CPUs but one offline: the
// kernel freezes tasks before, and one that is frozen keeps its mask.
func TestVMSuspend(t *testing.T) {
	last, _ := lastCPU(t)
	const alarm = "/sys/class/rtc/rtc0/wakealarm"
	_, err := os.Stat(alarm)
	if states, stateErr := os.ReadFile("/sys/power/state"); err != nil || stateErr != nil || !strings.Contains(string(states), "mem") {
		t.Skip("this machine cannot suspend to RAM and wake by its clock")
	}
	h, asleep, busy := newHome(t), sleeper(t), spinner(t)
	entries := []string{h.pinned(asleep, last), h.pinned(busy, last)}
	write(t, alarm, "+3")
	write(t, "/sys/power/state", "mem")
	for i, pid := range []kernel.TID{asleep, busy} {
		assert.Equal(t, fmt.Sprint(last), affinityOf(t, pid))
		assert.Equal(t, "in force", h.state(entries[i]))
		assert.Empty(t, h.lapsed(pid))
	}
}
