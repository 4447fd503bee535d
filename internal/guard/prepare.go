package guard

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"

	"piton/internal/cpuset"
	"piton/internal/kernel"
	"piton/internal/procfs"
)

const (
	// processName is what ps shows for a guard, at most 15 bytes (TASK_COMM_LEN).
	// It has nothing of piton's name, so that killing all pitons by name spares it.
	processName = "dead-man-switch"
	// lowestPriority is what a guard gets whatever it guards: other real-time tasks
	// may starve the machine as well. It sleeps until its time comes.
	lowestPriority  = 90
	highestPriority = 99
	// heapMost is what a guard may use before memory is collected; until then it is
	// not, so that nothing but its own work is done when its time comes.
	heapMost = 256 << 20
)

// Prepare makes the running process fit for a starved machine: at a real-time
// priority, on CPUs other than those to avoid, and locked in memory. It returns
// what could not be had, in sentences.
func Prepare(rtprio int, avoid cpuset.Set) (caveats []string) {
	err := raise(rtprio)
	if errors.Is(err, syscall.EPERM) && leaveBudget("/") {
		err = raise(rtprio)
	}
	if err != nil {
		caveats = append(caveats, fmt.Sprintf("it has no real-time priority, and may come late on a starved machine: %v", err))
	}
	stayOff(avoid)
	return append(caveats, holdMemory()...)
}

// holdMemory keeps the process's memory where it is, and mostly uncollected.
func holdMemory() (caveats []string) {
	if err := kernel.LockMemory(); err != nil {
		caveats = append(caveats, fmt.Sprintf("its memory is not locked, and may have to come from a disk: %v", err))
	}
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(heapMost)
	return caveats
}

// priority is the real-time priority of a guard of tasks with the given one.
func priority(guarded int) int { return min(highestPriority, max(lowestPriority, guarded+1)) }

// raise makes every thread of the process RR. Those that the Go runtime starts
// later inherit it; those that it starts meanwhile are found by looking again.
func raise(rtprio int) error {
	sched, self := kernel.System(), kernel.TID(os.Getpid())
	return eachThread(self, func(tid kernel.TID) error {
		err := sched.SetPolicy(tid, kernel.RR, rtprio, false)
		if !errors.Is(err, syscall.EPERM) {
			return err
		}
		limits, limitErr := kernel.ReadLimits(self)
		if limitErr != nil || limits.RTPrio == 0 {
			return err
		}
		return sched.SetPolicy(tid, kernel.RR, int(min(limits.RTPrio, uint64(rtprio))), false)
	})
}

// leaveBudget moves the process to the root of the cpu cgroups, out of a group
// without a budget for real-time tasks (cpu.rt_runtime_us of version 1,
// sched-rt-group.rst), and reports whether it did.
func leaveBudget(root string) bool {
	for _, mount := range []string{"cpu", "cpu,cpuacct"} {
		dir := filepath.Join(root, "sys/fs/cgroup", mount)
		if _, err := os.Stat(filepath.Join(dir, "cpu.rt_runtime_us")); err != nil {
			continue
		}
		return os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0) == nil
	}
	return false
}

// stayOff keeps the process off CPUs that others may take for themselves, if any
// are left; else it may run on all. Where a cpuset leaves none of those, it stays
// where it is.
func stayOff(avoid cpuset.Set) {
	sched, self := kernel.System(), kernel.TID(os.Getpid())
	online, err := cpusOnline()
	if err != nil {
		return
	}
	rest := online.AndNot(avoid)
	if rest.Empty() {
		rest = online
	}
	_ = eachThread(self, func(tid kernel.TID) error { return sched.SetAffinity(tid, rest) })
}

// needsAlarm reports whether RR is not enough to get past what is guarded: tasks of
// the highest priority that may take every CPU.
func needsAlarm(rtprio int, cpus cpuset.Set) bool {
	online, err := cpusOnline()
	return rtprio >= highestPriority && err == nil && online.SubsetOf(cpus)
}

func cpusOnline() (cpuset.Set, error) {
	data, err := os.ReadFile("/sys/devices/system/cpu/online")
	if err != nil {
		return cpuset.Set{}, err
	}
	return cpuset.Parse(string(data))
}

// eachThread calls f for every thread of a process until two looks in a row have
// found none that is new.
func eachThread(pid kernel.TID, f func(kernel.TID) error) error {
	fs, done := procfs.New("/"), map[kernel.TID]bool{}
	for clean := 0; clean < 2; clean++ {
		tids, err := fs.Threads(pid)
		if err != nil {
			return err
		}
		for _, tid := range tids {
			if done[tid] {
				continue
			}
			clean = -1
			if err := f(tid); err != nil && !errors.Is(err, syscall.ESRCH) {
				return err
			}
			done[tid] = true
		}
	}
	return nil
}

// settleIn makes the process hard to end by accident: named by what it is, spared
// by the OOM killer, and out of a session that systemd may end.
func settleIn(root string) (caveats []string) {
	self := kernel.TID(os.Getpid())
	_ = eachThread(self, func(tid kernel.TID) error { // a name only; those to come inherit it
		return os.WriteFile(filepath.Join(root, "proc/self/task", strconv.Itoa(int(tid)), "comm"), []byte(processName), 0)
	})
	// -1000 is OOM_SCORE_ADJ_MIN (proc_pid_oom_score_adj(5)); it takes CAP_SYS_RESOURCE.
	if err := os.WriteFile(filepath.Join(root, "proc/self/oom_score_adj"), []byte("-1000"), 0); err != nil {
		caveats = append(caveats, fmt.Sprintf("the OOM killer may choose it: %v", err))
	}
	if err := leaveSession(root); err != nil {
		caveats = append(caveats, fmt.Sprintf("systemd ends it together with the session or service that started it "+
			"(KillUserProcesses=, KillMode=): %v", err))
	}
	return caveats
}

// initScope is the cgroup of systemd itself, the one that it never ends.
const initScope = "init.scope"

// leaveSession moves the process out of a cgroup that systemd may end, to the one
// that systemd is in. Without systemd there is nothing to leave.
func leaveSession(root string) error {
	if _, err := os.Stat(filepath.Join(root, "run/systemd/system")); err != nil {
		return nil // sd_booted(3)
	}
	groups, err := procfs.New(root).Cgroup(kernel.TID(os.Getpid()))
	if err != nil {
		return err
	}
	path, ok := groups.Controller("name=systemd")
	if !ok {
		path, _ = groups.Unified()
	}
	if path == "/" || strings.HasSuffix(path, initScope) {
		return nil
	}
	for _, mount := range []string{"sys/fs/cgroup", "sys/fs/cgroup/systemd"} {
		err = os.WriteFile(filepath.Join(root, mount, initScope, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0)
		if err == nil {
			return nil
		}
	}
	return err
}
