package bpf

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"piton/internal/kernel"
)

// btfFile holds the layout of the kernel's types; programs cannot be fitted to
// the kernel without it.
const btfFile = "/sys/kernel/btf/vmlinux"

// usable asks the kernel for the smallest thing that takes the same rights as
// everything here: a tracing program of two instructions. It costs a fraction
// of a millisecond where loading for real would cost fifty.
func usable(what string) error {
	if !initialNamespace("pid") {
		return &Refusal{what, "inside a PID namespace the kernel's numbers of tasks are not the ones seen here", "to run in the initial PID namespace"}
	}
	prog, err := ebpf.NewProgramWithOptions(&ebpf.ProgramSpec{
		Type:         ebpf.RawTracepoint,
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()},
		License:      "Dual MIT/GPL",
	}, ebpf.ProgramOptions{LogDisabled: true})
	if err != nil {
		return explain(what, err)
	}
	prog.Close()
	if _, err := os.Stat(btfFile); err != nil {
		return &Refusal{what, "there is no " + btfFile + ": the kernel is built without CONFIG_DEBUG_INFO_BTF, or /sys is not mounted here", "CONFIG_DEBUG_INFO_BTF"}
	}
	return nil
}

// The inode numbers of the initial namespaces (include/uapi/linux/nsfs.h).
var initialInodes = map[string]string{"pid": "4026531836", "user": "4026531837", "time": "4026531834"}

// initialNamespace reports whether this process is in the namespace that the
// machine booted with. Without the link in /proc the kernel has no such
// namespaces, or /proc is not mounted and no task can be named at all.
func initialNamespace(kind string) bool {
	link, err := os.Readlink("/proc/self/ns/" + kind)
	return err != nil || link == fmt.Sprintf("%s:[%s]", kind, initialInodes[kind])
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

// release is the kernel's release for messages.
func release() string {
	r, err := kernel.Release()
	if err != nil {
		return "unknown"
	}
	return r
}

// releaseBefore compares the running kernel, for messages only.
func releaseBefore(major, minor int) bool {
	first, rest, _ := strings.Cut(release(), ".")
	second, _, _ := strings.Cut(rest, ".")
	a, errA := strconv.Atoi(first)
	b, errB := strconv.Atoi(second)
	return errA == nil && errB == nil && (a < major || a == major && b < minor)
}
