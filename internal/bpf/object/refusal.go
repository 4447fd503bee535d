package object

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"piton/internal/feature"
	"piton/internal/kernel"
)

// Refusal says why something of package bpf cannot work here: the kernel or
// the rights of this process do not allow it, and asking again will not help.
// It Is feature.ErrNotSupported; any other error means that it could not be told.
type Refusal struct {
	What string // what was asked for, "task walk"
	Why  string // half a sentence for users
	Need string // what would change it ("CAP_BPF", "Linux 6.7"); "" if nothing known would
}

// Error is one sentence for users.
func (r *Refusal) Error() string { return r.What + " by eBPF: " + r.Why }

// Is makes errors.Is(r, feature.ErrNotSupported) true.
func (r *Refusal) Is(target error) bool { return target == feature.ErrNotSupported }

// Explain turns an error of the loader into a Refusal where the reason is
// known. The loader's own words are left out: to every EPERM it adds a guess
// about RLIMIT_MEMLOCK.
func Explain(what string, err error) error {
	var refused *Refusal
	if err == nil || errors.As(err, &refused) {
		return err
	}
	var rejected *ebpf.VerifierError
	// The loader wraps every refusal so; the verifier's own have a log.
	if errors.As(err, &rejected) && len(rejected.Log) > 0 && !errors.Is(err, syscall.EPERM) {
		return fmt.Errorf("%s by eBPF: the kernel's verifier rejected the program: %s: %w", what, lastLine(rejected.Log), rejected.Cause)
	}
	if errors.Is(err, ebpf.ErrNotSupported) {
		return &Refusal{what, "this kernel (" + Release() + ") lacks a part it needs", "a newer kernel"}
	}
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return fmt.Errorf("%s by eBPF: %w", what, err)
	}
	switch errno {
	case syscall.EPERM, syscall.EACCES:
		return denied(what, errno)
	case syscall.ENOSYS:
		return &Refusal{what, "there is no bpf(2) here: the kernel is built without CONFIG_BPF_SYSCALL, or a seccomp filter hides it", "CONFIG_BPF_SYSCALL"}
	}
	return fmt.Errorf("%s by eBPF: bpf(2): %w", what, errno)
}

// denied finds out who said no.
func denied(what string, errno syscall.Errno) error {
	if lacking := MissingCapabilities(); len(lacking) > 0 {
		need := strings.Join(lacking, " and ")
		return &Refusal{what, "it takes " + need + ", which this process does not have", need}
	}
	switch {
	case !kernel.InitialNamespace("user"):
		return &Refusal{what, "capabilities inside a user namespace do not count for it", "to run outside the user namespace"}
	case seccompFilter():
		return &Refusal{what, "a seccomp filter refuses bpf(2)", "a container or service without that filter"}
	case lockdown() == "confidentiality":
		return &Refusal{what, "kernel lockdown is at confidentiality, which forbids reading kernel memory", "lockdown at integrity or none"}
	case ReleaseBefore(5, 11):
		return &Refusal{what, "RLIMIT_MEMLOCK is too small for it on Linux before 5.11", "ulimit -l unlimited"}
	}
	return &Refusal{what, fmt.Sprintf("bpf(2) is refused (%v) although CAP_BPF and CAP_PERFMON are held, by a security module", errno), "the security module's consent"}
}

// MissingCapabilities lists what loading takes and this process lacks.
func MissingCapabilities() []string {
	held, err := kernel.UsableCapabilities()
	if err != nil || held.Has(kernel.CapSysAdmin) { // which stands for both (capabilities(7))
		return nil
	}
	var lacking []string
	if !held.Has(kernel.CapBPF) {
		lacking = append(lacking, "CAP_BPF")
	}
	if !held.Has(kernel.CapPerfmon) {
		lacking = append(lacking, "CAP_PERFMON")
	}
	return lacking
}

func lastLine(lines []string) string {
	for _, line := range slices.Backward(lines) {
		// The log ends in counts of what the verifier looked at.
		if line := strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "processed ") {
			return line
		}
	}
	return "no reason given"
}

// BTFFile holds the layout of the kernel's types; programs cannot be fitted to
// the kernel without it.
const BTFFile = "/sys/kernel/btf/vmlinux"

// Usable asks the kernel for the smallest thing that takes the same rights as
// everything here: a tracing program of two instructions. It costs a fraction
// of a millisecond where loading for real would cost fifty.
func Usable(what string) error {
	if !kernel.InitialNamespace("pid") {
		return &Refusal{what, "inside a PID namespace the kernel's numbers of tasks are not the ones seen here", "to run in the initial PID namespace"}
	}
	prog, err := ebpf.NewProgramWithOptions(&ebpf.ProgramSpec{
		Type:         ebpf.RawTracepoint,
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()},
		License:      "Dual MIT/GPL",
	}, ebpf.ProgramOptions{LogDisabled: true})
	if err != nil {
		return Explain(what, err)
	}
	prog.Close()
	if _, err := os.Stat(BTFFile); err != nil {
		return &Refusal{what, "there is no " + BTFFile + ": the kernel is built without CONFIG_DEBUG_INFO_BTF, or /sys is not mounted here", "CONFIG_DEBUG_INFO_BTF"}
	}
	return nil
}

// seccompFilter reports whether a filter decides over this process's system
// calls (Seccomp: 2 in /proc/PID/status, proc(5)).
func seccompFilter() bool {
	status, err := os.ReadFile("/proc/self/status")
	return err == nil && strings.Contains(string(status), "\nSeccomp:\t2\n")
}

// lockdown returns the kernel's lockdown level (kernel_lockdown(7)), "" without one.
func lockdown() string {
	levels, _ := os.ReadFile("/sys/kernel/security/lockdown")
	_, rest, _ := strings.Cut(string(levels), "[")
	level, _, _ := strings.Cut(rest, "]")
	return level
}

// Release is the kernel's release for messages.
func Release() string {
	r, err := kernel.Release()
	if err != nil {
		return "unknown"
	}
	return r
}

// ReleaseBefore compares the running kernel, for messages only.
func ReleaseBefore(major, minor int) bool {
	order, known := kernel.CompareRelease(Release(), major, minor)
	return known && order < 0
}
