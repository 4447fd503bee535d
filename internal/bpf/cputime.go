package bpf

import "math/bits"

// AdjustCPUTime divides the exact time that a task was on CPUs into user and
// system time, in the proportion in which ticks found it there, and never
// below what was shown before. It is cputime_adjust of kernel/sched/cputime.c,
// which makes the times of /proc/PID/stat; all times are ns.
func AdjustCPUTime(user, system, cpu, shownUser, shownSystem uint64) (adjustedUser, adjustedSystem uint64) {
	switch {
	case shownUser+shownSystem >= cpu:
		return shownUser, shownSystem
	case system == 0:
	case user == 0:
		adjustedSystem = cpu
	default:
		hi, lo := bits.Mul64(system, cpu)
		adjustedSystem, _ = bits.Div64(hi%(user+system), lo, user+system)
		adjustedSystem = min(adjustedSystem, cpu)
	}
	adjustedSystem = max(adjustedSystem, shownSystem)
	adjustedUser = cpu - adjustedSystem
	if adjustedUser < shownUser {
		adjustedUser, adjustedSystem = shownUser, cpu-shownUser
	}
	return adjustedUser, adjustedSystem
}
