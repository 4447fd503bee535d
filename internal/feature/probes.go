package feature

import (
	"bytes"
	"errors"
	"fmt"
	"syscall"

	"piton/internal/kernel"
)

// PerfMigrations turns a refusal of kernel.OpenMigrationCounter into what it needs.
func PerfMigrations(err error) error {
	const name = "migration counters of every CPU"
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM): // EPERM: seccomp, or Debian's paranoid 3
		return &Missing{name, "CAP_PERFMON, or the sysctl kernel.perf_event_paranoid at 0 or below", err}
	case errors.Is(err, syscall.ENOSYS), errors.Is(err, syscall.ENOENT), errors.Is(err, syscall.EOPNOTSUPP):
		return &Missing{name, "a kernel with CONFIG_PERF_EVENTS", err}
	}
	return err
}

func tryPerfMigrations() error {
	own, err := kernel.System().Affinity(0)
	if err != nil {
		return err
	}
	fd, err := kernel.OpenMigrationCounter(own.First())
	if err != nil {
		return PerfMigrations(err)
	}
	return kernel.CloseFile(fd)
}

// tryCounters asks for a counter of this process alone, which takes least.
func tryCounters() error {
	const name = "hardware counters"
	fd, err := kernel.OpenCycleCounter()
	switch {
	case err == nil:
		return kernel.CloseFile(fd)
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		return &Missing{name, "CAP_PERFMON, or the sysctl kernel.perf_event_paranoid at 2 or below", err}
	case kernel.IsNoCounter(err):
		return &Missing{name, "a CPU whose PMU can be used; most virtual machines offer none", err}
	case errors.Is(err, syscall.ENOSYS):
		return &Missing{name, "a kernel with CONFIG_PERF_EVENTS", err}
	}
	return err
}

func tryProcessClock() error {
	if _, err := kernel.ProcessTime(1); err != nil {
		return fmt.Errorf("CPU clock of process 1: %w", err)
	}
	return nil
}

func trySchedstat() error {
	const needs = "a kernel with CONFIG_SCHED_INFO"
	b, err := firstBytes("/proc/self/schedstat")
	if errors.Is(err, syscall.ENOENT) {
		return &Missing{"run delay", needs, err}
	}
	if err != nil {
		return err
	}
	if bytes.HasPrefix(b, []byte("0 0 0")) { // this very thread has run
		return &Missing{"run delay", needs + " and without delayacct switched off at boot", nil}
	}
	return nil
}

func trySched() error {
	_, err := firstBytes("/proc/self/sched")
	if errors.Is(err, syscall.ENOENT) {
		return &Missing{"exact migrations of single tasks", "a kernel with CONFIG_SCHED_DEBUG, or Linux 6.15", err}
	}
	return err
}

// tryTuneOthers asks for the capability rather than try: the smallest real
// operation would already write to somebody else's process.
func tryTuneOthers() error {
	have, err := kernel.UsableCapabilities()
	if err != nil {
		return err
	}
	if !have.Has(kernel.CapSysNice) {
		return &Missing{"tuning others' tasks", "CAP_SYS_NICE", nil}
	}
	return nil
}

// tryReadOthers looks at process 1, which some hypervisors hide from root too: then
// the capability decides.
func tryReadOthers() error {
	_, err := kernel.Executable(1)
	if errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EPERM) {
		have, unknown := kernel.UsableCapabilities()
		if have.Has(kernel.CapSysPtrace) {
			return unknown
		}
		return &Missing{"others' programs", "CAP_SYS_PTRACE", err}
	}
	if err != nil {
		return fmt.Errorf("read the program of process 1: %w", err)
	}
	return nil
}

// firstBytes reads the beginning of a small file.
func firstBytes(path string) ([]byte, error) {
	fd, err := kernel.OpenFile(kernel.NoDir, append([]byte(path), 0))
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	b := make([]byte, 64)
	n, err := kernel.ReadFileAt(fd, b, 0)
	_ = kernel.CloseFile(fd) // read only
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return b[:n], nil
}
