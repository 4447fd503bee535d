package feature

import (
	"errors"
	"syscall"

	"piton/internal/kernel"
)

func trySlice() error {
	base, err := kernel.System().BaseSlice()
	if err == nil && base == 0 {
		return &Missing{"slices of tasks", "Linux 6.12", nil}
	}
	return err
}

func tryClamp() error {
	err := kernel.ProbeClamp()
	if errors.Is(err, syscall.EOPNOTSUPP) || errors.Is(err, syscall.EINVAL) {
		return &Missing{"utilisation clamps", "a kernel with CONFIG_UCLAMP_TASK", err}
	}
	return err
}

// tryCookie makes a cookie of a thread that ends at once; reading one does
// nothing, but is answered by kernels without SMT too.
func tryCookie() error {
	err := kernel.OnThread(kernel.ProbeCookie)
	switch {
	case errors.Is(err, syscall.EINVAL):
		return &Missing{"core scheduling", "a kernel with CONFIG_SCHED_CORE", err}
	case errors.Is(err, syscall.ENODEV):
		return &Missing{"core scheduling", "a machine with SMT, switched on", err}
	}
	return err
}

func trySchedExt() error {
	_, err := firstBytes("/sys/kernel/sched_ext/state")
	if errors.Is(err, syscall.ENOENT) {
		return &Missing{"policy EXT", "a kernel with CONFIG_SCHED_CLASS_EXT (Linux 6.12)", err}
	}
	return err
}

func tryNUMA() error {
	_, err := firstBytes("/proc/self/numa_maps")
	if errors.Is(err, syscall.ENOENT) {
		return &Missing{"memory of NUMA nodes", "a kernel with CONFIG_NUMA", err}
	}
	return err
}
